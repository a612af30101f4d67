"""The robust averages of `meshfold.methods` and the attacks on them, each against a transcription in double precision."""

from __future__ import annotations

import json
import pydoc
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from test_published import RATE, close
from transcribed import CLIENTS, Array, experiment, gradient, last_models, transcription

import meshfold as mf
import meshfold.methods
from meshfold.methods._attacks import usual_strength
from meshfold.methods._inbox import Inbox

#: An overlay of degrees 1 to 5, whose weights are unequal.
EDGES = [(0, 1), (0, 2), (0, 3), (0, 4), (0, 5), (1, 2), (1, 3), (2, 3), (2, 4), (3, 5), (4, 5), (4, 6), (5, 6), (6, 7)]
#: They are neighbours.
ATTACKERS = (1, 3)
ROBUST = ["clipped_gossip", "ios", "bridge", "coordinate_median", "krum", "balance", "rfa"]


def overlay() -> mf.Part:
    return mf.overlay(np.array([[int((min(i, j), max(i, j)) in EDGES) for j in range(CLIENTS)] for i in range(CLIENTS)]), label="unequal")


def neighbours(i: int) -> list[int]:
    return sorted({b for a, b in EDGES if a == i} | {a for a, b in EDGES if b == i})


def weight(i: int, j: int) -> float:
    """Metropolis weights."""
    if i == j:
        return 1 - sum(weight(i, k) for k in neighbours(i))
    return 1 / (1 + max(len(neighbours(i)), len(neighbours(j))))


#: The new model of a client: of its number, its own model, and what its neighbours sent.
Rule = Callable[[int, Array, dict[int, Array]], Array]
#: What the attacker j sends to the client i, from the models of all.
Attack = Callable[[int, int, Array], Array]


def robust(rule: Rule, attack: Attack = lambda i, j, h: h[j]) -> Callable[[Array, int], Array]:
    def step(x: Array, number: int) -> Array:
        h = np.array([x[i] - RATE * gradient(x[i], i) for i in range(CLIENTS)])
        received = [
            {j: attack(i, j, h) if j in ATTACKERS and i not in ATTACKERS else h[j] for j in neighbours(i)} for i in range(CLIENTS)
        ]
        return np.array([rule(i, h[i], received[i]) for i in range(CLIENTS)])

    return step


def distance(a: Array, b: Array) -> float:
    return float(np.sqrt(((a - b) ** 2).sum()))


def gossip(i: int, own: Array, received: dict[int, Array]) -> Array:
    return np.asarray(weight(i, i) * own + sum(weight(i, j) * model for j, model in received.items()))


def uniform(i: int, own: Array, received: dict[int, Array]) -> Array:
    return np.asarray((own + sum(received.values())) / (1 + len(received)))


def sign_flip(i: int, j: int, h: Array) -> Array:
    return np.asarray(-h[j])


def honest_around(i: int, h: Array) -> Array:
    return np.array([h[i], *(h[k] for k in neighbours(i) if k not in ATTACKERS)])


def robust_models(name: str, attack: str = "sign_flip", **keys: Any) -> Array:
    return last_models(name, topology=overlay(), attack=attack, attackers=list(ATTACKERS), **keys)


@pytest.mark.parametrize("tau", [0.3, "adaptive"])
def test_clipped_gossip(tau: float | str) -> None:
    def rule(i: int, own: Array, received: dict[int, Array]) -> Array:
        distances = sorted(distance(own, model) for model in received.values())
        radius = tau if isinstance(tau, float) else distances[-2] if len(distances) > 1 else distances[0]
        result = own.copy()
        for j, model in received.items():
            result += weight(i, j) * (model - own) * min(1, radius / distance(own, model))
        return result

    close(robust_models("clipped_gossip", tau=tau), transcription(robust(rule, sign_flip)))


def test_an_adaptive_radius_stands_one_attacker_and_no_two() -> None:
    """Of two messages that lie far away, the second sets the radius."""
    keys: dict[str, Any] = {"topology": "complete", "attack": "sign_flip", "strength": 1e3, "rounds": 1}
    plain = last_models("clipped_gossip", topology="complete", rounds=1, tau="none")
    far = [
        np.abs(np.delete(last_models("clipped_gossip", attackers=attackers, **keys) - plain, [2, 6], axis=0)).max()
        for attackers in ([2], [2, 6])
    ]
    assert far[0] < 1 and far[1] > 50


