#!/usr/bin/env python3
"""Counts what `meson test` ran in the given build folders: `N passed, N failed, N skipped`.

A GoogleTest program counts by its cases, any other test as one. Skipped cases are named, with
their reasons.
"""
import json
import pathlib
import re
import sys


def gtest_counts(output):
    """(passed, failed, [skipped names]) of a GoogleTest run, or None."""
    ran = re.search(r"^\[==========\] (\d+) tests? from \d+ test suites? ran", output, re.M)
    if not ran:
        return None
    passed = re.search(r"^\[  PASSED  \] (\d+) test", output, re.M)
    failed = re.search(r"^\[  FAILED  \] (\d+) test", output, re.M)
    skipped = re.findall(r"^\[  SKIPPED \] (\S+\.\S+) \(\d+ ms\)$", output, re.M)
    return int(passed.group(1)) if passed else 0, int(failed.group(1)) if failed else 0, skipped


def main(folders):
    passed = failed = 0
    skipped = []
    for folder in folders:
        log = pathlib.Path(folder) / "meson-logs/testlog.json"
        if not log.exists():
            print(f"{folder}: no test ran")
            failed += 1
            continue
        for line in log.read_text(errors="replace").splitlines():
            test = json.loads(line)
            counts = gtest_counts(test.get("stdout") or "")
            if counts:
                passed += counts[0]
                failed += counts[1]
                skipped += [f"{folder}: {name}" for name in counts[2]]
                if test["result"] not in ("OK", "SKIP") and counts[1] == 0:
                    failed += 1  # it crashed, or a sanitizer spoke, after its cases
            elif test["result"] == "OK":
                passed += 1
            elif test["result"] == "SKIP":
                skipped.append(f"{folder}: {test['name']}")
            else:
                failed += 1
    for name in skipped:
        print(f"skipped: {name}")
    print(f"{passed} passed, {failed} failed, {len(skipped)} skipped")
    return 0 if failed == 0 and passed > 0 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
