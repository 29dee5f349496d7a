#!/usr/bin/env bash
# Looks for inputs that targets of crates/fuzz fail on: two targets at a time, each for as long as is said.
# What reached new code stays in fuzz/<target>/ where Cargo builds, so that the next run begins with it.
# Usage: scripts/fuzz.sh SECONDS [TARGET…] | scripts/fuzz.sh --build-only
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/need.sh cargo cc
command -v c++ >/dev/null || { echo "scripts/fuzz.sh needs a C++ compiler, for libFuzzer (Debian: g++)." >&2; exit 3; }
[[ ${1:-} =~ ^([1-9][0-9]*|--build-only)$ ]] || { echo "usage: scripts/fuzz.sh SECONDS [TARGET…] | --build-only" >&2; exit 2; }
export FUZZ_SECONDS=$1
shift
if [ $# = 0 ]; then
  # Each target has a folder there: a test sees to it.
  mapfile -t targets < <(ls crates/fuzz/corpus)
else
  targets=("$@")
fi

FUZZ_OUT=$(scripts/target_dir.sh)
export FUZZ_OUT
# With all of the workspace, so that the crates of others are those that the tests are built with. Cargo keeps what the
# wrapper made apart from the rest.
RUSTC_WORKSPACE_WRAPPER=$PWD/scripts/with_coverage.sh \
  cargo build --workspace --example fuzz --features onrush-fuzz/libfuzzer,onrush-bridge/kafka-tls --locked --quiet

[ "$FUZZ_SECONDS" != --build-only ] || exit 0

# One target: a line of figures, or what was found and how to see it again.
fuzz() {
  local target=$1 dir=$FUZZ_OUT/fuzz/$1 fuzzer=$FUZZ_OUT/debug/examples/fuzz
  mkdir -p "$dir/seen" "$dir/failed"
  if ONRUSH_FUZZ_TARGET=$target "$fuzzer" -max_total_time="$FUZZ_SECONDS" -timeout=10 -rss_limit_mb=1024 \
    -print_final_stats=1 -artifact_prefix="$dir/failed/" "$dir/seen" "crates/fuzz/corpus/$target" >"$dir/log" 2>&1; then
    awk -v target="$target" -v seen="$(find "$dir/seen" -type f | wc -l)" '
      /^stat::number_of_executed_units/ { runs = $2 }
      /^stat::average_exec_per_sec/ { rate = $2 }
      / cov: / { for (i = 1; i < NF; i++) if ($i == "cov:") cov = $(i + 1) }
      END { printf "%-14s %10d runs, %6d a second, %6d places reached, %5d inputs kept\n", target, runs, rate, cov, seen }
    ' "$dir/log"
    return
  fi
  local input
  input=$(sed -n 's/.*Test unit written to //p' "$dir/log" | tail -1)
  grep -a -A 1 -m 1 -E "panicked at|^==.*ERROR" "$dir/log" || tail -5 "$dir/log"
  echo "$target failed on ${input:-an input that was not saved}; all it said is in $dir/log."
  echo "Again: ONRUSH_FUZZ_TARGET=$target $fuzzer $input"
  echo "Mended, it stays as crates/fuzz/corpus/$target/found-<what it was>."
  return 1
}
export -f fuzz
printf '%s\n' "${targets[@]}" | xargs -P 2 -I '{}' bash -c 'fuzz "$1"' fuzz '{}'
