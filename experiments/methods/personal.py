"""Personal models: each method at the learning rate that is best for it, on two partitions of unlike clients.

    python experiments/methods/personal.py [FOLDER]

The results go to FOLDER (`runs` if absent). Finished runs are skipped, so that the script can be interrupted. Rates are chosen under a seed
of their own, whose partition, overlay and local test sets are others than those of the seeds that are reported.
"""

import statistics
import sys
from typing import Any

import numpy as np

import meshfold as mf

TASK: dict[str, Any] = {
    "dataset": {"glyphs": {"train": 3000, "test": 1000}},
    "model": {"mlp": {"hidden": [32]}},
    "rounds": 40,
    "evaluate": {"every": 40, "local_test": 0.2},
}
PARTITIONS: dict[str, Any] = {
    "dirichlet": {"dirichlet": {"clients": 20, "alpha": 0.3}},
    "two labels": {"classes": {"clients": 20, "per_client": 2}},
}
RATES = [0.02, 0.05, 0.1, 0.2, 0.5]
CHOICE, SEEDS = 100, [1, 2, 3]
OVERLAY = {"regular": {"degree": 4}}

# Five local steps in a round; methods with two kinds of steps make five of each.
METHODS: dict[str, dict[str, Any]] = {
    "alone": {},
    "dfedavg": {},
    "fine_tune": {"tuning_steps": 20},
    "ditto": {"pull": 0.5},
    "dfed_alt": {"private_steps": 5},
    "dfed_salt": {"private_steps": 5, "rho": 0.05},
    "dfedpgp": {"private_steps": 5},
    "dispfl": {"density": 0.5},
    "pens": {"search": 15, "sampled": 5, "best": 2},
}
BUILT_IN = {"alone", "dfedavg"}
NO_OVERLAY = {"alone", "pens"}
#: The 97.5 % quantile of Student's t with two degrees of freedom.
STUDENT = 4.303


def algorithm(name: str, rate: float) -> dict[str, Any]:
    keys = {"batch_size": 20, "learning_rate": rate, "local": {"steps": 5}, **METHODS[name]}
    return {name: keys} if name in BUILT_IN else {"own": {"name": name, **keys}}


def receivers(round: int, nodes: int, generator: np.random.Generator) -> list[tuple[int, int]]:
    """Each client sends to four others, drawn anew in each round: the overlay of DFedPGP, which pushes over directed links."""
    hops = [generator.choice(np.arange(1, nodes), 4, replace=False) for _ in range(nodes)]
    return [(client, (client + int(hop)) % nodes) for client in range(nodes) for hop in hops[client]]


def last_record(name: str, partition: str, rate: float, seed: int) -> dict[str, Any] | None:
    """The last record of a run; none if it diverged."""
    experiment = {"name": "personal", **TASK, "partition": PARTITIONS[partition], "algorithm": algorithm(name, rate), "seed": seed}
    if name not in NO_OVERLAY:
        experiment["topology"] = mf.overlay(receivers, directed=True) if name == "dfedpgp" else OVERLAY
    try:
        (run,) = mf.run(experiment, results=FOLDER, progress=False)
    except mf.RunFailed:
        return None
    return dict(run.metrics().to_polars().row(-1, named=True))


def chosen(name: str, partition: str) -> float:
    """The learning rate with the best mean accuracy on local test sets under the seed of the choice."""
    records = {rate: last_record(name, partition, rate, CHOICE) for rate in RATES}
    finished = {rate: record["local_test_accuracy"] for rate, record in records.items() if record is not None}
    return max(finished, key=lambda rate: finished[rate])


def interval(values: list[float]) -> str:
    """The mean with half of its 95 % interval, in per cent."""
    return f"{100 * statistics.mean(values):.1f} ± {100 * STUDENT * statistics.stdev(values) / len(values) ** 0.5:.1f} %"


FOLDER = sys.argv[1] if len(sys.argv) > 1 else "runs"
FIGURES = ["local_test_accuracy", "local_test_accuracy.min", "test_accuracy"]
for partition in PARTITIONS:
    print(f"\n{partition}\n\n| method | rate | local test | its worst client | all labels | MB sent |\n|---|---:|---:|---:|---:|---:|")
    for name in METHODS:
        rate = chosen(name, partition)
        records = [record for seed in SEEDS if (record := last_record(name, partition, rate, seed)) is not None]
        cells = [interval([record[figure] for record in records]) for figure in FIGURES]
        sent = statistics.mean(record["bytes_total"] for record in records) / 1e6
        print(f"| `{name}` | {rate} | {' | '.join(cells)} | {sent:.0f} |", flush=True)
