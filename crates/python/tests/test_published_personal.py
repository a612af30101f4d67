"""Personal models of `meshfold.methods`: masks, private layers and tuned models, each against a transcription in double precision."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest
from test_published import RATE, close
from test_published_others import all_stepped, built_in, like, run_of, traffic
from transcribed import CLIENTS, Array, experiment, first_models, gradient, mean_over, ring, transcription, unpacked

import meshfold as mf
import meshfold.methods

ALL = range(CLIENTS)
#: The bias of a logistic regression is its last row: private or not.
BIAS = np.zeros((7, 3))
BIAS[6] = 1
#: Who sends to whom: a cycle with two ways that are shorter, so that clients receive from more or fewer than they send to.
ARCS = [(i, (i + 1) % CLIENTS) for i in ALL] + [(0, 4), (6, 2)]


def unit(vector: Array) -> Array:
    return np.asarray(vector / np.linalg.norm(vector))


def private_stepped(model: Array, client: int, moving: Array, steps: int, momentum: float = 0.0, rho: float = 0.0) -> Array:
    """A model after steps on the parameters that move; with `rho`, by gradients at the worst models near by."""
    velocity = np.zeros_like(model)
    for _ in range(steps):
        slope = moving * gradient(model, client)
        if rho > 0:
            slope = moving * gradient(model + rho * unit(slope), client)
        velocity = momentum * velocity + slope
        model = model - RATE * velocity
    return model


@pytest.mark.parametrize(("private", "own"), [(["dense0.bias"], BIAS), (["dense0.weight"], 1 - BIAS)])
def test_dfed_salt(private: list[str], own: Array) -> None:
    def step(x: Array, number: int) -> Array:
        h = np.array([private_stepped(x[i], i, own, 3, 0.5) for i in ALL])
        h = np.array([private_stepped(h[i], i, 1 - own, 2, 0.5, rho=0.3) for i in ALL])
        return np.array([own * h[i] + (1 - own) * mean_over(ring(i), h) for i in ALL])

    run = run_of("dfed_salt", private=private, private_steps=3, rho=0.3, momentum=0.5, local={"steps": 2})
    close(unpacked(run.models()), transcription(step))
    assert traffic(run)[1] == 7 * 16 * 4 * int((1 - own).sum())


@pytest.mark.parametrize("nesterov", [False, True])
def test_dfed_salt_without_a_radius_is_dfed_alt(nesterov: bool) -> None:
    keys: dict[str, Any] = {"private": ["dense0.bias"], "momentum": 0.9, "nesterov": nesterov, "local": {"steps": 3}, "batch_size": 4}
    found, wanted = run_of("dfed_salt", rho=0, **keys), run_of("dfed_alt", **keys)
    like(found, wanted)
    assert traffic(found) == traffic(wanted)


def pushed(links: list[tuple[int, int]]) -> Array:
    """Shares by which clients push: as much to each receiver as each keeps."""
    shares = np.eye(CLIENTS)
    for sender, receiver in links:
        shares[receiver, sender] = 1
    return np.asarray(shares / shares.sum(axis=0))


@pytest.mark.filterwarnings("ignore:transcribed. the weights do not preserve")
def test_dfedpgp() -> None:
    omega = np.ones(CLIENTS)
    shares = pushed(ARCS)

    def step(x: Array, number: int) -> Array:
        nonlocal omega
        v = np.array([private_stepped(x[i], i, BIAS, 3, 0.5) for i in ALL])
        z = np.array([private_stepped(v[i], i, 1 - BIAS, 2, 0.5) for i in ALL])
        u = np.array([omega[i] * x[i] + z[i] - v[i] for i in ALL])
        u = np.einsum("ij,jab->iab", shares, u)
        omega = shares @ omega
        return np.array([BIAS * v[i] + (1 - BIAS) * u[i] / omega[i] for i in ALL])

    overlay = mf.overlay(ARCS, directed=True)
    run = run_of("dfedpgp", private=["dense0.bias"], private_steps=3, momentum=0.5, local={"steps": 2}, topology=overlay)
    close(unpacked(run.models()), transcription(step))
    assert np.ptp(omega) > 0.1
    assert traffic(run) == (7 * len(ARCS), 7 * len(ARCS) * 4 * 18)


@pytest.mark.filterwarnings("ignore:transcribed. the weights do not preserve")
def test_dfedpgp_that_shares_all_is_push_sum() -> None:
    overlay = mf.overlay(ARCS, directed=True)
    found = run_of("dfedpgp", private=[], topology=overlay, local={"steps": 2})
    wanted = built_in("push_sum", topology=overlay, local={"steps": 2})
    like(found, wanted)
    assert traffic(found) == traffic(wanted)


def test_dfedpgp_on_a_ring_is_dfed_alt() -> None:
    keys: dict[str, Any] = {"private": ["dense0.bias"], "momentum": 0.9, "local": {"steps": 3}}
    like(run_of("dfedpgp", **keys), run_of("dfed_alt", **keys))


@pytest.mark.parametrize("tuning_steps", [0, 4])
def test_fine_tune(tuning_steps: int) -> None:
    """Only the last round has a record: the models before it are those of DFedAvg."""
    shared = first_models()

    def step(x: Array, number: int) -> Array:
        shared[:] = [mean_over(ring(i), all_stepped(shared)) for i in ALL]
        tuned = shared.copy()
        for _ in range(tuning_steps if number == 7 else 0):
            tuned = all_stepped(tuned)
        return tuned

    run = run_of("fine_tune", tuning_steps=tuning_steps)
    close(unpacked(run.models()), transcription(step))
    assert traffic(run) == (7 * 16, 7 * 16 * 84)


def test_tuned_models_are_not_kept() -> None:
    """However often models are judged, the shared ones go on as if they were not, and tuning counts nowhere."""
    keys: dict[str, Any] = {"momentum": 0.9, "local": {"steps": 3}, "batch_size": 3}
    ends = []
    for every in (1, 7):
        base = {**experiment("fine_tune", tuning_steps=2, **keys), "seed": 1, "evaluate": {"every": every}}
        (run,) = mf.run(base, progress=False)
        last = run.metrics().to_polars()[-1]
        ends.append((run.models().numpy(), last["local_steps"].item(), last["train_loss"].item() > 0))
    assert (ends[0][0] == ends[1][0]).all()
    assert ends[0][1:] == ends[1][1:] == (7 * 3 * CLIENTS, True)


def dispfl(density: float, prune: float, steps: int, sizes: list[int], rounds: int = 7) -> Array:
    """DisPFL for the weights of a logistic regression; `sizes` gets the parameters in all masks of each round."""
    generator = np.random.default_rng([1, 0])
    masks = np.ones((CLIENTS, 7, 3))
    for i in ALL:
        part = np.zeros(18)
        part[generator.choice(18, round(density * 18), replace=False)] = 1
        masks[i, :6] = part.reshape(6, 3)
    x = first_models() * masks
    for number in range(1, rounds + 1):
        sizes.append(int(masks.sum()))
        means = np.empty_like(x)
        for i in ALL:
            total, having = np.zeros((7, 3)), np.zeros((7, 3))
            for j in ring(i):
                total += x[j]
                having += masks[j]
            means[i] = masks[i] * total / np.maximum(having, 1)
        x = means
        for i in ALL:
            for _ in range(steps):
                x[i] = x[i] - RATE * masks[i] * gradient(x[i], i)
            slope = gradient(x[i], i)
            share = prune * (1 + math.cos(math.pi * number / rounds)) / 2
            weights, mask = x[i][:6].ravel(), masks[i][:6].ravel()
            inside = [place for place in range(18) if mask[place]]
            outside = [place for place in range(18) if not mask[place]]
            changed = min(math.ceil(share * len(inside)), len(outside))
            for place in sorted(inside, key=lambda place: abs(weights[place]))[:changed]:
                mask[place] = 0
            for place in sorted(outside, key=lambda place: -abs(slope[:6].ravel()[place]))[:changed]:
                mask[place] = 1
            masks[i][:6] = mask.reshape(6, 3)
            x[i] = x[i] * masks[i]
    return x


@pytest.mark.parametrize(("density", "prune", "steps"), [(0.5, 0.5, 1), (0.3, 0.4, 3), (0.8, 1.0, 2), (0.5, 0.0, 2)])
@pytest.mark.parametrize("layers", ["erk", "uniform"])
def test_dispfl(density: float, prune: float, steps: int, layers: str) -> None:
    """A logistic regression has one layer with a mask, so that both kinds of density are the same."""
    run = run_of("dispfl", density=density, prune=prune, local={"steps": steps}, layers=layers)
    sizes: list[int] = []
    wanted = dispfl(density, prune, steps, sizes)
    found = unpacked(run.models())
    close(found, wanted)
    assert ((found == 0) == (wanted == 0)).all() and (found == 0).any()
    # Two neighbours get what is in the mask.
    assert traffic(run) == (7 * 16, sum(2 * 4 * size for size in sizes))


def test_dispfl_with_whole_masks_is_dfedavg_that_averages_first() -> None:
    keys: dict[str, Any] = {"momentum": 0.9, "local": {"steps": 3}}
    models = unpacked(run_of("dispfl", density=1, **keys).models())
    mixed = np.array([mean_over(ring(i), models) for i in ALL])
    close(mixed, unpacked(built_in("dfedavgm", **keys).models()))


def test_masks_have_erdos_renyi_kernels() -> None:
    """Each layer has parameters in proportion to inputs plus outputs, and those that would have more than all have all."""
    base = {**experiment("dispfl", prune=0, density=0.5, rounds=1), "model": {"mlp": {"hidden": [40]}}}
    (run,) = mf.run(base, progress=False)
    layers = run.models().by_layer()
    held = {name: {int((row != 0).sum()) for row in layer} for name, layer in layers.items() if name.endswith("weight")}
    # 6 x 40 and 40 x 3: 180 of 360, as 46 to 43.
    assert held == {"dense0.weight": {round(180 * 46 / 89)}, "dense1.weight": {round(180 * 43 / 89)}}
    # With 300 of 360 the second would have more than its 120.
    base["algorithm"]["own"]["density"] = 300 / 360
    (run,) = mf.run(base, progress=False)
    layers = run.models().by_layer()
    assert {int((row != 0).sum()) for row in layers["dense1.weight"]} == {120}
    assert {int((row != 0).sum()) for row in layers["dense0.weight"]} == {180}
    base["algorithm"]["own"] |= {"layers": "uniform", "density": 0.25}
    (run,) = mf.run(base, progress=False)
    assert traffic(run)[1] == 16 * 4 * (60 + 30 + 40 + 3)


@pytest.mark.parametrize(
    ("name", "keys", "words"),
    [
        ("dfed_salt", {"rho": -1}, "rho: found the number -1, needed a number of at least 0"),
        ("dfed_salt", {"private_steps": 0}, "private_steps: found the number 0, needed a whole number of at least 1"),
        ("dfed_salt", {"private": "first"}, "needed a list of names of layers, or `last`"),
        ("dfedpgp", {"private_steps": 0}, "private_steps: found the number 0"),
        ("dfedpgp", {"private": "first"}, "needed a list of names of layers, or `last`"),
        ("fine_tune", {"tuning_steps": -1}, "tuning_steps: found the number -1"),
        ("dispfl", {"density": 0}, "density: found the number 0, needed a number above 0 and at most 1"),
        ("dispfl", {"prune": 2}, "prune: found the number 2, needed a number from 0 to 1"),
        ("dispfl", {"layers": "random"}, "layers: found the text \"random\", needed one of erk, uniform"),
    ],
)
def test_keys_that_cannot_work_are_refused(name: str, keys: dict[str, Any], words: str) -> None:
    with pytest.raises(mf.ConfigError, match=words):
        mf.run(experiment(name, **keys), progress=False)


@pytest.mark.parametrize("name", ["dfed_alt", "dfed_salt", "dfedpgp"])
def test_a_run_warns_if_no_layer_is_shared(name: str) -> None:
    with pytest.warns(mf.MeshfoldWarning, match=f"private: the model has one layer, the last, so that clients of {name} exchange nothing"):
        (run,) = mf.run(experiment(name, rounds=1), progress=False)
    assert run.metrics().to_polars()["bytes_total"][-1] == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error", mf.MeshfoldWarning)
        mf.run(experiment(name, rounds=1, private=["dense0.bias"]), progress=False)


def test_ditto_warns_of_personal_models_that_are_never_trained() -> None:
    with pytest.warns(mf.MeshfoldWarning, match="personal_steps: with 0, ditto never trains its personal models"):
        mf.plan(experiment("ditto", personal_steps=0))
