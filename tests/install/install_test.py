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

ROOT = pathlib.Path(__file__).resolve().parents[2]
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
        program = self.installation.scratch / "every_function"
        output_of(*CXX, "-std=c++20", "-o", program, pathlib.Path(__file__).with_name("every_function.cc"),
                  *self.installation.pkg_config("--cflags", "--libs"))
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


class FashionMnistTest(harness.ClusterTest):
    """A program with weir::TrainAndEvaluate, in the roles of a cluster and as a cluster of its own."""

    STEPS = 60

    def run_example(self, name, *arguments, env=None):
        installation = Installation.get()
        process = harness.Process(name, [installation.example("fashion_mnist"), *arguments], self.folder,
                                  installation.environment | (env or {}))
        self.processes.append(process)
        return process

    def check(self):
        lines = [json.loads(line) for line in (self.folder / "model/metrics.jsonl").read_text().splitlines()]
        self.assertGreater(max(line.get("accuracy", 0) for line in lines), 0.4)
        listed = output_of(Installation.get().weir, "checkpoint", "ls", self.folder / "model")
        self.assertRegex(listed, rf"(?m)^step-0*{self.STEPS} +{self.STEPS} +yes")

    def test_cluster(self):
        spec = harness.cluster_of(2, 2, evaluator=True)
        roles = [self.run_example(f"{role} {i}", self.folder / "model", self.STEPS,
                                  env={"TF_CONFIG": json.dumps({"cluster": spec, "task": {"type": role, "index": i}})})
                 for role in spec for i in range(len(spec[role]))]
        self.assert_exit(roles, 0, 120)
        self.check()

    def test_without_a_cluster(self):
        process = self.run_example("program", self.folder / "model", self.STEPS)
        self.assert_exit([process], 0, 120)
        self.check()
        self.assertEqual(len(set(re.findall(r"^  \w+ +\d+  pid (\d+)", process.text(), re.M))), 3)

    def test_mistakes_are_told(self):
        process = self.run_example("program", self.folder / "model", self.STEPS, env={"TF_CONFIG": "[]"})
        self.assert_exit([process], 2, 5)
        self.assertIn("TF_CONFIG", process.text())


if __name__ == "__main__":
    harness.main()
