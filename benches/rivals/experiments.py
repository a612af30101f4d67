"""One whole experiment of each simulator that people use, as it ships it, beside the same experiment in Meshfold.

    taskset -c 0,1 benches/rivals/env/bin/python benches/rivals/experiments.py --data ../shared/data

Runs the programs and files of `examples/` in turns, theirs and then ours, and prints the table of docs/rivals.md in Markdown. Time is by
the clock and of the whole process, from its start to its end: imports, reading of data, compiling and judging are in it. Memory is the
most that all processes of a side held at once, shared pages counted once. Lines are those that are neither blank nor a comment. Every
repeat has a seed of its own, from 1. A simulator that is not installed is left out with a word. `--only fedjax --repeat 1` tries one.
"""

import argparse
import ast
import ctypes
import dataclasses
import importlib.metadata
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

HERE = Path(__file__).parent
EXAMPLES = HERE / "examples"
#: Seconds from one look at the memory to the next.
LOOK = 0.1
#: Of `prctl`: what the processes of a simulator leave behind is still found below this one.
PR_SET_CHILD_SUBREAPER = 36


@dataclasses.dataclass(frozen=True)
class Experiment:
    """`distribution` is the name on PyPI; `program` and `file` stand in `examples/`."""

    simulator: str
    distribution: str
    program: str
    file: str
    title: str


EXPERIMENTS = {
    "fedjax": Experiment(
        "FedJAX", "fedjax", "fedjax_tutorial.py", "fedjax.yaml", "FedAvg, CNN, 10 of 539 writers of MNIST"
    ),
    "flower": Experiment("Flower", "flwr", "flower_quickstart.py", "flower.yaml", "FedAvg, LeNet, 10 clients, CIFAR-10"),
    "pfl": Experiment("pfl-research", "pfl", "pfl_cifar10.py", "pfl.yaml", "FedAvg, CNN, 50 of 1000 users, CIFAR-10"),
    "gossipy": Experiment("gossipy", "gossipy-dfl", "gossipy_regular.py", "gossipy.yaml", "gossip, logistic, 100 nodes"),
}


@dataclasses.dataclass
class Measured:
    seconds: float
    mebibytes: float
    accuracy: float | None


def lines_of(path):
    """Lines that are neither blank nor a comment nor documentation."""
    text, documentation = path.read_text(), set()
    if path.suffix == ".py":
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
                documentation.update(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    lines = enumerate(text.splitlines(), 1)
    return sum(1 for number, line in lines if line.split("#")[0].strip() and number not in documentation)


def below(pid):
    """The processes that descend from `pid`."""
    parents = {}
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                stat = Path(entry.path, "stat").read_text()
            except OSError:
                continue
            parents.setdefault(int(stat.rsplit(")", 1)[1].split()[1]), []).append(int(entry.name))
    found, rest = [], [pid]
    while rest:
        children = parents.get(rest.pop(), [])
        found += children
        rest += children
    return found


def proportional(pid):
    """KiB that `pid` holds, a page that several share counted in parts."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0
    return sum(int(number) for number in re.findall(r"^Pss: +(\d+)", text, re.MULTILINE))


def watched(command, environment, output):
    """Seconds of a command and the most MiB that it and its children held at once."""
    most, ended = 0, threading.Event()

    def look():
        nonlocal most
        while not ended.wait(LOOK):
            most = max(most, sum(map(proportional, below(os.getpid()))))

    watcher = threading.Thread(target=look)
    watcher.start()
    start = time.perf_counter()
    process = subprocess.Popen(command, env=environment, stdout=output, stderr=subprocess.STDOUT)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    ended.set()
    watcher.join()
    if process.returncode != 0:
        output.seek(0)
        raise RuntimeError(output.read()[-2000:])
    return seconds, max(most, usage.ru_maxrss) / 1024


def theirs(experiment, rounds, seed, environment):
    command = [sys.executable, EXAMPLES / experiment.program, "--rounds", str(rounds), "--seed", str(seed)]
    with tempfile.TemporaryFile("w+") as output:
        seconds, mebibytes = watched(command, environment, output)
        output.seek(0)
        last = next(line for line in reversed(output.read().splitlines()) if line.startswith('{"accuracy"'))
    return Measured(seconds, mebibytes, json.loads(last)["accuracy"])


def ours(meshfold, experiment, rounds, seed, environment):
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile("w+") as output:
        command = [meshfold, "run", EXAMPLES / experiment.file, "--results", folder]
        command += ["--set", f"rounds={rounds}", "--set", f"seed={seed}"]
        seconds, mebibytes = watched(command, environment, output)
        (summary,) = Path(folder).glob("*/*/summary.json")
        last = json.loads(summary.read_text())["last"]
    return Measured(seconds, mebibytes, last["test_accuracy"]["mean"])


def spread(values, form="{:.1f}"):
    """Median, least and most."""
    median, least, most = (form.format(of(values)) for of in (statistics.median, min, max))
    return f"{median} ({least}–{most})"


def row(experiment, name, lines, side, start):
    seconds = spread([one.seconds for one in side], "{:.2f}")
    memory = f"{statistics.median(one.mebibytes for one in side):,.0f}"
    accuracy = spread([100 * one.accuracy for one in side])
    return [experiment, name, seconds, f"{start:.2f}", memory, str(lines), accuracy]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="a data folder with MNIST, its writers and CIFAR-10")
    parser.add_argument("--meshfold", default=HERE.parents[1] / "target/release/meshfold", help="the program")
    parser.add_argument("--prepared", type=Path, default=HERE / "env/examples", help="where the data are laid out")
    parser.add_argument("--only", nargs="+", choices=EXPERIMENTS, default=list(EXPERIMENTS))
    parser.add_argument("--repeat", type=int, default=3, help="runs of each side")
    args = parser.parse_args()
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
    subprocess.run([sys.executable, EXAMPLES / "prepare.py", args.data, args.prepared], check=True)
    environment = os.environ | {"MESHFOLD_DATA": str(args.prepared.resolve())}
    print(
        "| experiment | program | seconds | with one round | MiB | lines | accuracy, % | |\n|---|---|---|---|---|---|---|---|"
    )
    for key in args.only:
        experiment = EXPERIMENTS[key]
        try:
            version = importlib.metadata.version(experiment.distribution)
        except importlib.metadata.PackageNotFoundError:
            print(f"{experiment.simulator} is left out: {experiment.distribution} is not installed", file=sys.stderr)
            continue
        file = EXAMPLES / experiment.file
        rounds = int(re.search(r"^rounds: (\d+)", file.read_text(), re.MULTILINE)[1])
        sides = {"theirs": [], "ours": []}
        for seed in range(1, args.repeat + 1):
            sides["theirs"].append(theirs(experiment, rounds, seed, environment))
            sides["ours"].append(ours(args.meshfold, experiment, rounds, seed, environment))
            print(f"{key}, seed {seed}: {sides['theirs'][-1]} {sides['ours'][-1]}", file=sys.stderr, flush=True)
        starts = [theirs(experiment, 1, 1, environment).seconds, ours(args.meshfold, experiment, 1, 1, environment).seconds]
        names = [f"{experiment.simulator} {version}", "Meshfold"]
        lines = [lines_of(EXAMPLES / experiment.program), lines_of(file)]
        title = [f"{experiment.title}, {rounds} rounds", ""]
        medians = [statistics.median(one.seconds for one in side) for side in sides.values()]
        ratios = ["", f"{medians[0] / medians[1]:.1f} ×"]
        for index, side in enumerate(sides.values()):
            cells = row(title[index], names[index], lines[index], side, starts[index]) + [ratios[index]]
            print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