@pytest.mark.parametrize("assumed", [1, 2])
def test_ios(assumed: int) -> None:
    def rule(i: int, own: Array, received: dict[int, Array]) -> Array:
        trusted = {i: own, **received}
        for _ in range(min(assumed, len(received))):
            mean = sum(weight(i, j) * model for j, model in trusted.items()) / sum(weight(i, j) for j in trusted)
            del trusted[max((j for j in trusted if j != i), key=lambda j: distance(trusted[j], np.asarray(mean)))]
        return np.asarray(sum(weight(i, j) * model for j, model in trusted.items()) / sum(weight(i, j) for j in trusted))

    close(robust_models("ios", assumed=assumed), transcription(robust(rule, sign_flip)))


@pytest.mark.parametrize("assumed", [1, 2])
def test_bridge(assumed: int) -> None:
    def rule(i: int, own: Array, received: dict[int, Array]) -> Array:
        b = assumed
        while len(received) - 2 * b <= 0:
            b -= 1
        result = np.empty_like(own)
        for place in np.ndindex(own.shape):
            numbers = sorted(model[place] for model in received.values())
            kept = numbers[b : len(numbers) - b]
            result[place] = (own[place] + sum(kept)) / (1 + len(kept))
        return result

    close(robust_models("bridge", assumed=assumed), transcription(robust(rule, sign_flip)))


def test_coordinate_median() -> None:
    def rule(i: int, own: Array, received: dict[int, Array]) -> Array:
        return np.asarray(np.median([own, *received.values()], axis=0))

    close(robust_models("coordinate_median"), transcription(robust(rule, sign_flip)))


@pytest.mark.parametrize(("assumed", "best"), [(0, 1), (1, 1), (2, 1), (1, 2), (0, 9)])
def test_krum(assumed: int, best: int) -> None:
    def rule(i: int, own: Array, received: dict[int, Array]) -> Array:
        inputs = [own, *received.values()]
        scores = []
        for place, one in enumerate(inputs):
            squares = sorted(distance(one, other) ** 2 for k, other in enumerate(inputs) if k != place)
            scores.append(sum(squares[: max(1, len(inputs) - assumed - 2)]))
        chosen = sorted(range(len(inputs)), key=lambda place: scores[place])[:best]
        return np.asarray(sum(inputs[place] for place in chosen) / len(chosen))

    close(robust_models("krum", assumed=assumed, best=best), transcription(robust(rule, sign_flip)))


def geometric_median(steps: int, nu: float) -> Rule:
    def rule(i: int, own: Array, received: dict[int, Array]) -> Array:
        inputs = {i: own, **received}
        z = gossip(i, own, received)
        for _ in range(steps):
            betas = {j: weight(i, j) / max(nu, distance(z, v)) for j, v in inputs.items()}
            z = np.asarray(sum(beta * inputs[j] for j, beta in betas.items()) / sum(betas.values()))
        return z

    return rule


@pytest.mark.parametrize(("steps", "nu"), [(0, 0.1), (3, 0.1), (2, 1.5)])
def test_rfa(steps: int, nu: float) -> None:
    wanted = transcription(robust(geometric_median(steps, nu), sign_flip))
    close(robust_models("rfa", weiszfeld_steps=steps, nu=nu), wanted)


def test_rfa_without_steps_is_d_sgd() -> None:
    close(last_models("rfa", topology=overlay(), weiszfeld_steps=0), transcription(robust(gossip)))


