"""DP-D-SGD against a transcription, and its account of privacy against that of another library."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from test_published import RATE, close
from test_published_others import SEED, built_in, packed, run_of
from transcribed import CLIENTS, SHARDS, Array, example_gradients, experiment, mean_over, ring, transcription, unpacked

import meshfold as mf
from meshfold.methods._privacy import divergences, epsilons

EXAMPLES = len(SHARDS[0])


def test_each_example_is_clipped_and_each_step_has_noise() -> None:
    def step(x: Array, number: int) -> Array:
        generator = np.random.default_rng([SEED, number])
        h = x.copy()
        for _ in range(2):
            noise = generator.standard_normal((CLIENTS, 21), dtype=np.float32).astype(float)
            for i in range(CLIENTS):
                slopes = example_gradients(h[i], i)
                norms = np.sqrt((slopes**2).sum(axis=(1, 2)))
                total = (slopes * np.minimum(1, 0.5 / norms)[:, None, None]).sum(axis=0)
                h[i] -= RATE * (total + 0.7 * 0.5 * packed(noise[i])) / EXAMPLES
        return np.array([mean_over(ring(i), h) for i in range(CLIENTS)])

    run = run_of("dp_dsgd", batch_size=1, lot=EXAMPLES, norm=0.5, noise=0.7, local={"steps": 2})
    close(unpacked(run.models()), transcription(step))


def test_without_noise_and_with_a_large_norm_it_is_dfedavg() -> None:
    keys: dict[str, Any] = {"local": {"steps": 3}}
    found = run_of("dp_dsgd", batch_size=1, lot=EXAMPLES, norm=1e6, noise=0, **keys)
    close(unpacked(found.models()), unpacked(built_in("dfedavg", **keys).models()))
    assert "own.epsilon" not in found.metrics().to_polars().columns


def test_the_privacy_spent_is_that_of_all_steps_so_far() -> None:
    run = run_of("dp_dsgd", batch_size=1, lot=5, noise=1.5, delta=1e-3, local={"steps": 2})
    spent = run.metrics().to_polars()["own.epsilon"].to_list()[1:]
    share = divergences(np.array([5 / EXAMPLES]), 1.5)
    assert spent == [pytest.approx(epsilons(share, np.array([2.0 * number]), 1e-3)[0]) for number in range(1, 8)]


# Those of Google's library dp-accounting 0.6 (RdpAccountant), which also tries orders that are not whole.
@pytest.mark.parametrize(
    ("share", "steps", "noise", "delta", "wanted"),
    [
        (256 / 60000, 14100, 1.1, 1e-5, 2.60034),
        (0.1, 500, 1.0, 1e-5, 18.15914),
        (0.25, 100, 2.0, 1e-6, 7.79983),
        (1.0, 10, 4.0, 1e-5, 3.61710),
        (0.01, 1000, 0.6, 1e-5, 8.68040),
        (20 / 600, 1000, 1.5, 1e-3, 2.75865),
    ],
)
def test_the_account_is_that_of_other_libraries(share: float, steps: float, noise: float, delta: float, wanted: float) -> None:
    (found,) = epsilons(divergences(np.array([share]), noise), np.array([steps]), delta)
    assert wanted - 1e-5 <= found <= 1.06 * wanted


def test_who_does_nothing_spends_nothing() -> None:
    bounds = divergences(np.array([0.5, 0.5]), 1.0)
    assert epsilons(bounds, np.array([0.0, 1.0]), 1e-5)[0] == 0
    assert np.isinf(epsilons(divergences(np.array([0.5]), 0.0), np.array([1.0]), 1e-5)).all()


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"lot": 0}, "lot: found the number 0"),
        ({"norm": 0}, "norm: found the number 0"),
        ({"noise": -1}, "noise: found the number -1"),
        ({"delta": 1}, "delta: found the number 1"),
    ],
)
def test_keys_that_cannot_work_are_refused(keys: dict[str, Any], words: str) -> None:
    with pytest.raises(mf.ConfigError, match=words):
        mf.run(experiment("dp_dsgd", batch_size=1, **keys), progress=False)


def test_common_keys_that_do_not_fit_are_named() -> None:
    with pytest.raises(mf.RunFailed, match="batch_size: dp_dsgd takes the gradient of each example"):
        mf.run(experiment("dp_dsgd"), progress=False)
    with pytest.raises(mf.RunFailed, match="weight_decay: dp_dsgd has none"):
        mf.run(experiment("dp_dsgd", batch_size=1, weight_decay=0.1), progress=False)
