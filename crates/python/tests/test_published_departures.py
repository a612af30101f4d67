"""Methods with corrections reach the minimum of those that are left when a client is gone for good."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from transcribed import CLIENTS, Array, gradient, last_models

import meshfold.methods

DECAY, GONE = 0.1, 2
LEFT = [client for client in range(CLIENTS) if client != GONE]

#: Methods, with the keys by which they come close in some hundred rounds.
METHODS: dict[str, dict[str, Any]] = {
    "beer": {"compression": "none", "gamma": 1.0},
    "dsgt_hb": {"beta": 0.3},
    "gt_hsgd": {"beta": 1.0},
    "k_gt": {},
    "lead": {"compression": "none"},
    "led": {},
    "momentum_tracking": {"beta": 0.3},
    "prox_skip": {},
    "push_pull": {},
}


def slope_of_those_left(models: Array) -> float:
    """The norm of the gradient of the mean loss of those that are left, at the mean of their models."""
    mean = models[LEFT].mean(axis=0)
    return float(np.linalg.norm(np.mean([gradient(mean, client) for client in LEFT], axis=0) + DECAY * mean))


@pytest.mark.parametrize("name", METHODS)
def test_those_left_reach_their_own_minimum(name: str) -> None:
    failures = [{"clients": {"list": [GONE]}, "from_round": 30}]
    models = last_models(name, rounds=400, weight_decay=DECAY, failures=failures, **METHODS[name])
    assert slope_of_those_left(models) < 2e-4
    # Before, they were on their way to that of all.
    before = last_models(name, rounds=30, weight_decay=DECAY, **METHODS[name])
    assert slope_of_those_left(before) > 5e-3


@pytest.mark.parametrize("name", [name for name in METHODS if name not in ("beer", "lead")])
def test_a_client_that_is_back_has_missed_nothing(name: str) -> None:
    """`beer` and `lead` need the copies that it missed."""
    failures = [{"clients": {"list": [GONE]}, "from_round": 30, "until_round": 40}]
    models = last_models(name, rounds=400, weight_decay=DECAY, failures=failures, **METHODS[name])
    mean = models.mean(axis=0)
    slope = np.mean([gradient(mean, client) for client in range(CLIENTS)], axis=0) + DECAY * mean
    assert np.linalg.norm(slope) < 2e-4
