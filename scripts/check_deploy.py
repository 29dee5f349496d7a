"""Checks the files in deploy/ for what can be checked without Docker, systemd or Kubernetes running: syntax, names that
refer to each other, and variables that Onrush knows; the unit by systemd-analyze, the chart by helm and against
Kubernetes' own schemas, the alerts by promtool, which sees each fire. Checks besides that nginx lets go of connections
before Onrush does and that its log has no queries, that all files name the same Rust, and that CI's files are YAML. A tool
that is missing is told in a line that begins with NOT RUN, and fails under CI.
Usage: target/python/bin/python scripts/check_deploy.py"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib

import yaml

TOP = pathlib.Path(__file__).resolve().parent.parent
INSTRUCTIONS = {
    "ADD", "ARG", "CMD", "COPY", "ENTRYPOINT", "ENV", "EXPOSE", "FROM", "HEALTHCHECK", "LABEL", "RUN", "SHELL",
    "STOPSIGNAL", "USER", "VOLUME", "WORKDIR",
}


def uncommented(template):
    """The template with everything set that is commented out."""
    lines = [line[2:] if re.match(r"# (\[|\w+ = )", line) else line for line in template.splitlines()]
    return "\n".join(lines)


def settings(table, before=""):
    """The names of all variables, without what they all begin with."""
    for key, value in table.items():
        name = before + key.upper()
        if isinstance(value, dict):
            yield from settings(value, f"{name}__")
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            yield from settings(value[0], f"{name}__0__")
        else:
            yield from (name, f"{name}_FILE")


def complaints_about_compose(text, known):
    compose = yaml.safe_load(text)
    services, volumes = compose["services"], compose.get("volumes", {})
    for name, service in services.items():
        if not {"image", "build"} & service.keys():
            yield f"{name}: needs an image or a build"
        for other in service.get("depends_on", {}):
            if other not in services:
                yield f"{name}: depends on {other}, which is no service"
        for mount in service.get("volumes", []):
            volume = mount.split(":")[0]
            if not volume.startswith((".", "/")) and volume not in volumes:
                yield f"{name}: mounts {volume}, which is no volume"
        for variable in service.get("environment", {}):
            if variable.startswith("ONRUSH_") and variable.removeprefix("ONRUSH_") not in known:
                yield f"{name}: {variable} is no setting"
        if "build" in service and "healthcheck" not in service:
            yield f"{name}: nobody looks whether it is well"
        if "build" in service:
            dockerfile = (TOP / "deploy" / service["build"]["context"] / service["build"]["dockerfile"]).resolve()
            if not dockerfile.is_file():
                yield f"{name}: there is no {dockerfile}"


# Passwords that servers of compose.yaml read while their volume is empty and never again, and what changes them later.
AT_THE_FIRST_START = {
    "POSTGRES_PASSWORD": r"exec postgres psql -U onrush -c '\password'",
    "RABBITMQ_DEFAULT_PASS": "exec rabbitmq rabbitmqctl change_password onrush",
}


def complaints_about_example(example, compose):
    """Nothing starts with a secret that everybody can read here: what the example leaves empty, Compose asks for."""
    named = dict(re.findall(r"(?m)^(\w+)=(.*)$", example))
    used = re.findall(r"\$\{(\w+)(:\?)?", re.sub(r"(?m)^\s*#.*", "", compose))
    asked_for, optional = ({name for name, mark in used if bool(mark) is is_asked} for is_asked in (True, False))
    for name, value in named.items():
        if value.strip(" '\""):
            yield f".env.example: {name} has a value, with which whoever copies the file would start; leave it empty"
    for name in sorted(asked_for - named.keys()):
        yield f".env.example: {name} is missing, and compose.yaml does not start without it"
    for name in sorted(named.keys() - asked_for | named.keys() & optional):
        yield f"compose.yaml: it starts without {name}, which .env.example leaves empty; use ${{{name}:?…}}"
    for variable, command in AT_THE_FIRST_START.items():
        if re.search(rf"(?m)^ *{variable}:", compose) and command not in example:
            yield f".env.example: {variable} counts at the first start only; say how it is changed later: {command}"


def complaints_about_dockerfile(text):
    stages, lines = set(), re.sub(r"\\\n", " ", text).splitlines()
    instructions = [line.split(None, 1) for line in lines if line.strip() and not line.lstrip().startswith("#")]
    if instructions[0][0] != "FROM":
        yield "Dockerfile: begins with FROM"
    for word, *rest in instructions:
        if word not in INSTRUCTIONS:
            yield f"Dockerfile: {word} is no instruction"
        if word == "FROM" and (stage := re.search(r" AS (\S+)$", rest[0])):
            stages.add(stage[1])
        if word == "COPY" and (source := re.search(r"--from=(\S+)", rest[0])) and source[1] not in stages:
            yield f"Dockerfile: copies from {source[1]}, which is no stage"


def complaints_about_dockerfile_authorities(text):
    """librdkafka's TLS is OpenSSL's, which has no authorities of its own as all other connections of the program have."""
    last = re.split(r"(?m)^FROM ", re.sub(r"(?m)^\s*#.*\n", "", text))[-1]
    installed = set(" ".join(re.findall(r"apt-get install ([^&\n]*)", re.sub(r"\\\n", " ", last))).split())
    if "kafka-tls" in text and "ca-certificates" not in installed:
        yield "Dockerfile: the last stage installs no ca-certificates, so that no broker with a public certificate is believed"


def complaints_about_dockerfile_variables(text, known):
    for variable in re.findall(r"\bONRUSH_(\w+)=", text):
        if variable not in known:
            yield f"Dockerfile: ONRUSH_{variable} is no setting"


def tool(name, *places):
    """The path of a tool, or nothing, which is told."""
    found = next((str(path) for path in places if path.is_file()), None) or shutil.which(name)
    if not found:
        print(f"NOT RUN: files to deploy, for want of {name} (scripts/need.sh {name})")
        MISSING.append(name)
    return found


MISSING = []


def output_of(*command):
    done = subprocess.run(command, cwd=TOP, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode, done.stdout.strip()


# DynamicUser= would have implied these.
OUT_OF_REACH = {
    "NoNewPrivileges": "yes",
    "PrivateTmp": "yes",
    "ProtectHome": "yes",
    "ProtectSystem": "strict",
    "RemoveIPC": "yes",
    "RestrictSUIDSGID": "yes",
}


def complaints_about_user(text, sysusers):
    settings = dict(re.findall(r"^(\w+)=(.*)$", text, re.M))
    if settings.get("DynamicUser", "no") not in ("no", "false", "off", "0"):
        yield "onrush.service: with DynamicUser= nobody can be who the files belong to, and run `onrush backup`"
    made = re.findall(r"^u (\S+) ", sysusers, re.M)
    for key in ("User", "Group"):
        if settings.get(key) not in made:
            yield f"onrush.service: {key}={settings.get(key, '')} is not made by onrush.sysusers"
    # Its instructions, step by step: the configuration's template has places for secrets, and the service has to read it.
    steps = re.findall(r"(?m)^#   (install .*)$", text)
    made_at = next((at for at, step in enumerate(steps) if "systemd-sysusers" in step), len(steps))
    at, step = next((at, step) for at, step in enumerate(steps) if re.search(r"\S+/onrush\.toml\b", step))
    mode, group = (re.search(rf" -D?{letter} (\S+)", step) for letter in "mg")
    if not mode or int(mode[1], 8) & 0o007 or not int(mode[1], 8) & 0o040:
        yield "onrush.service: install onrush.toml as 0640: it may have secrets, which are no business of other accounts"
    if not group or group[1] != settings.get("Group"):
        yield f"onrush.service: install onrush.toml with -g {settings.get('Group')}, or the service cannot read it"
    if at < made_at:
        yield "onrush.service: systemd-sysusers makes the group that onrush.toml is installed with, so it comes first"
    for key, value in OUT_OF_REACH.items():
        if settings.get(key) != value:
            yield f"onrush.service: set {key}={value}"


def complaints_about_unit(text, known):
    credentials = set(re.findall(r"^LoadCredential=([\w-]+):", text, re.M))
    for variable, value in re.findall(r"^Environment=ONRUSH_(\w+)=(.*)$", text, re.M):
        if variable not in known:
            yield f"onrush.service: ONRUSH_{variable} is no setting"
        if value.startswith("%d/") and value.removeprefix("%d/") not in credentials:
            yield f"onrush.service: no LoadCredential= hands {value} over"
    # What is commented out is an example, and must be right as well.
    for variable in re.findall(r"^# Environment=ONRUSH_(\w+)=", text, re.M):
        if variable not in known:
            yield f"onrush.service: ONRUSH_{variable} is no setting"
    yield from complaints_about_restarts(text)
    if analyze := tool("systemd-analyze"):
        with tempfile.TemporaryDirectory() as folder:
            # The program need not be installed where it is only looked at.
            unit = pathlib.Path(folder) / "onrush.service"
            unit.write_text(re.sub(r"^ExecStart=\S+", f"ExecStart={sys.executable}", text, flags=re.M))
            code, said = output_of(analyze, "verify", "--man=no", str(unit))
            if code or said:
                yield f"onrush.service: {said}"
            # 0 is out of reach of everything, 10 of nothing.
            code, said = output_of(analyze, "security", "--offline=true", "--threshold=20", str(unit))
            if code:
                yield f"onrush.service: more exposed than 2.0: {said.splitlines()[-1]}"


def complaints_about_restarts(text):
    set_to = dict(re.findall(r"^(Restart\w*|StartLimit\w+)=(.*)$", text, re.M))
    # crates/terminal/src/exit.rs: only a person mends settings (2) and data that is refused (4), and 3 may pass.
    if (codes := set(set_to.get("RestartPreventExitStatus", "").split())) != {"2", "4"}:
        yield f"onrush.service: RestartPreventExitStatus is {sorted(codes)} and should be 2 and 4"
    if set_to.get("Restart") != "on-failure":
        yield "onrush.service: it is not started again when it fails"
    if set_to.get("StartLimitIntervalSec") != "0" or "StartLimitBurst" in set_to:
        yield "onrush.service: after some starts it stays down for good; set StartLimitIntervalSec=0 and no burst"
    pause = re.fullmatch(r"(\d+)s", set_to.get("RestartSec", ""))
    if not pause or int(pause[1]) < 5:
        yield "onrush.service: RestartSec is not at least 5s: without a limit, starts come too fast"


def complaints_about_nginx(text, accept):
    patience = re.search(r"^const HEADER_TIMEOUT: Duration = Duration::from_secs\((\d+)\);$", accept, re.M)
    if not patience:
        yield "accept.rs: HEADER_TIMEOUT, after which idle connections of strangers are closed, is not in seconds"
        return
    upstreams = re.findall(r"\bupstream\s+(\S+)\s*\{([^}]*)\}", re.sub(r"#.*", "", text))
    if not upstreams:
        yield "onrush.conf: there is no upstream, which has keepalive_timeout"
    for name, block in upstreams:
        kept = re.search(r"\bkeepalive_timeout\s+(\d+)s?\s*;", block)
        # Without it nginx keeps them for 60 seconds, and is a stranger until trusted_proxies names it. Both begin to count at
        # about the same time.
        kept_s, latest_s = int(kept[1]) if kept else 60, int(patience[1]) - 5
        if kept_s > latest_s:
            yield (
                f"onrush.conf: upstream {name} keeps idle connections for {kept_s}s, and Onrush closes them after"
                f" {patience[1]}s unless trusted_proxies names nginx, so that some requests are 502; set keepalive_timeout to"
                f" {latest_s}s"
            )


CHART = TOP / "deploy/helm/onrush"
SEVERAL = """
replicas: 3
config: |
  engine = "redis"
  ledger = "postgres"
  trusted_proxies = [
    # The ingress.
    "10.0.0.0/8",
  ]
