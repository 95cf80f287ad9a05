#!/usr/bin/env python3
"""Checks that what lies under a folder named logic/ does no I/O and knows no time of its own.

usage: check_logic.py SOURCE_ROOT STAMP
Follows the project's own includes from every file under a logic/ folder; none of what is reached
may include gRPC, UCX, oneDNN, threads, locks or clocks. (Abseil's time *types* are allowed.)
"""
import pathlib
import re
import sys

BANNED = re.compile(
    r"^(grpc.*|ucp/.*|uct/.*|ucs/.*|infiniband/.*|oneapi/.*|thread|mutex|shared_mutex|condition_variable|future"
    r"|semaphore|latch|barrier|stop_token|chrono|ctime|time\.h|sys/.*|unistd\.h|fcntl\.h|pthread\.h|fstream|iostream"
    r"|random|absl/synchronization/.*|absl/time/clock\.h|spdlog/.*)$")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)


def main(root, stamp):
    root = pathlib.Path(root)
    queue = [f for top in ("ps_server", "worker", "chief", "common") for f in (root / top).rglob("*")
             if "logic" in f.parts and f.suffix in (".h", ".cc")]
    if not queue:
        sys.exit("no file under a logic/ folder: this check looks in the wrong place")
    seen, wrong = set(queue), []
    while queue:
        file = queue.pop()
        for _, name in INCLUDE.findall(file.read_text()):
            if BANNED.match(name):
                wrong.append(f"{file.relative_to(root)} includes {name}")
            for own in (root / name, root / "include" / name):
                if own.is_file() and own not in seen:
                    seen.add(own)
                    queue.append(own)
    if wrong:
        sys.exit("logic/ must stay apart from I/O, threads and clocks:\n  " + "\n  ".join(sorted(wrong)))
    pathlib.Path(stamp).write_text(f"{len(seen)} files\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
