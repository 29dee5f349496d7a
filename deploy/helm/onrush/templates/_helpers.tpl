{{- define "onrush.name" -}}
{{- if contains "onrush" .Release.Name }}{{ .Release.Name | trunc 52 | trimSuffix "-" }}{{ else }}{{ printf "%s-onrush" .Release.Name | trunc 52 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "onrush.selector" -}}
app.kubernetes.io/name: onrush
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "onrush.labels" -}}
{{ include "onrush.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{/* A value as it was written: Helm reads numbers as floats, and writes long ones in powers of ten. */}}
{{- define "onrush.text" -}}
{{- if kindIs "string" . }}{{ . }}{{ else }}{{ toJson . }}{{ end }}
{{- end }}

{{/* Whether a setting is there: (list . "its_name" "how its value begins, as a regular expression"). */}}
{{- define "onrush.sets" -}}
{{- $values := (index . 0).Values }}
{{- $name := index . 1 }}
{{- $variable := printf "ONRUSH_%s" (upper $name) }}
{{- $text := get $values.env $variable | default "" | toString }}
{{- $file := get $values.env (printf "%s_FILE" $variable) | default "" | toString }}
{{- $written := regexMatch (printf "(?m)^[ \\t]*%s[ \\t]*=\\s*%s" $name (index . 2)) $values.config }}
{{- $secret := false }}
{{- range $values.secrets }}
{{- if eq .variable $variable }}{{- $secret = true }}{{- end }}
{{- end }}
{{- if or $text $file $written $secret }}true{{- end }}
{{- end }}

{{/* Whether an authority is to issue the certificate: [tls.acme], however it is written, or its variables. */}}
{{- define "onrush.acme" -}}
{{- $found := false }}
{{- $variables := printf "ONRUSH_%s__" "TLS__ACME" }}
{{- range list "\\[[ \\t]*tls[ \\t]*\\.[ \\t]*acme[ \\t]*\\]" "(tls[ \\t]*\\.[ \\t]*)?acme[ \\t]*[.=]" "tls[ \\t]*=[^#\n]*\\bacme\\b" }}
{{- if regexMatch (printf "(?m)^[ \\t]*%s" .) $.Values.config }}{{- $found = true }}{{- end }}
{{- end }}
{{- range $name, $_ := .Values.env }}
{{- if hasPrefix $variables $name }}{{- $found = true }}{{- end }}
{{- end }}
{{- range .Values.secrets }}
{{- if hasPrefix $variables .variable }}{{- $found = true }}{{- end }}
{{- end }}
{{- if $found }}true{{- end }}
{{- end }}

{{/* The flag that has a start accept a restored directory: of one backup, which acts once, or whatever is there. */}}
{{- define "onrush.accepts" -}}
{{- if kindIs "bool" .Values.acceptRestored }}
{{- if .Values.acceptRestored }}--accept-restored{{ end }}
{{- else if .Values.acceptRestored }}
{{- printf "--accept-restored=%d" (int64 .Values.acceptRestored) }}
{{- end }}
{{- end }}

{{/* Whether Redis runs the rules, for all nodes alike: a variable counts before the file, which has four kinds of quotes. */}}
{{- define "onrush.shared" -}}
{{- $variable := "ONRUSH_ENGINE" }}
{{- if hasKey .Values.env $variable }}
{{- if eq (toString (get .Values.env $variable)) "redis" }}true{{- end }}
{{- else if regexMatch "(?m)^\\s*(engine|\"engine\"|'engine')\\s*=\\s*(\"redis\"|'redis'|\"\"\"(\r?\n)?redis\"\"\"|'''(\r?\n)?redis''')" .Values.config }}true
{{- end }}
{{- end }}

{{/* What the schema cannot say. A journal in a file is one node's alone. */}}
{{- define "onrush.check" -}}
{{- $shared := eq (include "onrush.shared" .) "true" }}
{{- if and (gt (int .Values.replicas) 1) (not $shared) }}
{{- fail "replicas: several nodes need engine = \"redis\" and ledger = \"postgres\" in config, or ONRUSH_ENGINE and ONRUSH_LEDGER in env" }}
{{- end }}
{{- if not (or .Values.persistence.enabled $shared .Values.persistence.loseAllSalesWithThePod) }}
{{- $pod := printf "%s-0" (include "onrush.name" .) }}
{{- fail (printf "persistence.enabled: without a volume the journal, the ledger and the keys are gone with the pod, which every upgrade replaces; leave it true, or say `ONRUSH_ENGINE: redis` in env if this is a cluster's node, or set persistence.loseAllSalesWithThePod to true where nothing that is sold matters. A release that runs so has its sales in the pod: before anything else pause them, `kubectl -n %s exec %s -- onrush backup --data /var/lib/onrush/data --to /var/lib/onrush/friday` and `kubectl -n %s cp %s:/var/lib/onrush/friday friday`; only then uninstall it, install it with a volume, and restore (docs/operating.md, \"In containers\")" .Release.Namespace $pod .Release.Namespace $pod) }}
{{- end }}
{{- if and .Values.ingress.enabled (not (include "onrush.sets" (list . "trusted_proxies" "\\[(\\s|#[^\n]*\n)*[\"']"))) }}
{{- fail "ingress.enabled: name the network of the ingress' pods in trusted_proxies in config, or in ONRUSH_TRUSTED_PROXIES in env: without it all visitors have the ingress' address, and share the limits of one" }}
{{- end }}
{{- if and .Values.acceptRestored $shared }}
{{- fail "acceptRestored: nodes of a cluster have nothing of a sale in files; docs/operating.md, \"A cluster\", says how PostgreSQL is restored" }}
{{- end }}
{{- if lt (int .Values.terminationGracePeriodSeconds) (add (int .Values.preStopSeconds) 15) }}
{{- fail "terminationGracePeriodSeconds: a node needs 15 seconds beyond preStopSeconds to end what is under way" }}
{{- end }}
{{- range $name, $value := .Values.env }}
{{- if kindIs "float64" $value }}
{{- if or (ge $value 9007199254740992.0) (le $value -9007199254740992.0) }}
{{- fail (printf "env: %s has more digits than Helm keeps of a number; put it in quotes" $name) }}
{{- end }}
{{- end }}
{{- if regexMatch "(ADMIN_KEY|HEADERS|HMAC_KEY|PASSWORD|SCANNER_KEY|SECRET)" $name }}
{{- if not (hasSuffix "_FILE" $name) }}
{{- fail (printf "env: %s is a secret; name a Secret for it in secrets" $name) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
