"""What `meson install` gives, used as a stranger would: only pkg-config says where it is."""
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tests/cluster"))
import harness  # noqa: E402

BUILD = pathlib.Path(os.environ.get("WEIR_BUILD", ROOT / "build/release"))
CXX = os.environ.get("CXX", "g++").split()


def output_of(*command, **options):
    """The command's stdout; its stderr is in the failure's message."""
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, **options)
    if done.returncode != 0:
        raise AssertionError(f"{command} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


class Installation:
    """One installation below a folder of its own, and the examples built against it; made once, when first asked for."""

    _made = None

    @classmethod
    def get(cls):
        if cls._made is None:
            cls._made = cls()
        return cls._made

    def __init__(self):
        self._folder = tempfile.TemporaryDirectory(prefix="weir-install-")
        folder = pathlib.Path(self._folder.name)
        options = {o["name"]: o["value"] for o in json.loads(output_of("meson", "introspect", "--buildoptions", BUILD))}
        output_of("meson", "install", "-C", BUILD, "--no-rebuild", "--destdir", folder / "root")
        self.prefix = folder / "root" / options["prefix"].lstrip("/")
        self.include = self.prefix / options["includedir"]
        self.library = self.prefix / options["libdir"]
        self.weir = self.prefix / options["bindir"] / "weir"
        self.scratch = folder
        self.environment = {"PKG_CONFIG_PATH": str(self.library / "pkgconfig"), "LD_LIBRARY_PATH": str(self.library)}
        self._examples = None
        self._programs = {}

    def pkg_config(self, *arguments):
        return output_of("pkg-config", *arguments, "weir", env=os.environ | self.environment).split()

    def example(self, name):
        """The program, built from a copy of examples/ that lies away from this tree."""
        if self._examples is None:
            source = self.scratch / "examples"
            shutil.copytree(ROOT / "examples", source)
            self._examples = self.scratch / "examples-build"
            environment = os.environ | self.environment
            output_of("meson", "setup", self._examples, source, "--werror", env=environment)
            output_of("ninja", "-C", self._examples, env=environment)
        return self._examples / name


    def program(self, name):
        """One of this folder's own programs."""
        if name not in self._programs:
            self._programs[name] = self.scratch / name
            output_of(*CXX, "-std=c++20", "-Wall", "-Wextra", "-Werror", "-o", self._programs[name], HERE / f"{name}.cc",
                      *self.pkg_config("--cflags", "--libs"))
        return self._programs[name]


class HeadersTest(unittest.TestCase):
    def setUp(self):
        self.installation = Installation.get()
        self.headers = sorted(h.relative_to(self.installation.include) for h in self.installation.include.rglob("*.h"))

    def test_every_public_header_is_installed(self):
        self.assertEqual(self.headers, sorted(h.relative_to(ROOT / "include") for h in (ROOT / "include").rglob("*.h")))

    def test_headers_include_only_abseil_and_each_other(self):
        for header in self.headers:
            for included in re.findall(r'#include ["<](.*)[">]', (self.installation.include / header).read_text()):
                known = "/" not in included or included.startswith(("absl/", "weir/"))
                self.assertTrue(known and not included.endswith(("/config.h", "_generated.h")), f"{header} includes {included}")

    def test_each_compiles_alone(self):
        flags = [*CXX, "-std=c++20", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", *self.installation.pkg_config("--cflags")]

        def compile_alone(header):
            output_of(*flags, "-x", "c++", "-", input=f"#include <{header}>\n")

        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(compile_alone, self.headers))


class LibraryTest(unittest.TestCase):
    def setUp(self):
        self.installation = Installation.get()

    def test_every_public_function_links(self):
        program = self.installation.program("every_function")
        self.assertIn("functions", output_of(program, env=os.environ | self.installation.environment))

    def test_nothing_else_is_exported(self):
        # Scopes that the public headers open at their left margin; what is nested in a class is its own business.
        scopes = {"weir", "weir::nn"}
        for header in self.installation.include.rglob("*.h"):
            text = header.read_text()
            namespace = re.search(r"^namespace (\S+) {", text, re.M).group(1)
            scopes |= {f"{namespace}::{name}" for name in re.findall(r"^(?:class|struct) (\w+)", text, re.M)}
        symbols = output_of("nm", "-DC", "--defined-only", self.installation.library / "libweir.so").splitlines()
        names = {re.sub(r"@.*", "", line.split(" ", 2)[2]) for line in symbols}
        self.assertIn("weir::Dataset::Repeat(long) const", names)
        for name in names - {"WEIR_0"}:
            name = re.sub(r"^(vtable|typeinfo|typeinfo name) for (.*)", r"\2::data", name)
            scope = re.sub(r"\[abi:cxx11\]|\(.*", "", name).rpartition("::")[0]
            self.assertIn(scope, scopes, f"{name} is exported")

    def test_pkg_config_asks_for_nothing_internal(self):
        required = self.installation.pkg_config("--print-requires", "--print-requires-private")
        self.assertEqual({r for r in required if not r.startswith("absl_")}, set())

    def test_the_version_is_the_same_everywhere(self):
        version = output_of(self.installation.weir, "version").split()[1].rstrip(",")
        self.assertEqual(self.installation.pkg_config("--modversion"), [version])
        self.assertTrue((self.installation.library / f"libweir.so.{version}").is_file())


class PagesTest(unittest.TestCase):
    """Manual pages and completion: they come from the tables of --help, and must read well where they land."""

    def setUp(self):
        self.installation = Installation.get()
        self.commands = re.findall(r"^  (\w+) ", output_of(self.installation.weir, "--help"), re.M)
        self.assertIn("local", self.commands)

    def page(self, name):
        return self.installation.prefix / "share/man/man1" / name

    @unittest.skipUnless(shutil.which("groff"), "groff is not installed")
    def test_every_command_has_a_page_that_groff_takes(self):
        for page in ["weir.1", *(f"weir-{command}.1" for command in self.commands)]:
            done = subprocess.run(["groff", "-man", "-Tascii", "-ww", "-P-c", self.page(page)], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), (0, ""), page)
            text = re.sub(r".\x08", "", done.stdout)  # bold is a letter over itself
            self.assertIn("EXIT STATUS", text)
            if page == "weir-local.1":
                self.assertRegex(text, r"--batch-size N\n? +examples a step")
            if page == "weir.1":
                for command in self.commands:
                    self.assertIn(f"weir {command}", text)

    def complete(self, *words):
        script = self.installation.prefix / "share/bash-completion/completions/weir"
        output_of("bash", "-n", script)
        quoted = " ".join(f"'{w}'" for w in ("weir", *words))
        return output_of("bash", "-c", f"source {script}; COMP_WORDS=({quoted}); COMP_CWORD={len(words)}; _weir; "
                                       'printf "%s\\n" "${COMPREPLY[@]}"', cwd=ROOT).split()

    def test_completion(self):
        self.assertEqual(self.complete("lo"), ["local"])
        self.assertEqual(self.complete("local", "--b"), ["--batch-size"])
        self.assertEqual(self.complete("local", "--transport", "s"), ["shm"])
        self.assertEqual(self.complete("run", "--data-dir", "exam"), ["examples"])
        self.assertEqual(self.complete("run", "--max-steps", ""), [])
        self.assertIn("show", self.complete("checkpoint", "s"))
        self.assertNotIn("--ps", self.complete("run", "--p"))
        self.assertIn("--ps", self.complete("local", "--p"))


