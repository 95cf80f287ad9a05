#!/usr/bin/env python3
"""Compares weir's throughput with that of training without any parameter server, on the same two cores.

    python3 tests/cluster/throughput.py --build build/release

Alternates two independent serial trainers, both at once and one pinned to each core, with `weir local --ps 2 --workers 2` pinned
to both; compares the medians. Ends with 1 below --least-ratio or --least-steps, and with 2 where it cannot measure. Not one of
the automatic tests: a machine that does anything else at the time decides the result.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

LIMIT = 300  # seconds for one run


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/release", help="a release build, with benchmarks")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=1000, help="of weir in one run; each serial trainer does half of them")
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--cores", default="0,1")
    parser.add_argument("--data-dir")
    parser.add_argument("--least-ratio", type=float, default=0.80)
    parser.add_argument("--least-steps", type=float, default=85, help="steps/s of weir")
    return parser.parse_args()


def environment():
    return {k: v for k, v in os.environ.items() if k not in ("TF_CONFIG", "WEIR_TOKEN")}


def start(command):
    return subprocess.Popen([str(c) for c in command], env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def output_of(process):
    try:
        out, err = process.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        process.kill()
        sys.exit(f"{process.args} did not end within {LIMIT} s")
    if process.returncode != 0:
        print(err[-4000:], file=sys.stderr)
        print(f"{' '.join(process.args)} ended with {process.returncode}", file=sys.stderr)
        sys.exit(2)
    return out


def job_flags(args):
    flags = ["--batch-size", args.batch_size]
    return flags + (["--data-dir", args.data_dir] if args.data_dir else [])


def serial(args):
    """Examples/s of one trainer on each core, both at once."""
    program = pathlib.Path(args.build) / "bench/serial_trainer"
    trainers = [start(["taskset", "-c", core, program, "--steps", args.steps // 2, "--seed", core, *job_flags(args)])
                for core in args.cores.split(",")]
    results = [json.loads(output_of(t)) for t in trainers]
    return sum(r["examples_per_second"] for r in results)


def weir(args):
    """The summary of a run on the same cores: no evaluator, a checkpoint at the end alone."""
    program = pathlib.Path(args.build) / "cli/weir"
    with tempfile.TemporaryDirectory(prefix="weir-throughput-") as folder:
        summary = pathlib.Path(folder) / "summary.json"
        output_of(start(["taskset", "-c", args.cores, program, "local", "--ps", 2, "--workers", 2, "--max-steps", args.steps,
                         "--save-checkpoints-steps", 10 * args.steps, "--eval-steps", 1, "--model-dir", f"{folder}/model",
                         "--summary", summary, *job_flags(args)]))
        return json.loads(summary.read_text())


def main():
    args = arguments()
    cores = len(args.cores.split(","))
    print(f"# weir throughput | {cores} cores ({args.cores}) | batch {args.batch_size} | {args.steps} steps a run | load {os.getloadavg()[0]:.2f}")
    print("# round  serial_examples_per_s  weir_examples_per_s  weir_steps_per_s   load")
    rounds = []
    for n in range(args.rounds):
        alone = serial(args)
        summary = weir(args)
        rounds.append((alone, summary["examples_per_second"], summary["steps_per_second"]))
        print(f"{n + 1:7d} {alone:22.0f} {rounds[-1][1]:20.0f} {rounds[-1][2]:17.1f} {os.getloadavg()[0]:6.2f}", flush=True)
    alone, together, steps = (statistics.median(column) for column in zip(*rounds))
    ratio = together / alone
    good = ratio >= args.least_ratio and steps >= args.least_steps
    print(f"# medians: serial {alone:.0f} examples/s, weir {together:.0f} examples/s, ratio {ratio:.3f} (>= {args.least_ratio}), "
          f"{steps:.1f} steps/s (>= {args.least_steps:g})")
    print(f"# result {'OK' if good else 'FAILED'}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
