"""Large runs on one machine: the most memory that they hold beside what `meshfold plan` estimates.

    python benches/large.py --meshfold PROGRAM [--only NAME ...] [--threads N]

`logistic` has 100,000 logistic models (3.2 GB a stack), `mlp` 10,000 MLPs of 159,010 parameters (6.4 GB a stack). Each takes one
local step a round, for three rounds. The first needs 7 GB, the second 14 GB: the program refuses a run that does not fit.
"""

import argparse
import json
import os
import subprocess
import tempfile
import time
from pathlib import Path

EXPERIMENT = """\
name: large
dataset: {{glyphs: {{train: {examples}, test: 20}}}}
partition: {{iid: {{clients: {clients}}}}}
topology: {{regular: {{degree: 4}}}}
model: {model}
algorithm: {{dfedavgm: {{local: {{steps: 1}}, batch_size: 2, learning_rate: 0.01, momentum: 0.9}}}}
rounds: 3
evaluate: {{every: 3, examples: 20}}
"""
RUNS = {
    "logistic": {"clients": 100_000, "examples": 200_000, "model": "logistic"},
    "mlp": {"clients": 10_000, "examples": 20_000, "model": "{mlp: {hidden: [200]}}"},
}


def planned(program, path, threads):
    """Bytes that the run holds, as its plan estimates."""
    words = [program, "plan", path, "--json", "--threads", str(threads)]
    return json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)["memory_bytes"]


def held(program, path, results, threads):
    """The most bytes that the run held, and the seconds that it took."""
    words = [program, "run", path, "--results", results, "--threads", str(threads), "--quiet", "--no-report"]
    start = time.perf_counter()
    child = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"{' '.join(map(str, words))} ended with {child.returncode}")
    return 1024 * usage.ru_maxrss, time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--meshfold", required=True, help="the program")
    parser.add_argument("--only", nargs="+", choices=list(RUNS), default=list(RUNS))
    parser.add_argument("--threads", type=int, default=2)
    asked = parser.parse_args()
    print("| run | planned, MiB | held, MiB | ratio | seconds |\n|---|---|---|---|---|")
    for name in asked.only:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "large.yaml"
            path.write_text(EXPERIMENT.format(**RUNS[name]))
            expected = planned(asked.meshfold, path, asked.threads)
            found, seconds = held(asked.meshfold, path, folder, asked.threads)
            print(
                f"| {name}, {RUNS[name]['clients']:,} clients | {expected / 2**20:,.0f} | {found / 2**20:,.0f} | "
                f"{found / expected:.2f} | {seconds:.0f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