class InstalledTest(harness.ClusterTest):
    """Processes of the installation, in this test's folder."""

    def setUp(self):
        super().setUp()
        self.installation = Installation.get()

    def run_program(self, name, *command, env=None):
        process = harness.Process(name, command, self.folder, self.installation.environment | (env or {}))
        self.processes.append(process)
        return process

    def run_weir(self, name, *arguments, env=None):
        return self.run_program(name, self.installation.weir, *arguments, env=env)


def task(spec, role, index):
    return {"TF_CONFIG": json.dumps({"cluster": spec, "task": {"type": role, "index": index}})}


class FashionMnistTest(InstalledTest):
    """A program with weir::TrainAndEvaluate, in the roles of a cluster and as a cluster of its own."""

    STEPS = 60

    def run_example(self, name, env=None):
        return self.run_program(name, self.installation.example("fashion_mnist"), self.folder / "model", self.STEPS, env=env)

    def check(self):
        lines = [json.loads(line) for line in (self.folder / "model/metrics.jsonl").read_text().splitlines()]
        self.assertGreater(max(line.get("accuracy", 0) for line in lines), 0.4)
        listed = output_of(self.installation.weir, "checkpoint", "ls", self.folder / "model")
        self.assertRegex(listed, rf"(?m)^step-0*{self.STEPS} +{self.STEPS} +yes")

    def test_cluster(self):
        spec = harness.cluster_of(2, 2, evaluator=True)
        roles = [self.run_example(f"{role} {i}", task(spec, role, i)) for role in spec for i in range(len(spec[role]))]
        self.assert_exit(roles, 0, 120)
        self.check()

    def test_without_a_cluster(self):
        process = self.run_example("program")
        self.assert_exit([process], 0, 120)
        self.check()
        self.assertEqual(len(set(re.findall(r"^  \w+ +\d+  pid (\d+)", process.text(), re.M))), 3)

    def test_mistakes_are_told(self):
        process = self.run_example("program", {"TF_CONFIG": "[]"})
        self.assert_exit([process], 2, 5)
        self.assertIn("TF_CONFIG", process.text())


