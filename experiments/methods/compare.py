"""Methods on one task, each at the learning rate that is best for it on validation examples.

    python experiments/methods/compare.py [FOLDER]

The results go to FOLDER (`runs` if absent). Finished runs are skipped, so that the script can be interrupted.
"""

import sys
from typing import Any

import meshfold as mf

TASK: dict[str, Any] = {
    "dataset": {"glyphs": {"train": 7000, "validation": 1000, "test": 2000}},
    "partition": {"shards": {"clients": 30}},
    "model": {"mlp": {"hidden": [64]}},
}
RATES = [0.05, 0.1, 0.2, 0.5]
SEEDS = [1, 2, 3]

# Five local steps in a round.
FIVE_STEPS: dict[str, dict[str, Any]] = {
    "alone": {},
    "dfedavg": {},
    "dfedavgm": {"momentum": 0.9},
    "decefl": {},
    "k_gt": {},
    "led": {},
    "prox_skip": {"p": 0.2},
    "dfedsam": {"rho": 0.05},
    "skip_train": {"training": 1, "only_mixing": 1},
    "choco_sgd": {"keep": 0.1, "gamma": 0.3},
    "deep_squeeze": {"keep": 0.1, "gamma": 0.1},
    "sparse_sharing": {"keep": 0.1},
}
# One step in a round, as these methods have it.
ONE_STEP: dict[str, dict[str, Any]] = {
    "dsgd": {},
    "qg_dsgdm": {"momentum": 0.9},
    "gradient_tracking": {},
    "exact_diffusion": {},
    "push_sum": {},
    "extra": {},
    "gt_hsgd": {"beta": 0.1},
    "momentum_tracking": {"beta": 0.9},
    "decentlam": {"beta": 0.9},
    "dsgt_hb": {"beta": 0.9},
    "beer": {"keep": 0.1, "gamma": 0.3},
    "lead": {},
}
# Methods that use no overlay.
NO_OVERLAY: dict[str, dict[str, Any]] = {
    "fedavg": {},
    "scaffold": {},
    "epidemic_learning": {"receivers": 3},
    "pens": {"search": 20, "sampled": 5, "best": 2},
    "teleportation": {"slots": 5},
}
BUILT_IN = {
    "alone", "dfedavg", "dfedavgm", "decefl", "dsgd", "qg_dsgdm", "gradient_tracking", "exact_diffusion", "push_sum",
    "fedavg", "scaffold",
}  # fmt: skip


def algorithms(methods: dict[str, dict[str, Any]], local: dict[str, Any]) -> list[dict[str, Any]]:
    """Each method with each learning rate."""
    entries = []
    for name, keys in methods.items():
        for rate in RATES:
            common = {"batch_size": 20, "learning_rate": rate, **local, **keys}
            entries.append({name: common} if name in BUILT_IN else {"own": {"name": name, **common}})
    return entries


def sweep(name: str, methods: dict[str, dict[str, Any]], local: dict[str, Any], rounds: int, **more: Any) -> mf.Runs:
    """Carries out a group of methods. Runs that diverge count as failed, and the others go on."""
    experiment = {
        **TASK,
        "name": name,
        "rounds": rounds,
        "evaluate": {"every": rounds // 5},
        "sweep": {"grid": {"algorithm": algorithms(methods, local), "seed": SEEDS}},
        **more,
    }
    try:
        return mf.run(experiment, results=FOLDER)
    except mf.RunFailed as failed:
        return failed.runs


FOLDER = sys.argv[1] if len(sys.argv) > 1 else "runs"
FIVE = {"local": {"steps": 5}}
OVERLAY = {"regular": {"degree": 3}}
groups = [
    sweep("methods-five-steps", FIVE_STEPS, FIVE, 100, topology=OVERLAY),
    sweep("methods-one-step", ONE_STEP, {}, 500, topology=OVERLAY),
    sweep("methods-no-overlay", NO_OVERLAY, FIVE, 100),
]
for runs in groups:
    print(runs.table("algorithm", best="learning_rate"))