env: {ONRUSH_GATEWAY: stripe}
secrets: [{variable: ONRUSH_POSTGRES__PASSWORD, secret: onrush, key: password}]
files: [{secret: onrush-ca, folder: ca}]
persistence: {enabled: false}
ingress: {enabled: true, className: nginx, host: tickets.example, tlsSecret: tickets, annotations: {a: b}}
serviceMonitor: {enabled: true, labels: {release: prometheus}}
prometheusRule: {enabled: true}
"""
REFUSED = [
    ("replicas: 2", "several nodes need engine"),
    ("env: {ONRUSH_ADMIN_KEY: a}", "is a secret"),
    ("env: {ONRUSH_TLS__ACME__EAB_HMAC_KEY: a}", "is a secret"),
    ("env: {ONRUSH_TELEMETRY__HEADERS: 'authorization: a'}", "is a secret"),
    ("replica: 2", "replica"),
    ("env: {LISTEN: a}", "LISTEN"),
    ("ingress: {enabled: true}\nenv: {ONRUSH_TRUSTED_PROXIES: 10.0.0.0/8}", "ingress.host"),
    ("ingress: {enabled: true, host: a.example}", "trusted_proxies"),
    ("ingress: {enabled: true, host: a.example}\nconfig: 'trusted_proxies = []'", "trusted_proxies"),
    ("ingress: {enabled: true, host: a.example}\nconfig: '# trusted_proxies = [\"10.0.0.0/8\"]'", "trusted_proxies"),
    ("preStopSeconds: 25", "terminationGracePeriodSeconds"),
    ("service: {type: LoadBalancer, externalTrafficPolicy: local}", "externalTrafficPolicy"),
    ("acceptRestored: once", "acceptRestored"),
    ("acceptRestored: 4711\nenv: {ONRUSH_ENGINE: redis}", "acceptRestored: nodes of a cluster"),
    ("persistence: {enabled: false}", "persistence.enabled: without a volume"),
    ("persistence: {enabled: false}\nconfig: '# engine = \"redis\"'", "persistence.enabled: without a volume"),
    ("persistence: {enabled: false}\nenv: {ONRUSH_LEDGER: postgres}", "persistence.enabled: without a volume"),
    ("persistence: {enabled: false}", "or say `ONRUSH_ENGINE: redis` in env if this is a cluster's node"),
    # A variable counts before the file, whatever kind of value it is.
    ("persistence: {enabled: false}\nenv: {ONRUSH_ENGINE: embedded}\nconfig: 'engine = \"redis\"'", "persistence.enabled: "),
    ("persistence: {enabled: false}\nenv: {ONRUSH_ENGINE: true}", "persistence.enabled: without a volume"),
    ("replicas: 2\nenv: {ONRUSH_ENGINE: embedded}\nconfig: 'engine = \"redis\"'", "several nodes need engine"),
    ("replicas: 2\nenv: {ONRUSH_ENGINE: 1}", "several nodes need engine"),
    ("replicas: 2\nconfig: 'engine = \"embedded\" # or \"redis\"'", "several nodes need engine"),
    # Either way out loses what a release that runs so has sold.
    ("persistence: {enabled: false}", "kubectl -n default exec onrush-0 -- onrush backup --data /var/lib/onrush/data"),
    ("env: {ONRUSH_SELLER__TAX_ID: 12345678901234567890}", "ONRUSH_SELLER__TAX_ID has more digits"),
]
# What is accepted, with the flags that have a node start on a restored volume: Helm reads numbers as floats, and writes long
# ones in powers of ten.
ACCEPTED = [
    ("{}", []),
    ("acceptRestored: false", []),
    ("acceptRestored: true", ["--accept-restored"]),
    ("acceptRestored: 12345678", ["--accept-restored=12345678"]),
    ("persistence: {enabled: false, loseAllSalesWithThePod: true}", []),
    ("persistence: {enabled: false}\nenv: {ONRUSH_ENGINE: redis, ONRUSH_LEDGER: postgres}", []),
    ("persistence: {enabled: false}\nconfig: |\n  engine = 'redis'\n  ledger = 'postgres'", []),
    # TOML has four kinds of strings, and two of them for keys.
    *(
        (f"persistence: {{enabled: false}}\nconfig: |\n  {engine}\n  ledger = 'postgres'", [])
        for engine in ('"engine" = "redis"', "'engine'='redis'", 'engine = """redis"""', "engine = '''\n  redis'''")
    ),
    ("acceptRestored: 4711\nenv: {ONRUSH_ENGINE: embedded}\nconfig: 'engine = \"redis\"'", ["--accept-restored=4711"]),
    # The node says what is wrong with it.
    ("env: {ONRUSH_ENGINE: true}", []),
]
# What a node is told of a value in env: what was written there, and neither a power of ten nor a number without its zeros.
TOLD = [
    ("123456789", "123456789"),
    ("10485760", "10485760"),
    ("9007199254740991", "9007199254740991"),
    ("-1", "-1"),
    ("0.01", "0.01"),
    ("0.00001", "0.00001"),
    ("true", "true"),
    ("'0123456789'", "0123456789"),
    ("'1.10'", "1.10"),
    ("'off'", "off"),
    ("'a \"b\" \\c <d> & {{ e }}'", 'a "b" \\c <d> & {{ e }}'),
]
# What ONRUSH_PUBLIC_URL becomes.
BEHIND = "env: {ONRUSH_TRUSTED_PROXIES: 10.0.0.0/8}\ningress: {enabled: true, host: a.example"
PUBLIC_URLS = [
    ("{}", None),
    (f"{BEHIND}}}", "http://a.example"),
    (f"{BEHIND}, tlsSecret: a}}", "https://a.example"),
    (f"{BEHIND}}}\nconfig: 'public_url = \"https://b.example\"'", None),
    (f"{BEHIND}}}\nsecrets: [{{variable: ONRUSH_PUBLIC_URL, secret: a, key: b}}]", None),
    (BEHIND.replace("{ONRUSH", "{ONRUSH_PUBLIC_URL: 'https://b.example', ONRUSH", 1) + "}", "https://b.example"),
]
# What the Service that visitors reach must have: Cluster would put a machine's address in the place of theirs.
SERVICES = [
    ("{}", {"externalTrafficPolicy": None, "publishNotReadyAddresses": None}),
    ("service: {type: LoadBalancer, annotations: {a: b}}", {"externalTrafficPolicy": "Local", "annotations": {"a": "b"}}),
    ("service: {type: NodePort}", {"externalTrafficPolicy": "Local", "annotations": None}),
    ("service: {type: LoadBalancer, externalTrafficPolicy: Cluster}", {"externalTrafficPolicy": "Cluster"}),
    # Without a certificate no pod is ready, and the authority has to reach it to issue one.
    *(
        (values, {"publishNotReadyAddresses": True})
        for values in (
            "config: |\n  [tls.acme]\n  domains = ['a.example']",
            "config: |\n  [ tls . acme ] # ours\n  domains = ['a.example']",
            "config: |\n  [tls]\n  acme = { domains = ['a.example'] }",
            "config: |\n  tls.acme.domains = ['a.example']",
            "config: |\n  tls = { acme = { domains = ['a.example'] } }",
            "env: {ONRUSH_TLS__ACME__DOMAINS: a.example}",
            "secrets: [{variable: ONRUSH_TLS__ACME__EAB_HMAC_KEY, secret: a, key: b}]",
        )
    ),
    ("config: |\n  [tls]\n  cert = '/etc/onrush/tls/tls.crt' # no acme", {"publishNotReadyAddresses": None}),
    ("config: |\n  # [tls.acme]\n  # domains = ['a.example']", {"publishNotReadyAddresses": None}),
]
VERSION = "1.31.0"


def rendered(helm, values):
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(values)
        file.flush()
        return output_of(helm, "template", "onrush", str(CHART), "--kube-version", VERSION, "-f", file.name)


def complaints_about_pod(pod):
    """What Kubernetes' schemas cannot know of a StatefulSet's pods."""
    # A claim's volume has no entry here.
    kept_from_writing = {volume["name"] for volume in pod["volumes"] if "emptyDir" not in volume}
    for container in pod["containers"]:
        variables = {variable["name"]: variable.get("value", "") for variable in container["env"]}
        places = [
            mount["mountPath"]
            for mount in container["volumeMounts"]
            if not mount.get("readOnly") and mount["name"] not in kept_from_writing
        ]
        temporary = pathlib.PurePath(variables.get("TMPDIR", "/tmp"))
        if container["securityContext"].get("readOnlyRootFilesystem") and not any(map(temporary.is_relative_to, places)):
            yield f"SQLite cannot make temporary files: the root is read-only, and {temporary} on no volume"
        # A node closes its listener at once when it is told to stop, and endpoints are taken away seconds later.
        before_stop = container.get("lifecycle", {}).get("preStop", {}).get("exec", {}).get("command", [])
        seconds = int(before_stop[1]) if before_stop[:1] == ["sleep"] else 0
        if seconds < 5:
            yield f"a node that is told to stop refuses who still comes: let preStop sleep for 5 seconds, and not for {seconds}"
        # Ten for requests under way, and some for the rest.
        if pod["terminationGracePeriodSeconds"] < seconds + 15:
            yield f"terminationGracePeriodSeconds leaves a node no 15 seconds after {seconds} of preStop"


def complaints_about_variables(helm):
    for written, wanted in TOLD:
        code, said = rendered(helm, f"env: {{ONRUSH_SELLER__TAX_ID: {written}}}")
        nodes = [] if code else [thing for thing in yaml.safe_load_all(said) if thing and thing["kind"] == "StatefulSet"]
        variables = [variable for node in nodes for variable in node["spec"]["template"]["spec"]["containers"][0]["env"]]
        found = [variable["value"] for variable in variables if variable["name"] == "ONRUSH_SELLER__TAX_ID"]
        if found != [wanted]:
            yield f"chart: {written} in env should be told as {wanted}: {said if code else found}"


def complaints_about_services(helm):
    for values, wanted in SERVICES:
        code, said = rendered(helm, values)
        objects = [] if code else [thing for thing in yaml.safe_load_all(said) if thing]
        service = next((thing for thing in objects if thing["kind"] == "Service" and thing["spec"].get("type")), None)
        if not service:
            yield f"chart: {values} makes no Service for visitors: {said}"
            continue
        found = {**service["spec"], "annotations": service["metadata"].get("annotations")}
        for key, value in wanted.items():
            if found.get(key) != value:
                yield f"chart: {values}: the Service's {key} is {found.get(key)} and should be {value}"
        # A pod that starts anew asks the authority at once, which allows five failures an hour.
        path = "/healthz" if wanted.get("publishNotReadyAddresses") else "/readyz"
        if f"startupProbe:\n            httpGet: {{ path: {path}," not in re.sub(r"(?m)^ *#.*\n", "", said):
            yield f"chart: {values}: a pod has started when {path} says so"


def complaints_about_chart_versions():
    version = tomllib.loads((TOP / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    for key in ("version", "appVersion"):
        if chart[key] != version:
            yield f"chart: Chart.yaml: {key} is {chart[key]}, and Cargo.toml's version {version}"


def complaints_about_secret_names():
    """The chart's are those of warnings.rs, whose tests hold them against what the program shows nowhere."""
    source = (TOP / "crates/base/src/config/warnings.rs").read_text()
    names = re.search(r"const SECRET_NAMES: [^=]*=\s*\[([^\]]*)\]", source)
    refused = re.search(r'regexMatch "\(([A-Z_|]+)\)" \$name', (CHART / "templates/_helpers.tpl").read_text())
    if not names or not refused:
        yield "chart: SECRET_NAMES of warnings.rs, or what _helpers.tpl refuses in env, is not found; mend this check"
        return
    for name in sorted(set(re.findall(r'"(\w+)"', names[1].upper())) ^ set(refused[1].split("|"))):
        yield f"chart: {name} is a secret's name in _helpers.tpl or in SECRET_NAMES of warnings.rs, and not in both"


