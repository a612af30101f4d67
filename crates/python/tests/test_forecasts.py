"""What plans expect of published methods, beside what runs send."""

from __future__ import annotations

from typing import Any

import pytest

import meshfold as mf
import meshfold.methods

Experiment = dict[str, Any]

ROUNDS = 12


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("beer", {}),
        ("choco_sgd", {}),
        ("choco_sgd", {"compression": "qsgd", "bits": 6}),
        ("choco_sgd", {"compression": "none"}),
        ("deep_squeeze", {"keep": 0.3}),
        ("dfedsam", {"local": {"steps": 3}, "gossip_steps": 2}),
        ("dsgt_hb", {}),
        ("gt_hsgd", {}),
        ("k_gt", {"local": {"steps": 2}}),
        ("lead", {}),
        ("momentum_tracking", {}),
        ("muffliato", {"gossips": 3}),
        ("push_pull", {}),
        ("skip_train", {"local": {"steps": 4}, "training": 2, "only_mixing": 2}),
        ("extra", {}),
    ],
)
def test_a_plan_expects_what_a_run_takes(experiment: Experiment, name: str, keys: dict[str, Any]) -> None:
    training = {"batch_size": 20, "learning_rate": 0.01, "local": {"steps": 1}}
    algorithm = {"own": {"name": name, **training, **keys}}
    base = {**experiment, "algorithm": algorithm, "sweep": None, "rounds": ROUNDS, "evaluate": {"every": ROUNDS}}
    (planned,) = mf.plan(base).to_polars().to_dicts()
    (run,) = mf.run(base, progress=False)
    last = run.metrics().to_polars().row(-1, named=True)
    # The first round may lack what later ones have, or have more.
    rounding = 1.5 / ROUNDS
    assert last["bytes_total"] / ROUNDS == pytest.approx(planned["bytes_per_round"], rel=rounding)
    assert last["local_steps"] / ROUNDS == pytest.approx(planned["local_steps_per_round"], rel=rounding)