class LinearRegressionTest(InstalledTest):
    """Programs with weir::Client, as the workers of `weir local`."""

    JOB = ROOT / "examples/linear_regression.json"

    def run_local(self, *arguments, workers=1, program=()):
        return self.run_weir("local", "local", "--job", self.JOB, "--model-dir", self.folder / "model", "--workers", workers,
                             "--summary", self.folder / "summary.json", *arguments, "--", *program)

    def test_it_learns_the_line(self):
        process = self.run_local("--ps", 2, workers=2, program=[self.installation.example("linear_regression")])
        self.assert_exit([process], 0, 30)
        lines = re.findall(r"^worker (\d): (\d+) steps, loss (\S+) -> (\S+), weights (\S+) (\S+) (\S+), bias (\S+)$",
                           process.text(), re.M)
        self.assertEqual({line[0] for line in lines}, {"0", "1"}, process.text())
        self.assertEqual(sum(int(line[1]) for line in lines), 400)
        for line in lines:
            for learned, true in zip(line[4:], (2, -3, 0.5, 1)):
                self.assertAlmostEqual(float(learned), true, delta=0.05)
        self.assertTrue(any(float(line[3]) < float(line[2]) / 10 for line in lines), lines)
        summary = json.loads((self.folder / "summary.json").read_text())
        self.assertEqual((summary["job"], summary["global_step"], summary["examples_per_second"]), ("linear-regression", 400, 0))
        self.assertEqual((summary["pushes"]["acknowledged"], summary["pushes"]["lost"]), (400, 0))

    def test_the_contract(self):
        process = self.run_local("--max-steps", 3, program=[self.installation.program("client_contract"), "contract"])
        self.assert_exit([process], 0, 20)
        self.assertIn("worker 0: contract kept", process.text())

    def test_the_chief_tells_it_the_transport(self):
        process = self.run_local("--transport", "shm", workers=2, program=[self.installation.example("linear_regression")])
        self.assert_exit([process], 0, 30)
        self.assertRegex(process.text(), r"worker 0 -> ps 0: mapped \(messages over ucx (sysv|posix|cma|knem|xpmem)")

    def test_a_program_s_failure_is_the_cluster_s(self):
        self.assert_exit([self.run_local(program=["sh", "-c", "exit 7"])], 7, 20)
        missing = self.run_local(program=[self.folder / "nothing"])
        self.assert_exit([missing], 2, 20)
        self.assertIn("cannot run the workers' program", missing.text())


