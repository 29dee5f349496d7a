#!/usr/bin/env python3
"""Builds the tests in Rust and runs them: two binaries at a time, the long ones first.

`cargo test` runs one binary after the other, and many of them wait most of the time. What a binary says is shown if it
fails: by its exit code, by a time limit, or for want of a line `test result`. The slowest ones are told at the end.
Usage: scripts/run_tests.py [COMMAND [ARGUMENT…]]
    COMMAND   runs beside the tests once they are built: another build, which Cargo would have them wait for"""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

TOP = pathlib.Path(__file__).resolve().parent.parent
AT_ONCE = 2
# Kafka's TLS needs OpenSSL's headers, which whoever tests one crate may not have.
WITH = ["--workspace", "--features", "onrush-bridge/kafka-tls"]
LIMIT_S = 1_800
SLOWEST = 10

# They take minutes: whoever begins with them has something to do beside them.
FIRST = [
    "onrush/cluster",
    "onrush/cli_saga_kill",
    "sim/whole_planted",
    "sim/whole",
    "onrush/cli_kill",
    "sim/whole_disk",
    "store/conformance",
    "bridge/rabbit",
]
# Their tests wait for servers most of the time: more of them at once than there are processors.
AT_ONCE_OF = {
    "onrush/cluster": 6,
    "bridge/kafka": 6,
    "bridge/rabbit": 8,
    "ledger/ledger": 4,
    "server/api": 8,
    "server/relay": 8,
    "store/conformance": 8,
    "store/redis": 8,
}
# They look at how long something takes, or keep all processors busy.
ALONE = {"onrush/cli_demo_stay", "onrush/cli_runs", "onrush/cli_traces", "store/redis"}

RESULT = re.compile(r"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored;", re.MULTILINE)
TOOK = re.compile(r"^test (.+?)(?: - should panic)? \.\.\. \w+ <([\d.]+)s>$", re.MULTILINE)