def complaints_about_chart(known):
    if (CHART / "files/alerts.yaml").read_text() != (TOP / "deploy/prometheus/alerts.yaml").read_text():
        yield "chart: files/alerts.yaml is not deploy/prometheus/alerts.yaml; copy it there"
    for file in [*CHART.glob("templates/*"), CHART / "values.yaml"]:
        for variable in re.findall(r"\bONRUSH_(\w+)", file.read_text()):
            if variable not in known:
                yield f"chart: {file.name}: ONRUSH_{variable} is no setting"
    if not (helm := tool("helm", TOP / "target/python/bin/helm", TOP / "target/helm/helm")):
        return
    code, said = output_of(helm, "lint", "--strict", str(CHART))
    if code:
        yield f"chart: {said}"
    for values, why in REFUSED:
        code, said = rendered(helm, values)
        if not code or why not in said:
            yield f"chart: {values} should be refused because of {why}: {said}"
    for values, url in PUBLIC_URLS:
        code, said = rendered(helm, values)
        named = re.findall(r"- name: ONRUSH_PUBLIC_URL\n *value: (.*)", said)
        if code or named != ([f'"{url}"'] if url else []):
            yield f"chart: {values} should set ONRUSH_PUBLIC_URL to {url}: {said if code else named}"
    for values, flags in ACCEPTED:
        code, said = rendered(helm, values)
        nodes = [] if code else [thing for thing in yaml.safe_load_all(said) if thing and thing["kind"] == "StatefulSet"]
        found = [container["args"] for node in nodes for container in node["spec"]["template"]["spec"]["containers"]]
        if found != [["serve", "--config", "/etc/onrush/config/onrush.toml", *flags]]:
            yield f"chart: {values} should start a node with {flags}: {said if code else found}"
    yield from complaints_about_variables(helm)
    yield from complaints_about_services(helm)
    try:
        import kubernetes_validate
    except ImportError:
        print("NOT RUN: the chart against Kubernetes' schemas (scripts/need.sh kubernetes-validate)")
        MISSING.append("kubernetes-validate")
        kubernetes_validate = None
    for values, kinds in [
        ("{}", {"ConfigMap", "PodDisruptionBudget", "Service", "StatefulSet"}),
        ("service: {type: LoadBalancer, annotations: {a: b}}", {"ConfigMap", "PodDisruptionBudget", "Service", "StatefulSet"}),
        (SEVERAL, {"ConfigMap", "Ingress", "PodDisruptionBudget", "PrometheusRule", "Service", "ServiceMonitor", "StatefulSet"}),
    ]:
        code, said = rendered(helm, values)
        if code:
            yield f"chart: {said}"
            continue
        objects = [thing for thing in yaml.safe_load_all(said) if thing]
        if {thing["kind"] for thing in objects} != kinds:
            yield f"chart: it makes {sorted(thing['kind'] for thing in objects)}"
        for thing in objects:
            if thing["kind"] == "StatefulSet":
                yield from (f"chart: {why}" for why in complaints_about_pod(thing["spec"]["template"]["spec"]))
            # Those of Prometheus' operator are not Kubernetes' own.
            if kubernetes_validate and "monitoring.coreos.com" not in thing["apiVersion"]:
                try:
                    kubernetes_validate.validate(thing, VERSION.rsplit(".", 1)[0], strict=True)
                except Exception as error:
                    yield f"chart: {thing['kind']}: {error}"


