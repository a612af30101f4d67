"""Methods of `meshfold.methods` with exact means, slow momentum or Adam, each against a transcription in double precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from test_published import ALL, RATE, close, gossip, gradients, zeros
from test_published_others import built_in, like, run_of, traffic
from transcribed import CLIENTS, Array, experiment, first_models, gradient, last_models, transcription, unpacked

import meshfold as mf
import meshfold.methods

#: Parameters of a model.
SIZE = 21


def averaged(models: Array) -> Array:
    """Every model replaced by the mean of all."""
    return np.repeat(models.mean(axis=0, keepdims=True), CLIENTS, axis=0)


def trained(models: Array, steps: int, rate: float = RATE) -> Array:
    for _ in range(steps):
        models = models - rate * gradients(models)
    return models


def test_gossip_pga() -> None:
    def step(x: Array, number: int) -> Array:
        h = trained(x, 2)
        return averaged(h) if number % 3 == 0 else gossip(h)

    run = run_of("gossip_pga", period=3, local={"steps": 2})
    close(unpacked(run.models()), transcription(step))
    # Five rounds of gossip, and two all-reduces of pieces of 3 parameters.
    assert traffic(run) == (5 * 16 + 2 * 8, 5 * 16 * 4 * SIZE + 2 * 8 * 14 * 4 * 3)


def test_gossip_pga_that_never_averages_is_dfedavg() -> None:
    keys: dict[str, Any] = {"momentum": 0.9, "local": {"steps": 3}}
    assert (run_of("gossip_pga", period=8, **keys).models().numpy() == built_in("dfedavgm", **keys).models().numpy()).all()


def test_gossip_pga_that_always_averages_is_the_complete_overlay() -> None:
    like(run_of("gossip_pga", period=1, momentum=0.9), built_in("dfedavgm", "complete", local={"epochs": 1}, momentum=0.9))


def test_the_exact_mean_is_over_those_that_take_part() -> None:
    """Two clients are gone from the first round on."""

    def step(x: Array, number: int) -> Array:
        x = x.copy()
        x[2:] = trained(x, 1)[2:].mean(axis=0)
        return x

    run = run_of("gossip_pga", period=1, failures=[{"clients": {"list": [0, 1]}}])
    close(unpacked(run.models()), transcription(step))
    # Six clients send 10 pieces of 4 parameters.
    assert traffic(run) == (7 * 6, 7 * 6 * 10 * 4 * 4)


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("period", [1, 3])
def test_slow_mo(exact: bool, period: int) -> None:
    """The rate falls in the course of the second slow step, which goes by the rate before that."""
    slow, momentum, alpha, beta = first_models(), zeros(), 0.8, 0.6
    rates = [0.2, 0.2, 0.2, 0.2, 0.1, 0.1, 0.1]

    def step(x: Array, number: int) -> Array:
        nonlocal slow, momentum
        h = trained(x, 2, rates[number - 1])
        is_slow = number % period == 0
        x = averaged(h) if is_slow and exact else gossip(h)
        if is_slow:
            rate = rates[number - period]
            momentum = beta * momentum + (slow - x) / rate
            slow = slow - alpha * rate * momentum
            x = slow
        return x

    schedule = {"milestones": {"initial": 0.2, "factor": 0.5, "at": [4]}}
    run = run_of("slow_mo", alpha=alpha, beta=beta, period=period, exact=exact, local={"steps": 2}, learning_rate=schedule)
    close(unpacked(run.models()), transcription(step))
    reduced = 7 // period if exact else 0
    assert traffic(run)[0] == (7 - reduced) * 16 + reduced * 8


def test_slow_mo_without_momentum_is_dfedavg() -> None:
    keys: dict[str, Any] = {"momentum": 0.9, "local": {"steps": 3}}
    like(run_of("slow_mo", beta=0, exact=False, **keys), built_in("dfedavgm", **keys))


def test_slow_mo_waits_for_a_client_that_is_absent() -> None:
    """Client 0 is absent in round 2, whose slow step it makes up for in round 4."""
    slow, momentum = first_models(), zeros()

    def step(x: Array, number: int) -> Array:
        there = np.array([number != 2, *[True] * 7])
        h = np.where(there[:, None, None], trained(x, 1), x)
        weights = (np.abs(np.subtract.outer(np.arange(8), np.arange(8))) % 6 == 1) * np.outer(there, there) / 3.0
        weights += np.diag(1 - weights.sum(axis=1))
        x = np.einsum("ij,jfc->ifc", weights, h)
        if number % 2 == 0:
            momentum[there] = 0.7 * momentum[there] + (slow[there] - x[there]) / RATE
            slow[there] = slow[there] - RATE * momentum[there]
            x[there] = slow[there]
        return x

    failures = [{"clients": {"list": [0]}, "from_round": 2, "until_round": 3}]
    close(last_models("slow_mo", period=2, exact=False, failures=failures), transcription(step))


@pytest.mark.parametrize("corrected", [False, True])
def test_d_adam(corrected: bool) -> None:
    first, second, beta1, beta2, epsilon, rate = zeros(), zeros(), 0.8, 0.95, 1e-3, 0.05
    count = 0

    def step(x: Array, number: int) -> Array:
        nonlocal first, second, count
        x = x.copy()
        for _ in range(3):
            count += 1
            for i in ALL:
                g = gradient(x[i], i)
                first[i] = beta1 * first[i] + (1 - beta1) * g
                second[i] = beta2 * second[i] + (1 - beta2) * g * g
                m, v = (first[i] / (1 - beta1**count), second[i] / (1 - beta2**count)) if corrected else (first[i], second[i])
                x[i] -= rate * m / (np.sqrt(v) + epsilon)
        return gossip(x)

    keys: dict[str, Any] = {"beta1": beta1, "beta2": beta2, "epsilon": epsilon, "bias_correction": corrected}
    close(last_models("d_adam", learning_rate=rate, local={"steps": 3}, **keys), transcription(step))


@pytest.mark.parametrize(
    ("name", "keys", "what"),
    [
        ("gossip_pga", {"period": 0}, "period: found the number 0"),
        ("slow_mo", {"period": 0}, "period: found the number 0"),
        ("slow_mo", {"alpha": 0}, "alpha: found the number 0"),
        ("slow_mo", {"beta": 1}, "beta: found the number 1"),
        ("d_adam", {"beta1": 1}, "beta1: found the number 1"),
        ("d_adam", {"beta2": -0.1}, "beta2: found the number -0.1"),
        ("d_adam", {"epsilon": 0}, "epsilon: found the number 0"),
    ],
)
def test_keys_out_of_range(name: str, keys: dict[str, Any], what: str) -> None:
    with pytest.raises(mf.MeshfoldError, match=what):
        mf.plan(experiment(name, **keys))