class NearMedian(mf.Method):
    """Records how far the directions to all inputs, each with its weight, are from cancelling at RFA's result and at the mean."""

    overlay = False

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        draws = np.random.default_rng(0)
        inputs = draws.standard_normal(models.shape, dtype=np.float32)
        models.set(inputs)
        weights = draws.uniform(0.5, 1, CLIENTS)
        weights /= weights.sum()
        others = np.arange(1, CLIENTS)
        inbox = Inbox(models, models, others, np.zeros_like(others), weights[1:], np.r_[weights[:1], np.ones(CLIENTS - 1)])
        rule = meshfold.methods.Rfa()
        rule.weiszfeld_steps = 200
        for name, at in (("of_median", rule.average(inbox, round).numpy()[0]), ("of_mean", weights @ inputs)):
            directions = (inputs - at) / np.linalg.norm(inputs - at, axis=1, keepdims=True)
            round.record(name, float(np.linalg.norm(weights @ directions)))


def test_rfa_comes_near_the_geometric_median() -> None:
    """Where an input is not the median, the directions to all inputs, each with its weight, cancel at it."""
    (run,) = mf.run(experiment("near_median", topology=None, rounds=1), progress=False)
    records = run.metrics().to_polars()
    assert records["own.of_median"][-1] < 1e-5 < 0.01 < records["own.of_mean"][-1]


def test_balance() -> None:
    t = [0]
    accepted = []

    def rule(i: int, own: Array, received: dict[int, Array]) -> Array:
        radius = 0.7 * np.exp(-2 * t[0] / 7) * distance(own, 0 * own)
        near = [model for model in received.values() if distance(own, model) <= radius]
        accepted.append(len(near) / len(received))
        t[0] += i == CLIENTS - 1
        return np.asarray(0.4 * own + 0.6 * sum(near) / len(near)) if near else own

    wanted = transcription(robust(rule, sign_flip))
    assert 0 in accepted and 1 in accepted and len(set(accepted)) > 4
    close(robust_models("balance", alpha=0.4, gamma=0.7, kappa=2), wanted)


def ipm(i: int, j: int, h: Array) -> Array:
    return np.asarray(-0.1 * honest_around(i, h).mean(axis=0))


def min_max(i: int, j: int, h: Array) -> Array:
    """The largest g is sought by halving, as in the paper."""
    known = honest_around(i, h)
    allowed = max(distance(one, other) for one in known for other in known)
    return halved(known, lambda lie: max(distance(lie, one) for one in known) <= allowed)


def min_sum(i: int, j: int, h: Array) -> Array:
    known = honest_around(i, h)
    allowed = max(sum(distance(one, other) ** 2 for other in known) for one in known)
    return halved(known, lambda lie: sum(distance(lie, one) ** 2 for one in known) <= allowed)


def halved(known: Array, is_near: Callable[[Array], bool]) -> Array:
    if len(known) == 1:
        return np.asarray(known[0])
    mean, deviation = known.mean(axis=0), known.std(axis=0, ddof=1)
    low, high = 0.0, 100.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if is_near(mean - middle * deviation) else (low, middle)
    return np.asarray(mean - low * deviation)


def alie(i: int, j: int, h: Array) -> Array:
    known = honest_around(i, h)
    # Eight clients, two attackers: three honest clients must be won over.
    z = NormalDist().inv_cdf((8 - 2 - 3) / (8 - 2))
    deviation = np.sqrt(((known - known.mean(axis=0)) ** 2).sum(axis=0) / (len(known) - 1)) if len(known) > 1 else 0
    return np.asarray(known.mean(axis=0) - z * deviation)


def strong_alie(i: int, j: int, h: Array) -> Array:
    known = honest_around(i, h)
    deviation = np.sqrt(((known - known.mean(axis=0)) ** 2).sum(axis=0) / (len(known) - 1)) if len(known) > 1 else 0
    return np.asarray(known.mean(axis=0) - 2.5 * deviation)


def dissensus(i: int, j: int, h: Array) -> Array:
    away = sum(weight(i, k) * (h[k] - h[i]) for k in neighbours(i) if k not in ATTACKERS)
    return np.asarray(h[i] - 0.8 * away / sum(weight(i, k) for k in neighbours(i) if k in ATTACKERS))


