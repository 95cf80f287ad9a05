"""What the pages say is so: links lead somewhere, flags exist, listings are the files that they show."""
import json
import os
import pathlib
import re
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
WEIR = os.environ.get("WEIR", str(ROOT / "build/release/cli/weir"))
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
LATER = "not in this version"
NOT_WEIR_S = {"--flag", "--shm-size"}  # any flag; Docker's


def name(page):
    return page.relative_to(ROOT)


def without_code(text):
    """The text without fenced blocks and code spans: what is left has links, not examples of them."""
    return re.sub(r"`[^`\n]+`", "", FENCE.sub("", text))


def anchors(page):
    """The anchors of its headings, as GitHub makes them: a heading that comes again gets a number."""
    seen, result = {}, set()
    for heading in re.findall(r"^#+ +(.*?) *$", FENCE.sub("", page.read_text()), re.M):
        slug = re.sub(r"[^\w\- ]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()).replace(" ", "-")
        count = seen[slug] = seen.get(slug, -1) + 1
        result.add(f"{slug}-{count}" if count else slug)
    return result


def run_weir(*arguments):
    environment = {k: v for k, v in os.environ.items() if k not in ("TF_CONFIG", "WEIR_TOKEN")}
    done = subprocess.run([WEIR, *arguments], capture_output=True, text=True, timeout=30, env=environment)
    return done.returncode, done.stdout + done.stderr


def helped(*command):
    code, text = run_weir(*command, "--help")
    if code != 0:
        raise AssertionError(f"weir {' '.join(command)} --help ended with {code}:\n{text}")
    return text


class LinksTest(unittest.TestCase):
    def test_each_leads_somewhere(self):
        links = [(page, target) for page in PAGES for target in re.findall(r"\]\(([^)\s]+)\)", without_code(page.read_text()))
                 if not re.match(r"[a-z]+:", target)]
        self.assertGreater(len(links), 20)
        self.assertEqual([f"{name(page)}: {target}" for page, target in links if not self.leads_somewhere(page, target)], [])

    def leads_somewhere(self, page, target):
        path, _, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        return there.is_relative_to(ROOT) and there.exists() and (not anchor or anchor in anchors(there))

    def test_the_readme_names_every_page(self):
        text = (ROOT / "README.md").read_text()
        self.assertEqual([p.name for p in (ROOT / "docs").glob("*.md") if f"(docs/{p.name})" not in text], [])

    def test_files_that_are_named_exist(self):
        # `common/rpc`, `tests/cluster/local_test.py`, also without the end: a path into one of the tree's own folders.
        folders = [p.name for p in ROOT.iterdir() if p.is_dir() and not p.name.startswith(".") and p.name != "build"]
        named = [(page, path) for page in PAGES for path in re.findall(rf"`((?:{'|'.join(folders)})/[\w./-]*)`", page.read_text())]
        self.assertGreater(len(named), 30)
        self.assertEqual([f"{name(page)}: {path}" for page, path in named
                          if not (ROOT / path).exists() and not list(ROOT.glob(f"{path}.*"))], [])

    def test_no_path_of_somebody_s_machine(self):
        paths = [(page, path) for page in PAGES
                 for path in re.findall(r"(?<![\w.$}/])/(?:home|root|work|Users)\b[^\s`]*", page.read_text())]
        self.assertEqual([f"{name(page)}: {path}" for page, path in paths], [])


class FlagsTest(unittest.TestCase):
    """Every flag that a page names is a flag of some command, or is refused as one of a later version."""

    @classmethod
    def setUpClass(cls):
        commands = re.findall(r"^  (\w+) ", helped(), re.M)
        verbs = re.findall(r"^  (\w+) ", helped("checkpoint"), re.M)
        benches = re.findall(r"^  (\w+) ", helped("bench"), re.M)
        texts = [helped(c) for c in commands if c != "version"] + [helped("checkpoint", v) for v in verbs] + [helped("bench", b) for b in benches]
        cls.flags = {"--help", "--version"} | {f for text in texts for f in re.findall(r"^  (--[\w-]+)", text, re.M)}

    def exists(self, flag):
        return flag in self.flags | NOT_WEIR_S or re.search(f"{flag}: .*{LATER}", run_weir("local", flag, "1")[1])

    def named(self, page):
        """In code spans, and on the lines of fenced blocks that run weir."""
        text = page.read_text()
        spans = re.findall(r"`([^`\n]+)`", FENCE.sub("", text))
        lines = [line for _, body in FENCE.findall(text) for line in body.replace("\\\n", " ").splitlines()
                 if re.search(r"\bweir (run|local|status|checkpoint|config|bench|doctor)\b", line)]
        for code in [s for s in spans if s.startswith(("--", "weir "))] + lines:
            yield from re.findall(r"(?<![\w-])--[a-z][\w-]*", code)

    def test_each_exists(self):
        self.assertIn("--model-dir", self.flags)
        # Those of CONTRIBUTING are other programs', those of decisions may be of another day.
        pages = [p for p in PAGES if p.name != "CONTRIBUTING.md" and p.parent.name != "decisions"]
        named = {(page, flag) for page in pages for flag in self.named(page)}
        self.assertGreater(len(named), 30)
        self.assertEqual(sorted(f"{name(page)}: {flag}" for page, flag in named if not self.exists(flag)), [])

    def test_configuration_names_each_of_the_job_s(self):
        text = (ROOT / "docs/configuration.md").read_text()
        flags = re.findall(r"^  (--[\w-]+)", helped("run") + helped("local"), re.M)
        self.assertGreater(len(flags), 40)
        self.assertEqual([f for f in flags if f != "--help" and not re.search(rf"`{f}\b", text)], [])


class OperationsTest(unittest.TestCase):
    PAGE = ROOT / "docs/operations.md"

    def test_its_errors_are_the_program_s(self):
        """What stands between dots and colons in each line is text of the source."""
        folders = ("bench", "chief", "cli", "common", "doctor", "jobs", "ps_server", "runtime", "worker")
        source = "".join(p.read_text() for folder in folders for p in sorted((ROOT / folder).rglob("*.cc")))
        texts = " ".join(re.findall(r'"((?:[^"\\\n]|\\.)*)"', re.sub(r'"\s*\n\s*"', "", source)))
        rows = re.findall(r"^\| [\d, W]+ \| (`.*`) \| ", self.PAGE.read_text().partition("## Common errors")[2], re.M)
        lines = [line for row in rows for line in re.findall(r"`([^`]+)`", row)]
        self.assertGreater(len(lines), 25)
        parts = [part.strip() for line in lines for part in re.split(r"\.\.\.|: ", line) if len(part.strip()) > 4]
        self.assertEqual([part for part in parts if part not in texts], [])

    def test_its_job_file_and_clusters_are_whole(self):
        clusters = re.findall(r"""TF_CONFIG='(\{"cluster": \{.*?\}\})'""", self.PAGE.read_text(), re.S)
        self.assertEqual(len(clusters), 1)
        self.assertEqual(json.loads(clusters[0])["task"]["type"], "worker")


if __name__ == "__main__":
    unittest.main(verbosity=2)
