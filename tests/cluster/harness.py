"""Starts real weir processes for the tests: deadlines on everything, all logs shown when a test fails, no orphans.

Each test gets a temporary folder of its own. A role writes to a file; conditions are waited for, never slept for.
"""
import json
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
WEIR = os.environ.get("WEIR", str(ROOT / "build/release/cli/weir"))
DATA = pathlib.Path(os.environ.get("WEIR_DATA", "/usr/share/datasets/fashion-mnist"))
POLL = 0.02  # between looks at a condition


def free_ports(count):
    """Ports below the ephemeral range, so that no outgoing connection takes one before its role binds it."""
    ports, rng = set(), random.SystemRandom()
    while len(ports) < count:
        port = rng.randrange(12000, 32000)
        with socket.socket() as s:
            try:
                s.bind(("127.0.0.1", port))
                ports.add(port)
            except OSError:
                continue
    return [f"127.0.0.1:{p}" for p in sorted(ports)]


def cluster_of(ps=1, workers=1, evaluator=False):
    addresses = free_ports(1 + ps + workers + (1 if evaluator else 0))
    spec = {"chief": addresses[:1], "ps": addresses[1:1 + ps], "worker": addresses[1 + ps:1 + ps + workers]}
    if evaluator:
        spec["evaluator"] = addresses[-1:]
    return spec


def wait_for(condition, seconds, what):
    """The condition's first true value; fails at the deadline."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds} s: {what}")
        time.sleep(POLL)


def _die_with_parent():
    import ctypes
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


class Process:
    """One process with its output in a file."""

    def __init__(self, name, command, folder, env=None):
        self.name = name
        self.log = pathlib.Path(folder) / f"{name.replace(' ', '-')}-{time.monotonic_ns()}.log"
        environment = {k: v for k, v in os.environ.items() if k not in ("TF_CONFIG", "WEIR_TOKEN")}
        environment.update(env or {})
        with self.log.open("wb") as output:
            self.process = subprocess.Popen([str(c) for c in command], env=environment, stdin=subprocess.DEVNULL, stdout=output,
                                            stderr=subprocess.STDOUT, preexec_fn=_die_with_parent)
        self.started = time.monotonic()

    @property
    def pid(self):
        return self.process.pid

    def text(self):
        return self.log.read_text(errors="replace")

    def code(self):
        return self.process.poll()

    def wait(self, seconds):
        """The exit code; fails at the deadline."""
        return wait_for(lambda: self.process.poll() is not None, seconds, f"{self.name} ends") and self.process.returncode

    def wait_for_line(self, pattern, seconds):
        def found():
            match = re.search(pattern, self.text(), re.M)
            if match is None and self.process.poll() is not None:
                raise AssertionError(f"{self.name} ended with {self.process.returncode} before it logged {pattern!r}")
            return match
        return wait_for(found, seconds, f"{self.name} logs {pattern!r}")

    def signal(self, number):
        self.process.send_signal(number)

    def kill(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
            self.process.wait()


class ClusterTest(unittest.TestCase):
    """A test with a folder and processes; whatever still runs at its end is killed."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="weir-test-"))
        self.processes = []

    def tearDown(self):
        for process in self.processes:
            process.kill()
        if self._failed():
            for process in self.processes:
                print(f"\n--- {process.name}: exit {process.code()}\n{process.text()[-4000:]}", file=sys.stderr)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _failed(self):
        outcome = self._outcome
        result = getattr(outcome, "result", None)
        return result is not None and any(test is self for test, _ in result.failures + result.errors)

    def start(self, name, *command, env=None, inside=()):
        """`inside`: a command that becomes weir, such as setpriv with its arguments."""
        process = Process(name, [*inside, WEIR, *command], self.folder, env)
        self.processes.append(process)
        return process

    def start_role(self, spec, role, index, *flags, env=None, inside=()):
        config = json.dumps({"cluster": spec, "task": {"type": role, "index": index}})
        return self.start(f"{role} {index}", "run", *flags, env={"TF_CONFIG": config, **(env or {})}, inside=inside)

    def start_cluster(self, spec, *flags, env=None):
        """{"chief 0": Process, ...} of every task of the cluster."""
        return {f"{role} {i}": self.start_role(spec, role, i, *flags, env=env) for role in spec for i in range(len(spec[role]))}

    def flags(self, **overrides):
        """The job's flags for a quick run in this test's own model directory."""
        values = {"model-dir": self.folder / "model", "max-steps": 40, "batch-size": 64, "learning-rate": 0.05, "log-step-count-steps": 5}
        values.update({k.replace("_", "-"): v for k, v in overrides.items()})
        return [text for k, v in values.items() if v is not None for text in (f"--{k}", str(v))]

    def assert_exit(self, processes, code, seconds):
        """Every one of the processes ends with this code before the deadline (of all of them together)."""
        deadline = time.monotonic() + seconds
        for process in processes:
            process.wait(max(0.1, deadline - time.monotonic()))
        self.assertEqual({p.name: p.process.returncode for p in processes}, {p.name: code for p in processes})

    def refused(self, code, *command, env=None, seconds=5):
        """Runs to its end, which must come in time with this code and a short text; returns the text."""
        process = self.start("refused", *command, env=env)
        self.assertEqual(process.wait(seconds), code, process.text())
        text = process.text()
        self.assertNotIn("terminate called", text)
        self.assertLess(len(text.splitlines()), 30, text)
        return text


def main():
    unittest.main(verbosity=2, argv=[sys.argv[0], *sys.argv[1:]])