@pytest.mark.parametrize(
    ("attack", "strength", "lie"),
    [
        ("none", None, lambda i, j, h: h[j]),
        ("sign_flip", None, sign_flip),
        ("sign_flip", 2.0, lambda i, j, h: -2 * h[j]),
        ("ipm", None, ipm),
        ("min_max", None, min_max),
        ("min_sum", None, min_sum),
        ("alie", None, alie),
        ("alie", 2.5, strong_alie),
        ("dissensus", 0.8, dissensus),
    ],
)
def test_attacks(attack: str, strength: float | None, lie: Attack) -> None:
    """On D-SGD without a defence, which is `clipped_gossip` with `tau: none`."""
    found = robust_models("clipped_gossip", attack=attack, strength=strength, tau="none")
    close(found, transcription(robust(gossip, lie)))


def test_flipped_updates_take_a_model_as_far_the_other_way() -> None:
    def step(x: Array, number: int) -> Array:
        h = np.array([x[i] - RATE * gradient(x[i], i) for i in range(CLIENTS)])
        lies = x - 3 * (h - x)
        sent = {(i, j): lies[j] if j in ATTACKERS and i not in ATTACKERS else h[j] for i in range(CLIENTS) for j in neighbours(i)}
        return np.array([gossip(i, h[i], {j: sent[i, j] for j in neighbours(i)}) for i in range(CLIENTS)])

    close(robust_models("clipped_gossip", attack="update_flip", strength=3, tau="none"), transcription(step))


def test_dissensus_keeps_clients_where_they_are() -> None:
    """With strength 1 an attacked client keeps h_i: the attackers undo what the honest neighbours' models do."""
    found = robust_models("clipped_gossip", attack="dissensus", strength=1, tau="none")
    attacked = {i for j in ATTACKERS for i in neighbours(j)} - set(ATTACKERS)

    def rule(i: int, own: Array, received: dict[int, Array]) -> Array:
        return own if i in attacked else gossip(i, own, received)

    close(found, transcription(robust(rule)))


def test_gaussian_messages_are_noise_of_the_deviation_that_is_asked_for() -> None:
    """An attacked client with uniform weights has 1/degree of the noise, another draw in each round, the same for all neighbours."""
    keys: dict[str, Any] = {"topology": "complete", "rounds": 1, "tau": "none", "attackers": [3]}
    plain = last_models("clipped_gossip", attack="none", **keys)
    noisy = last_models("clipped_gossip", attack="gaussian", strength=16, **keys)
    change = np.delete(noisy - plain, 3, axis=0).reshape(7, -1)
    np.testing.assert_allclose(change, change[:1].repeat(7, axis=0), atol=1e-5)
    assert 1.3 < change[0].std() < 2.7, "16 / 8, of 21 numbers"


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("clipped_gossip", {"tau": "none"}),
        ("clipped_gossip", {"tau": 1e6}),
        ("ios", {"assumed": 0}),
        ("bridge", {"assumed": 0}),
        ("krum", {"assumed": 0, "best": 3}),
        ("balance", {"gamma": 1e6, "alpha": 1 / 3}),
    ],
)
def test_without_attackers_and_defence_they_are_dsgd(name: str, keys: dict[str, Any]) -> None:
    keys = {"momentum": 0.9, "local": {"steps": 2}, **keys}
    built_in = experiment("first_models")
    built_in["algorithm"] = {"dsgd": {key: keys[key] for key in ("momentum", "local")} | {"batch_size": "full", "learning_rate": RATE}}
    (dsgd,) = mf.run(built_in, progress=False)
    (mine,) = mf.run(experiment(name, **keys), progress=False)
    np.testing.assert_allclose(mine.models().numpy(), dsgd.models().numpy(), atol=3e-6)
    theirs = dsgd.metrics().to_polars()
    found = mine.metrics().to_polars()
    assert (found["bytes_total"] == theirs["bytes_total"]).all()
    for own, other in (
        ("own.honest_accuracy", "test_accuracy"),
        ("own.honest_accuracy_worst", "test_accuracy.min"),
        ("own.honest_consensus", "consensus_distance"),
    ):
        np.testing.assert_allclose(found[own][1:].to_numpy(), found[other][1:].to_numpy(), rtol=1e-4, err_msg=own)