def complaints_about_nginx_log(text):
    formats = dict(re.findall(r"^log_format\s+(\w+)\s+([^;]*);", text, re.M))
    logs = re.findall(r"^\s*access_log\s+\S+\s+(\w+);", text, re.M)
    if not logs:
        yield "nginx: without an access_log of its own it writes whole addresses, with whom somebody looks for"
    for name in logs:
        if name not in formats:
            yield f"nginx: {name} is no log_format here"
        # Addresses of buyers and tickets of streams may stand in queries.
        for variable in re.findall(r"\$(request|request_uri|args|query_string|arg_\w+|http_referer)\b", formats.get(name, "")):
            yield f"nginx: ${variable} writes queries into the log"


def complaints_about_alerts():
    if promtool := tool("promtool", TOP / "target/prometheus/usr/bin/promtool"):
        for command in [
            ("check", "config", "--syntax-only", "deploy/prometheus/prometheus.yaml"),
            ("check", "rules", "deploy/prometheus/alerts.yaml"),
            ("test", "rules", "deploy/prometheus/alerts.test.yaml"),
        ]:
            code, said = output_of(promtool, *command)
            if code:
                yield f"promtool {' '.join(command)}: {said}"


RUST = {
    "Cargo.toml": r'^rust-version = "([\d.]+)"',
    "scripts/need.sh": r"^rust_at_least=([\d.]+)$",
    "deploy/Dockerfile": r"^FROM rust:([\d.]+)-",
    ".github/workflows/ci.yml": r"^ *image: rust:([\d.]+)-",
    ".devcontainer/devcontainer.json": r'^ *"image": "rust:([\d.]+)-',
}


