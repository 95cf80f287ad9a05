"""docs/tutorial.md, run: its program is the example, and its shell lines start a job, read and resume it."""
import pathlib
import re
import shlex
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/cluster"))
import harness  # noqa: E402

PAGE = (ROOT / "docs/tutorial.md").read_text()
PROGRAM = "build/examples/fashion_mnist /tmp/fashion 1000"


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.M | re.S)


def block_with(text):
    found = [block for block in blocks("sh") if text in block]
    if len(found) != 1:
        raise AssertionError(f"{len(found)} blocks of the tutorial have {text!r}")
    return found[0]


class TutorialTest(harness.ClusterTest):
    def shell(self, name, script):
        process = harness.Process(name, ["bash", "-c", script], self.folder)
        self.processes.append(process)
        return process

    def here(self, script):
        """The script with this test's folder, ports and program, and fewer steps."""
        weir, model = shlex.quote(harness.WEIR), shlex.quote(str(self.folder / "model"))
        script = script.replace(PROGRAM, f"{weir} run --model-dir {model} --max-steps 20 --batch-size 32")
        script = script.replace("/tmp/fashion", model).replace("/tmp/weights", f"{model}/weights").replace("step-00001000", "step-00000020")
        for port, address in zip(("2222", "2223", "2224"), self.addresses):
            script = script.replace(f"localhost:{port}", address)
        return re.sub(r"^weir ", f"{weir} ", script, flags=re.M)

    def test_its_program_is_the_example(self):
        self.assertEqual(blocks("cpp"), [(ROOT / "examples/fashion_mnist.cc").read_text()])

    def test_four_shells(self):
        self.addresses = harness.free_ports(3)
        definitions = block_with(PROGRAM)
        lines = block_with("\nrole ps\n").splitlines()
        self.assertEqual(len(lines), 4)
        self.assert_exit([self.shell(line, self.here(definitions) + line) for line in lines], 0, 120)
        reading = self.shell("reading", "set -e\n" + self.here(block_with("weir checkpoint export")))
        self.assert_exit([reading], 0, 20)
        self.assertRegex(reading.text(), r"step-00000020 +20 +yes(?s:.)*: ok\n(?s:.)*weights.safetensors: \d+ bytes")
        self.assertIn('"kind":"eval"', (self.folder / "model/metrics.jsonl").read_text())
        again = self.here(definitions).replace("--max-steps 20", "--max-steps 30")
        roles = [self.shell(line + " again", again + line) for line in lines]
        self.assert_exit(roles, 0, 120)
        self.assertIn("resuming from", roles[0].text())


if __name__ == "__main__":
    harness.main()