@pytest.mark.parametrize("name", ROBUST)
def test_a_number_of_attackers_is_drawn_by_the_seed(name: str) -> None:
    drawn = np.random.default_rng([1, 0]).choice(CLIENTS, 2, replace=False).tolist()
    keys: dict[str, Any] = {"topology": "complete", "attack": "ipm", "seed": 1}
    found, wanted = (mf.run(seeded(name, attackers=attackers, **keys), progress=False)[0] for attackers in (2, drawn))
    assert (found.models().numpy() == wanted.models().numpy()).all()
    lines = [json.loads(line) for line in (found.folder / "metrics.jsonl").read_text().splitlines()]
    assert [line["round"] for line in lines if "honest_accuracy" in line.get("own", {})] == [7]


def seeded(name: str, seed: int, **keys: Any) -> dict[str, Any]:
    return {**experiment(name, **keys), "seed": seed, "evaluate": {"every": 7}}


def test_a_robust_rule_withstands_what_averages_do_not() -> None:
    keys: dict[str, Any] = {"topology": "complete", "attack": "sign_flip", "strength": 5, "attackers": [2, 6], "rounds": 40}

    def honest(name: str, **more: Any) -> float:
        (run,) = mf.run(experiment(name, **keys, **more), progress=False)
        return float(run.metrics().to_polars()["own.honest_accuracy"][-1])

    undefended = honest("clipped_gossip", tau="none")
    for name in ROBUST[1:]:
        more = {"assumed": 2} if name in ("ios", "bridge", "krum") else {"gamma": 2.0} if name == "balance" else {}
        assert honest(name, **more) > undefended + 0.1, name


@pytest.mark.parametrize(
    ("name", "keys", "words"),
    [
        ("ios", {"assumed": -1}, "assumed: found the number -1, needed a whole number of at least 0"),
        ("rfa", {"weiszfeld_steps": -1}, "weiszfeld_steps: found the number -1, needed a whole number of at least 0"),
        ("rfa", {"nu": 0}, "nu: found the number 0, needed a number above 0"),
        ("krum", {"best": 0}, "best: found the number 0, needed a whole number of at least 1"),
        ("clipped_gossip", {"tau": 0}, "tau: found the number 0, needed a number above 0, `adaptive` or `none`"),
        ("clipped_gossip", {"tau": "large"}, "needed a number or one of adaptive, none"),
        ("bridge", {"attack": "label_flip"}, "needed one of none, sign_flip"),
        ("bridge", {"attackers": [1, 1]}, "needed a number of clients, or a list of clients, each once"),
        ("bridge", {"attackers": -1}, "needed a number of clients, or a list of clients, each once"),
        ("bridge", {"strength": 0}, "strength: found the number 0, needed a number above 0"),
        ("balance", {"horizon": 7}, "unknown key `horizon`"),
    ],
)
def test_keys_that_cannot_work_are_refused(name: str, keys: dict[str, Any], words: str) -> None:
    with pytest.raises(mf.ConfigError, match=words):
        mf.run(experiment(name, **keys), progress=False)


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"attackers": [8], "attack": "ipm"}, r"algorithm.own.attackers: found \[8\], needed clients from 0 to 7"),
        ({"attackers": 9, "attack": "ipm"}, "algorithm.own.attackers: found 9, needed fewer than the 8 clients"),
        ({"attackers": 8, "attack": "ipm"}, "algorithm.own.attackers: found 8, needed fewer than the 8 clients: if all attack, there is nobody"),
        ({"attackers": 5, "attack": "alie"}, "algorithm.own.strength: found null, needed a number .* 5 of 8 clients attack, a majority"),
    ],
)
def test_attackers_that_cannot_be_are_told(keys: dict[str, Any], words: str) -> None:
    with pytest.raises(mf.RunFailed, match=words) as raised:
        mf.run(experiment("bridge", **keys), progress=False)
    assert "Traceback" not in str(raised.value)


def told(experiment: dict[str, Any]) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        mf.run(experiment, progress=False)
    return [str(each.message) for each in caught if each.category is mf.MeshfoldWarning]