@dataclass
class Tests:
    """A test binary, or the tests in documents, and what came of it."""

    name: str
    command: list
    folder: pathlib.Path
    took_s: float = 0.0
    # Of a processor's time, with the servers that it started and ended.
    busy_s: float = 0.0
    problem: str = ""
    output: str = ""
    counts: tuple = (0, 0, 0)
    slowest: list = field(default_factory=list)

    def run(self):
        begin = time.monotonic()
        variables = {**os.environ}
        # Cargo gets neither: with another RUSTC_BOOTSTRAP it builds everything anew, and with another CARGO_MANIFEST_DIR
        # ring, whose build script asks for it, and with ring nearly all of ours.
        if self.command[0] != "cargo":
            # Tests find files below the folder of their crate.
            variables["CARGO_MANIFEST_DIR"] = str(self.folder)
            # For the times of single tests, which the harness tells to nobody else.
            variables["RUSTC_BOOTSTRAP"] = "1"
        # A file: whatever a server that outlives its test writes would keep a pipe open.
        with tempfile.TemporaryFile() as output:
            process = subprocess.Popen(
                self.command,
                cwd=self.folder,
                env=variables,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
            limit = threading.Timer(LIMIT_S, os.kill, (process.pid, signal.SIGKILL))
            limit.start()
            _, status, used = os.wait4(process.pid, 0)
            limit.cancel()
            status = process.returncode = os.waitstatus_to_exitcode(status)
            output.seek(0)
            self.output = output.read().decode(errors="replace")
        self.took_s = time.monotonic() - begin
        self.busy_s = used.ru_utime + used.ru_stime
        results = RESULT.findall(self.output)
        self.counts = tuple(sum(int(result[nth]) for result in results) for nth in range(3))
        self.slowest = [(float(took), f"{self.name} {test}") for test, took in TOOK.findall(self.output)]
        if self.took_s >= LIMIT_S:
            self.problem = f"had not ended after {LIMIT_S} s"
        elif status != 0:
            self.problem = f"ended with {status}"
        elif not results:
            self.problem = "printed no test result"
        elif self.counts[1]:
            self.problem = "ended with 0 although tests failed"
        return self


def build():
    """Builds everything and gives the test binaries."""
    command = ["cargo", "test", *WITH, "--locked", "--no-run", "--quiet"]
    cargo = subprocess.Popen(
        [*command, "--message-format=json-render-diagnostics"], cwd=TOP, stdout=subprocess.PIPE, text=True
    )
    found = []
    for line in cargo.stdout:
        built = json.loads(line)
        if built["reason"] != "compiler-artifact" or not built["profile"]["test"] or not built["executable"]:
            continue
        folder = pathlib.Path(built["manifest_path"]).parent
        kind, name = built["target"]["kind"][0], built["target"]["name"]
        name = f"{folder.name}/{name if kind == 'test' else kind}"
        options = ["-Zunstable-options", "--report-time"]
        if name in AT_ONCE_OF:
            options.append(f"--test-threads={AT_ONCE_OF[name]}")
        found.append(Tests(name, [built["executable"], *options], folder))
    if cargo.wait():
        sys.exit(cargo.returncode)
    if not found:
        sys.exit("cargo built no tests")
    return found


def say(tests, showing=threading.Lock()):
    with showing:
        passed, failed, ignored = tests.counts
        times = f"{tests.took_s:7.1f} s, {tests.busy_s:6.1f} busy"
        print(f"{times}  {tests.name}: {passed} passed, {failed} failed, {ignored} ignored", flush=True)
        if tests.problem:
            print(f"{tests.output}\nFAILED: {tests.name} {tests.problem}", flush=True)


def run(tests):
    say(tests.run())
    return tests


def main():
    begin = time.monotonic()
    found = build()
    print(f"built in {time.monotonic() - begin:.0f} s", flush=True)
    unknown = {*FIRST, *ALONE, *AT_ONCE_OF} - {tests.name for tests in found}
    if unknown:
        sys.exit(f"{__file__} names tests that there are not: {', '.join(sorted(unknown))}")
    found.sort(key=lambda tests: (FIRST.index(tests.name) if tests.name in FIRST else len(FIRST), tests.name))
    beside = [tests for tests in found if tests.name not in ALONE]
    # Last, because they wait while the command builds something.
    documents = ["cargo", "test", *WITH, "--locked", "--quiet", "--doc"]
    beside.append(Tests("documents", documents, TOP))
    with tempfile.TemporaryFile() as said:
        command = sys.argv[1:] or ["true"]
        with subprocess.Popen(command, cwd=TOP, stdin=subprocess.DEVNULL, stdout=said, stderr=said) as other:
            with ThreadPoolExecutor(AT_ONCE) as pool:
                done = list(pool.map(run, beside))
        said.seek(0)
        other_problem = f"{said.read().decode(errors='replace')}{command} ended with {other.returncode}"
    done += [run(tests) for tests in found if tests.name in ALONE]

    print(f"\nslowest binaries, of {len(done)}:")
    for tests in sorted(done, key=lambda tests: -tests.took_s)[:SLOWEST]:
        print(f"{tests.took_s:7.1f} s, {tests.busy_s:6.1f} busy  {tests.name}")
    print("\nslowest tests:")
    for took_s, name in sorted((test for tests in done for test in tests.slowest), reverse=True)[:SLOWEST]:
        print(f"{took_s:7.1f} s  {name}")
    failed = [f"{tests.name} {tests.problem}" for tests in done if tests.problem]
    if other.returncode:
        failed.append(other_problem)
    for problem in failed:
        print(f"\nFAILED: {problem}")
    passed, wrong, ignored = (sum(tests.counts[nth] for tests in done) for nth in range(3))
    # A binary that broke down counts for one at least.
    print(f"\n{passed} passed, {max(wrong, len(failed))} failed, {ignored} skipped", flush=True)
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