class ClientClusterTest(InstalledTest):
    """Programs with weir::Client beside roles that TF_CONFIG places."""

    JOB = LinearRegressionTest.JOB

    def start_roles(self, workers, steps=400, *flags, job=None):
        self.spec = harness.cluster_of(1, workers)
        return {role: self.run_weir(role, "run", "--job", job or self.JOB, "--model-dir", self.folder / "model", "--max-steps", steps,
                                    *flags, env=task(self.spec, role, 0)) for role in ("chief", "ps")}

    def start_worker(self, index, *command, env=None):
        return self.run_program(f"worker {index}", *command, env=task(self.spec, "worker", index) | (env or {}))

    def test_one_leaves_and_one_only_reads(self):
        roles = self.start_roles(3)
        contract = self.installation.program("client_contract")
        # The reader holds the job open for the two that follow.
        workers = [self.start_worker(1, contract, "read")]
        roles["chief"].wait_for_line(r"training begins", 20)
        workers.append(self.start_worker(0, contract, "leave"))
        self.assert_exit(workers[1:], 0, 20)
        workers.append(self.start_worker(2, self.installation.example("linear_regression")))
        self.assert_exit([*workers, *roles.values()], 0, 40)
        self.assertIn("400 steps, loss", workers[2].text())

    def trains(self, roles):
        worker = self.start_worker(0, self.installation.example("linear_regression"))
        roles["chief"].wait_for_line(r"step 100 loss", 30)
        return worker

    def test_a_lost_ps_is_the_error_of_a_call(self):
        roles = self.start_roles(1, 10**9)
        worker = self.trains(roles)
        roles["ps"].kill()
        self.assert_exit([worker, roles["chief"]], 4, 15)
        self.assertIn("ps 0", worker.text())

    def test_a_lost_chief_is_the_error_of_a_call(self):
        roles = self.start_roles(1, 10**9)
        worker = self.trains(roles)
        roles["chief"].kill()
        self.assert_exit([worker, roles["ps"]], 4, 15)
        self.assertIn("chief", worker.text())

    def test_one_that_was_taken_for_dead_is_told_so(self):
        roles = self.start_roles(1, 10**9, "--lease", 2)
        worker = self.trains(roles)
        worker.signal(19)  # SIGSTOP
        roles["chief"].wait_for_line(r"worker 0 .* was lost", 20)
        worker.signal(18)  # SIGCONT
        self.assert_exit([worker, *roles.values()], 4, 20)

    def test_a_stopped_job_ends_in_order(self):
        roles = self.start_roles(1, 10**9)
        worker = self.trains(roles)
        roles["chief"].signal(15)
        self.assert_exit([worker, *roles.values()], 0, 20)

    def test_other_tensors_are_refused(self):
        job = self.folder / "other.json"
        job.write_text(self.JOB.read_text().replace("[3]", "[4]"))
        roles = self.start_roles(1, job=job)
        worker = self.start_worker(0, self.installation.example("linear_regression"))
        self.assert_exit([worker], 2, 20)
        self.assertRegex(worker.text(), r"weights \[3\].*weights \[4\]")
        roles["chief"].wait_for_line(r"ps 0 .* joined", 20)  # else it would look for a chief that is gone
        roles["chief"].signal(15)
        self.assert_exit(roles.values(), 0, 20)

    def test_the_token_is_asked_for(self):
        (self.folder / "token").write_text("secret\n")
        roles = self.start_roles(1, 400, "--token-file", self.folder / "token")
        program = self.installation.example("linear_regression")
        self.assert_exit([self.start_worker(0, program)], 2, 20)
        self.assert_exit([self.start_worker(0, program, env={"WEIR_TOKEN": "secret"}), *roles.values()], 0, 30)

    def test_weir_itself_neither_trains_nor_evaluates_it(self):
        self.start_roles(1)
        for role in ("worker", "evaluator"):
            process = self.run_weir(role, "run", "--job", self.JOB, "--model-dir", self.folder / "model", env=task(self.spec, role, 0))
            self.assert_exit([process], 2, 10)
            self.assertIn("tensors only", process.text())
        for arguments, word in ((["local"], "-- PROGRAM"), (["local", "--evaluator", "--", "true"], None)):
            process = self.run_weir("refused", arguments[0], "--job", self.JOB, *arguments[1:])
            self.assert_exit([process], 2, 10)
            self.assertIn(word or "--evaluator", process.text())


if __name__ == "__main__":
    harness.main()
