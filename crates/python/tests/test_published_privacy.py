"""DP-D-SGD against a transcription, and its account of privacy against that of another library."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from test_published import RATE, close
from test_published_others import SEED, built_in, packed, run_of
from transcribed import CLIENTS, SHARDS, Array, example_gradients, experiment, mean_over, ring, transcription, unpacked

import meshfold as mf
import meshfold.methods
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


#: Examples of a client in the data whose examples are told apart.
SEVEN = 7


def seven_each(same: bool, **keys: Any) -> dict[str, Any]:
    """An experiment whose clients have seven examples each: the same one seven times, or the seven unit vectors."""
    draws = np.random.default_rng(6)
    inputs = np.repeat(draws.standard_normal((CLIENTS, SEVEN)), SEVEN, axis=0) if same else np.tile(np.eye(SEVEN), (CLIENTS, 1))
    inputs, labels = inputs.astype(np.float32), np.repeat(np.arange(CLIENTS) % 3, SEVEN)
    data = mf.dataset(inputs, labels, inputs[::SEVEN], labels[::SEVEN], label="seven")
    shards = np.arange(CLIENTS * SEVEN).reshape(CLIENTS, SEVEN)
    return {**experiment(batch_size=1, **keys), "dataset": data, "partition": mf.partition(list(shards)), "seed": SEED}


#: Of each lot, how many examples each client took of it and how many different ones are in the sum of their gradients, `[N]` each.
LOTS: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []


class WatchedDp(mf.methods.DpDsgd):
    """DP-D-SGD that tells its lots."""

    name = "watched_dp"

    def _of_examples(self, models: mf.Stack, round: mf.Round, lots: NDArray[np.int64]) -> tuple[mf.Stack, NDArray[np.float32]]:
        total, rates = super()._of_examples(models, round, lots)
        # The gradient of a unit vector is one row of the weights.
        LOTS.append((lots, np.abs(total.by_layer()["dense0.weight"]).max(axis=2).astype(bool).sum(axis=1)))
        return total, rates


@pytest.mark.parametrize(
    ("keys", "sizes"),
    [
        ({"lot": 3, "local": {"steps": 2}}, [3, 3, 1, 3, 3, 1, 3, 3, 1, 3, 3, 1, 3, 3]),
        ({"lot": 3, "local": {"epochs": 2}}, [3, 3, 1] * 14),
        ({"lot": 7, "local": {"epochs": 1}}, [7] * 7),
    ],
)
def test_lots_go_through_the_shard_and_hold_no_example_twice(keys: dict[str, Any], sizes: list[int]) -> None:
    LOTS.clear()
    (run,) = mf.run(seven_each(same=False, name="watched_dp", norm=1e6, **keys), progress=False)
    for (taken, found), size in zip(LOTS, sizes, strict=True):
        assert taken.tolist() == found.tolist() == [size] * CLIENTS
    last = run.metrics().to_polars()[-1]
    assert last["local_steps"].item() == last["examples_seen"].item() == CLIENTS * sum(sizes)
    share = divergences(np.array([keys["lot"] / SEVEN]), 1.0)
    assert last["own.epsilon"].item() == pytest.approx(epsilons(share, np.array([float(len(sizes))]), 1e-5)[0])


@pytest.mark.parametrize("local", [{"steps": 3}, {"epochs": 2}])
@pytest.mark.parametrize(
    "keys", [{"failures": [{"clients": {"share": 0.4}, "redraw": "each_round"}]}, {"stragglers": {"share": 0.5, "policy": "partial"}}]
)
def test_so_they_do_where_clients_fail_or_fall_behind(local: dict[str, int], keys: dict[str, Any]) -> None:
    LOTS.clear()
    mf.run(seven_each(same=False, name="watched_dp", norm=1e6, lot=3, local=local, **keys), progress=False)
    assert len({tuple(taken.tolist()) for taken, _ in LOTS}) > 3
    for taken, found in LOTS:
        assert taken.tolist() == found.tolist() and taken.max() <= 3


def test_short_lots_have_the_noise_and_the_weight_of_others() -> None:
    """All examples of a client are the same here, so that their order does not matter."""
    (start,) = mf.run(seven_each(same=True, name="first_models", rounds=1), progress=False)
    base = seven_each(same=True, name="dp_dsgd", lot=3, norm=0.5, noise=0.7, local={"epochs": 1}, rounds=3)
    (run,) = mf.run(base, progress=False)
    inputs = np.random.default_rng(6).standard_normal((CLIENTS, SEVEN)).astype(np.float32).astype(float)
    x = unpacked(start.models())
    for number in range(1, 4):
        generator = np.random.default_rng([SEED, number])
        for size in (3, 3, 1):
            noise = generator.standard_normal((CLIENTS, 24), dtype=np.float32).astype(float)
            for i in range(CLIENTS):
                example = np.append(inputs[i], 1)
                slopes = np.exp(example @ x[i])
                slopes /= slopes.sum()
                slopes[i % 3] -= 1
                slope = np.outer(example, slopes)
                total = size * slope * min(1, 0.5 / np.sqrt((slope**2).sum()))
                x[i] -= RATE * (total + 0.7 * 0.5 * noise[i].reshape(8, 3)) / 3
        x = np.array([mean_over(ring(i), x) for i in range(CLIENTS)])
    close(unpacked(run.models()), x)


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
    with pytest.raises(mf.ConfigError, match="batch_size: found .*, needed 1: dp_dsgd takes the gradient of each example"):
        mf.run(experiment("dp_dsgd"), progress=False)
    with pytest.raises(mf.ConfigError, match="weight_decay: found .*0.1, needed 0: dp_dsgd has none"):
        mf.run(experiment("dp_dsgd", batch_size=1, weight_decay=0.1), progress=False)
    with pytest.raises(mf.ConfigError, match="draw: found .*, needed `shuffled`: drawn with replacement, a lot may hold an example twice"):
        mf.run(experiment("dp_dsgd", batch_size=1, draw="with_replacement"), progress=False)
    with pytest.raises(mf.ConfigError, match="algorithm.own.momentum: found .*0.9, needed 0: dp_dsgd has none"):
        mf.run(experiment("dp_dsgd", batch_size=1, momentum=0.9), progress=False)
    with pytest.raises(mf.ConfigError, match="algorithm.own.clip_norm: found .*0.5, needed null: `norm` shortens") as raised:
        mf.run(experiment("dp_dsgd", batch_size=1, clip_norm=0.5), progress=False)
    assert "Traceback" not in str(raised.value) and "round 1" not in str(raised.value)


def test_a_run_warns_of_a_delta_with_which_an_example_may_be_published() -> None:
    with pytest.warns(mf.MeshfoldWarning, match=f"delta: found 0.04, and a client has {EXAMPLES} examples: with a delta of 1/{EXAMPLES} or more"):
        mf.run(experiment("dp_dsgd", batch_size=1, delta=0.04, rounds=1), progress=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error", mf.MeshfoldWarning)
        mf.run(experiment("dp_dsgd", batch_size=1, delta=0.039, rounds=1), progress=False)


def test_a_small_epsilon_is_found_at_a_high_order() -> None:
    """Without anything that leaks, the bound is that of delta alone, the smaller the higher the order."""
    (found,) = epsilons(divergences(np.array([1e-6]), 50.0), np.array([1.0]), 1e-5)
    assert 0 <= found < 1e-3


def test_lots_of_more_examples_than_a_client_has_are_refused() -> None:
    uneven = mf.partition([SHARDS[0][:5], *SHARDS[1:6], SHARDS[6][:3], SHARDS[7]])
    with pytest.raises(mf.RunFailed, match="lot: found 4, needed at most 3, the examples of client 6, which has the fewest: a lot holds no"):
        mf.run({**experiment("dp_dsgd", batch_size=1, lot=4), "partition": uneven}, progress=False)
    (run,) = mf.run({**experiment("dp_dsgd", batch_size=1, lot=3, rounds=1), "partition": uneven}, progress=False)
    spent = run.metrics().to_polars()[-1]
    # One pass each: most have 25 examples, and nine lots.
    bounds = [epsilons(divergences(np.array([3 / size]), 1.0), np.array([float(-(-size // 3))]), 1e-5)[0] for size in (5, 25, 3)]
    assert spent["own.epsilon.max"].item() == pytest.approx(max(bounds)) and spent["own.epsilon.min"].item() == pytest.approx(min(bounds))
