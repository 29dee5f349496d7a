#!/bin/sh
# Compiles one of our crates so that a fuzzer sees what an input reaches; Cargo calls it for scripts/fuzz.sh, in place of
# the compiler and for the workspace's own crates alone. The first argument is the compiler.
case " $* " in
  # A build script runs while building, where there is no fuzzer.
  *" --crate-name build_script_build "*) exec "$@" ;;
esac
exec "$@" -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
  -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
  -Cllvm-args=-sanitizer-coverage-trace-compares
