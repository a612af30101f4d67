"""Methods of `meshfold.methods` that need symmetric weights, and those that need none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from transcribed import CLIENTS, experiment, last_models

import meshfold as mf
import meshfold.methods

SYMMETRIC = ["decentlam", "extra", "lead", "led", "prox_skip"]
RING = [(node, (node + 1) % CLIENTS) for node in range(CLIENTS)]
DIRECTED = mf.overlay(RING, directed=True, label="directed ring")


@pytest.mark.parametrize("name", SYMMETRIC)
@pytest.mark.parametrize("topology", [DIRECTED, mf.overlay([*RING, (0, 3), (2, 6)], directed=True, label="more"), "one_peer"])
def test_directed_overlays_are_refused(name: str, topology: Any) -> None:
    """Without that models grow until they are infinite, at any learning rate."""
    words = f"{name} needs links that go both ways: in round 1 client 0 hears from client 7 and does not send to it.* push_pull and push_sum stand"
    with pytest.raises(mf.RunFailed, match=words):
        mf.run(experiment(name, topology=topology), progress=False)


@pytest.mark.parametrize("name", SYMMETRIC)
def test_weights_that_are_not_symmetric_are_refused(name: str) -> None:
    words = (
        f"{name} needs symmetric weights: in round 1 client 0 gives 0.125 to the model of client 1, and client 1 gives 0.5 to that of client 0.*"
        "metropolis_hastings"
    )
    with pytest.raises(mf.RunFailed, match=words):
        mf.run({**experiment(name, topology="star"), "weights": "uniform"}, progress=False)


def test_each_new_matrix_is_looked_at() -> None:
    """Uniform weights of a ring are symmetric until a client is missing."""
    absent = experiment("led", failures=[{"clients": {"list": [3]}, "from_round": 4}])
    with pytest.raises(mf.RunFailed, match="led needs symmetric weights: in round 4 client"):
        mf.run({**absent, "weights": "uniform"}, progress=False)


@pytest.mark.parametrize("name", SYMMETRIC)
@pytest.mark.parametrize("topology", ["ring", "star", "path", {"regular": {"degree": 3}}])
def test_symmetric_weights_are_taken(name: str, topology: Any) -> None:
    assert np.isfinite(last_models(name, topology=topology)).all()


def test_weights_in_single_precision_are_taken() -> None:
    matrix = np.eye(CLIENTS, dtype=np.float32) * 0.4
    for one, other in RING:
        matrix[one, other], matrix[other, one] = 0.3, 0.3 + 1e-7
    assert np.isfinite(last_models("led", topology=mf.overlay(matrix, weights=True, label="single"))).all()


@pytest.mark.parametrize("name", ["beer", "choco_sgd", "gt_hsgd", "k_gt", "momentum_tracking", "push_pull"])
def test_others_stay_finite_on_a_directed_overlay(name: str) -> None:
    assert np.abs(last_models(name, topology=DIRECTED, rounds=1000, learning_rate=0.02)).max() < 5