@pytest.mark.parametrize(("attackers", "strength", "words"), [(1, "-0.1800", "on the other side of the mean"), (2, "0", "the mean of honest models")])
def test_a_run_warns_of_an_alie_that_is_no_attack(attackers: int, strength: str, words: str) -> None:
    (warning,) = told(experiment("rfa", attack="alie", attackers=attackers, rounds=2))
    assert f"the strength {float(strength):.4g} where {attackers} of 8 clients attack" in warning and words in warning
    assert told(experiment("rfa", attack="alie", attackers=3, rounds=1)) == []
    assert told(experiment("rfa", attack="alie", attackers=attackers, strength=1.5, rounds=1)) == []


def test_the_table_of_strengths_of_alie_is_right() -> None:
    page = (Path(__file__).parents[3] / "docs" / "published.md").read_text()
    rows = re.findall(r"^  \| (\d+) \| (.*) \|$", page, re.MULTILINE)
    assert [int(clients) for clients, _ in rows] == [10, 20, 50, 100]
    for text, cells in rows:
        clients = int(text)
        counts = [1, 2, 3, 4, 5, *(clients * share // 10 for share in (2, 3, 4))]
        for count, cell in zip(counts, cells.split(" | "), strict=True):
            assert float(cell.replace("−", "-")) == pytest.approx(usual_strength("alie", np.arange(clients) >= count), abs=0.005)


@pytest.mark.parametrize(
    ("name", "assumed", "needed", "words"),
    [("bridge", 1, 3, "which is D-SGD"), ("krum", 1, 4, "f attackers may choose"), ("ios", 2, 3, "keeps its own model")],
)
def test_a_run_warns_of_clients_with_too_few_neighbours(name: str, assumed: int, needed: int, words: str) -> None:
    (warning,) = told(experiment(name, assumed=assumed, rounds=2))
    assert f"with {assumed}, {name} needs at least {needed} neighbours around each client, and client 0 has 2 in round 1" in warning
    assert "and 7 other clients have too few, too" in warning and words in warning
    regular = {"regular": {"degree": needed}}
    assert told(experiment(name, assumed=assumed, topology=regular, rounds=1)) == []
    assert told(experiment(name, assumed=0, rounds=1)) == []


def test_a_finished_run_tells_who_attacked_and_how_strongly() -> None:
    base = {**experiment("rfa", attack="ipm", attackers=3, rounds=2), "seeds": {"methods": 9}}
    (run,) = mf.run(base, progress=False)
    assert meshfold.methods.attackers(run) == sorted(np.random.default_rng([9, 0]).choice(CLIENTS, 3, replace=False).tolist())
    assert run.metrics().to_polars()["own.attack_strength"].to_list() == [None, 0.1, 0.1]
    (listed, nobody, other) = (
        mf.run(experiment(name, rounds=1, **keys), progress=False)[0]
        for name, keys in (("rfa", {"attack": "ipm", "attackers": [5, 2]}), ("rfa", {}), ("k_gt", {}))
    )
    assert meshfold.methods.attackers(listed) == [2, 5] and meshfold.methods.attackers(nobody) == []
    with pytest.raises(ValueError, match="its method has no key `attackers`"):
        meshfold.methods.attackers(other)


def test_the_help_of_a_rule_has_the_formulas_of_attacks() -> None:
    for name in ROBUST:
        text = pydoc.plain(pydoc.render_doc(mf._own.METHODS[name]))
        assert "alie         mean - s std of h_k over R_i" in text and "strength: the s of the attack" in text


class Nearest(meshfold.methods.RobustAveraging, mf.Method):
    """A rule of a user's: the mean of the own model and the nearest message."""

    def average(self, inbox: mf.methods.Inbox, round: mf.Round) -> mf.Stack:
        nearest = inbox.ordered(inbox.distances())[inbox.ends - inbox.degrees]
        chosen = np.zeros(len(inbox.rows), bool)
        chosen[nearest] = True
        return inbox.sums(np.where(chosen, 0.5, 0.0), np.full(len(inbox.models), 0.5))


def test_a_rule_of_a_users_own_stands_under_the_same_attacks() -> None:
    def rule(i: int, own: Array, received: dict[int, Array]) -> Array:
        return np.asarray((own + min(received.values(), key=lambda model: distance(own, model))) / 2)

    close(robust_models("nearest"), transcription(robust(rule, sign_flip)))
