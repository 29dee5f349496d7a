#!/usr/bin/env bash
# Makes sure that the named tools are there: installs what it can, and says exactly what to install where it cannot.
# Usage: scripts/need.sh cargo cc python3 schemathesis aiosmtpd
set -euo pipefail
cd "$(dirname "$0")/.."

rust_at_least=1.95
schemathesis_version=4.32.5
aiosmtpd_version=1.4.6

missing() {
  echo "onrush needs $1. $2" >&2
  exit 3
}

from_debian() {
  local command=$1 packages=$2
  command -v "$command" >/dev/null && return
  if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
    echo "installing $packages" >&2
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $packages >&2
  else
    missing "$command" "On Debian or Ubuntu: sudo apt-get install $packages"
  fi
}

# Into target/python. What cannot be installed is only said here: the check that wants it says that it did not run, or fails.
from_pypi() {
  local package=$1 version=$2 venv=target/python
  [ "$("$venv/bin/python" -c "from importlib.metadata import version; print(version('$package'))" 2>/dev/null)" != "$version" ] || return 0
  echo "installing $package $version" >&2
  python3 -m venv "$venv" 2>/dev/null || {
    from_debian no-such-command-venv python3-venv && python3 -m venv "$venv"
  }
  "$venv/bin/python" -m pip install --quiet "$package==$version" || echo "$package could not be installed" >&2
}

for tool in "$@"; do
  case $tool in
    cargo)
      command -v cargo >/dev/null ||
        missing "Rust $rust_at_least or later" "Install it from https://rustup.rs, then run this again."
      have=$(rustc --version | cut -d' ' -f2 | cut -d- -f1)
      oldest=$(printf '%s\n%s\n' "$rust_at_least" "$have" | sort -V | head -n1)
      [ "$oldest" = "$rust_at_least" ] ||
        missing "Rust $rust_at_least or later, and this is $have" "Run: rustup update stable"
      ;;
    cc) from_debian cc build-essential ;;
    python3) from_debian python3 "python3 python3-venv" ;;
    schemathesis) from_pypi schemathesis "$schemathesis_version" ;;
    aiosmtpd) from_pypi aiosmtpd "$aiosmtpd_version" ;;
    *) missing "$tool" "It is not a tool this script knows." ;;
  esac
done
