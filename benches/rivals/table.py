"""The table of docs/rivals.md: D-SGD as a user would write it, in several ways, on one core.

    taskset -c 0 python benches/rivals/table.py

Runs `gossip.py` once for each way and workload, one after another, five repeats after one that does not count, and prints the table in
Markdown. That takes about four minutes. A way whose package is not installed is left out with a word. `--repeat 1 --rounds 1` tries
whether all of it works.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

import gossip
from protocol import cores

HERE = Path(__file__).parent
NAMES = {
    "meshfold": "Meshfold, a method in Python",
    "jax": "JAX {version}, `vmap`, a round compiled",
    "torch": "PyTorch {version}, a loop over clients",
    "gossipy": "gossipy {version}",
}
#: Rounds of a repeat, so that it takes about two seconds.
ROUNDS = {
    "meshfold": {"w1": 60, "w2": 4},
    "jax": {"w1": 8, "w2": 2},
    "torch": {"w1": 2, "w2": 1},
    "gossipy": {"w1": 2, "w2": 1},
}


def measured(way, case, repeat, rounds):
    """The record of one way and workload; None where it could not be measured, which is told."""
    command = [sys.executable, HERE / "gossip.py", case, "--impl", way, "--repeat", str(repeat), "--rounds", str(rounds)]
    ran = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if ran.returncode != 0:
        print(f"{way} on {case}: {ran.stderr.strip().splitlines()[-1]}", file=sys.stderr)
        return None
    record = json.loads(ran.stdout.strip().splitlines()[-1])
    print(f"{way} on {case}: {record['client_steps_per_s']}", file=sys.stderr, flush=True)
    return record


def cell(record):
    if record is None:
        return "not measured"
    steps = record["client_steps_per_s"]
    return f"{steps['median']:,.0f} ({steps['min']:,.0f}–{steps['max']:,.0f})"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=5, help="timed repeats")
    parser.add_argument("--rounds", type=int, help="rounds of each repeat")
    given = parser.parse_args()
    if cores() != 1:
        print(f"{cores()} cores: the table is meant for one, taskset -c 0", file=sys.stderr)
    rows = []
    for way, rounds in ROUNDS.items():
        records = [measured(way, case, given.repeat, given.rounds or rounds[case]) for case in ("w1", "w2")]
        if not any(records):
            continue
        version = next((record["version"] for record in records if record), "").split("+")[0]
        lines = "built in" if way == "gossipy" else gossip.lines_of(gossip.WAYS[way])
        rows.append([NAMES[way].format(version=version), lines, *map(cell, records)])
    print("| written in | lines | W1, client steps per second | W2, client steps per second |\n|---|---|---|---|")
    for row in rows:
        print(f"| {' | '.join(map(str, row))} |")


if __name__ == "__main__":
    main()