def complaints_about_rust():
    channel = re.search(r'^channel = "([\d.]+)"', (TOP / "rust-toolchain.toml").read_text(), re.M)[1]
    for file, pattern in RUST.items():
        named = re.search(pattern, (TOP / file).read_text(), re.M)
        if not named:
            yield f"{file}: names no Rust"
        elif not f"{channel}.".startswith(f"{named[1]}."):
            yield f"{file}: names Rust {named[1]}, and rust-toolchain.toml {channel}"


def complaints_about_github():
    for file in sorted((TOP / ".github").rglob("*.yml")):
        try:
            yaml.safe_load(file.read_text())
        except yaml.YAMLError as error:
            yield f"{file.relative_to(TOP)}: {error}"


def main():
    template = (TOP / "crates/base/src/config/template.toml").read_text()
    known = set(settings(tomllib.loads(uncommented(template))))
    # Of `onrush sandbox` by itself.
    known |= {"SANDBOX_SECRET", "SANDBOX_WEBHOOK_SECRET"}
    found = [
        *complaints_about_compose((TOP / "deploy/compose.yaml").read_text(), known),
        *complaints_about_example(
            (TOP / "deploy/.env.example").read_text(),
            (TOP / "deploy/compose.yaml").read_text(),
        ),
        *complaints_about_dockerfile((TOP / "deploy/Dockerfile").read_text()),
        *complaints_about_dockerfile_authorities((TOP / "deploy/Dockerfile").read_text()),
        *complaints_about_dockerfile_variables((TOP / "deploy/Dockerfile").read_text(), known),
        *complaints_about_unit((TOP / "deploy/systemd/onrush.service").read_text(), known),
        *complaints_about_user(
            (TOP / "deploy/systemd/onrush.service").read_text(),
            (TOP / "deploy/systemd/onrush.sysusers").read_text(),
        ),
        *complaints_about_nginx(
            (TOP / "deploy/nginx/onrush.conf").read_text(),
            (TOP / "crates/serve/src/accept.rs").read_text(),
        ),
        *complaints_about_chart_versions(),
        *complaints_about_secret_names(),
        *complaints_about_chart(known),
        *complaints_about_nginx_log((TOP / "deploy/nginx/onrush.conf").read_text()),
        *complaints_about_alerts(),
        *complaints_about_rust(),
        *complaints_about_github(),
    ]
    for complaint in found:
        print(complaint, file=sys.stderr)
    sys.exit(bool(found or (MISSING and os.environ.get("CI"))))


if __name__ == "__main__":
    main()
