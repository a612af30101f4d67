"""The published methods of `meshfold.methods`, each against a transcription of its paper in double precision."""

from __future__ import annotations

import numpy as np
import pytest
from transcribed import (
    CLASSES,
    CLIENTS,
    DEVICE,
    FEATURES,
    Array,
    experiment,
    first_models,
    gradient,
    largest,
    last_models,
    mean_over,
    ring,
    transcription,
    unpacked,
)

import meshfold as mf
import meshfold.methods

RATE = 0.2
ALL = range(CLIENTS)


def close(found: Array, wanted: Array) -> None:
    """Single precision computes what double precision does, but for its rounding."""
    assert np.abs(wanted).max() > 0.1
    np.testing.assert_allclose(found, wanted, atol=3e-6)


def zeros() -> Array:
    return np.zeros((CLIENTS, FEATURES + 1, CLASSES))


def gossip(models: Array) -> Array:
    """Every model averaged over the ring."""
    return np.array([mean_over(ring(i), models) for i in ALL])


def gradients(models: Array) -> Array:
    return np.array([gradient(models[i], i) for i in ALL])


def d_sgd(models: Array, number: int) -> Array:
    """Step, then mix."""
    return gossip(models - RATE * gradients(models))


def test_choco_sgd() -> None:
    copies = zeros()

    def step(x: Array, number: int) -> Array:
        h = np.array([x[i] - RATE * gradient(x[i], i) for i in ALL])
        for i in ALL:
            copies[i] += largest(h[i] - copies[i], 0.3)
        return np.array([h[i] + 0.25 * (mean_over(ring(i), copies) - copies[i]) for i in ALL])

    close(last_models("choco_sgd", keep=0.3, gamma=0.25), transcription(step))


def test_deep_squeeze() -> None:
    errors = zeros()

    def step(x: Array, number: int) -> Array:
        sent, h = zeros(), zeros()
        for i in ALL:
            h[i] = x[i] - RATE * gradient(x[i], i)
            sent[i] = largest(h[i] + errors[i], 0.4)
            errors[i] += h[i] - sent[i]
        return np.array([h[i] + 0.1 * (mean_over(ring(i), sent) - sent[i]) for i in ALL])

    close(last_models("deep_squeeze", keep=0.4, gamma=0.1), transcription(step))


@pytest.mark.parametrize("name", ["choco_sgd", "deep_squeeze"])
def test_nothing_left_out_is_d_sgd(name: str) -> None:
    close(last_models(name, compression="none", gamma=1), transcription(d_sgd))


def test_beer() -> None:
    """In the order of the paper, with the gradient at the new models in the same iteration."""
    known, known_trackers, gamma, keep = zeros(), zeros(), 0.3, 0.5
    x = first_models()
    g = gradients(x)
    v = g.copy()
    for _ in range(7):
        new = x + gamma * (gossip(known) - known) - RATE * v
        for i in ALL:
            known[i] += largest(new[i] - known[i], keep)
        g_new = gradients(new)
        v = v + gamma * (gossip(known_trackers) - known_trackers) + g_new - g
        for i in ALL:
            known_trackers[i] += largest(v[i] - known_trackers[i], keep)
        x, g = new, g_new
    close(last_models("beer", keep=keep, gamma=gamma), x)


def test_lead() -> None:
    known, dual, gamma, alpha = zeros(), zeros(), 0.6, 0.5

    def step(x: Array, number: int) -> Array:
        nonlocal known, dual
        g = gradients(x)
        y = x - RATE * g - RATE * dual
        told = known + (y - known)
        known = (1 - alpha) * known + alpha * told
        dual = dual + gamma / (2 * RATE) * (told - gossip(told))
        return np.asarray(x - RATE * g - RATE * dual)

    wanted = transcription(step)
    close(last_models("lead", compression="none", gamma=gamma, alpha=alpha), wanted)
    # 24 bits leave out next to nothing.
    np.testing.assert_allclose(last_models("lead", bits=24, gamma=gamma, alpha=alpha), wanted, atol=1e-5)


def test_lead_that_leaves_nothing_out_is_exact_diffusion() -> None:
    """NIDS has the iterates of exact diffusion (Li, Shi and Yan, 2019), with weights (I + W) / 2."""
    found = last_models("lead", compression="none", gamma=1, alpha=1)
    x, psi = first_models(), first_models()
    for _ in range(7):
        new = x - RATE * gradients(x)
        both = new + x - psi
        x, psi = (both + gossip(both)) / 2, new
    close(found, x)


def test_extra() -> None:
    x_before = first_models()
    x = gossip(x_before) - RATE * gradients(x_before)
    for _ in range(6):
        ahead = x + gossip(x) - (x_before + gossip(x_before)) / 2
        x, x_before = ahead - RATE * (gradients(x) - gradients(x_before)), x
    close(last_models("extra"), x)


@pytest.mark.parametrize("server_rate", [1.0, 0.7])
def test_k_gt(server_rate: float) -> None:
    corrections, steps = zeros(), 3

    def step(x: Array, number: int) -> Array:
        nonlocal corrections
        y = x.copy()
        for i in ALL:
            for _ in range(steps):
                y[i] = y[i] - RATE * (gradient(y[i], i) + corrections[i])
        z = (x - y) / (steps * RATE)
        corrections = corrections - z + gossip(z)
        np.testing.assert_allclose(corrections.sum(axis=0), 0, atol=1e-12)
        return gossip(x - steps * RATE * server_rate * z)

    close(last_models("k_gt", local={"steps": steps}, server_rate=server_rate), transcription(step))


def test_led() -> None:
    dual, steps = zeros(), 3

    def step(x: Array, number: int) -> Array:
        nonlocal dual
        p = x.copy()
        for i in ALL:
            for _ in range(steps):
                p[i] = p[i] - RATE * gradient(p[i], i) - dual[i] / steps
        new = (p + gossip(p)) / 2
        dual = dual + p - new
        return np.asarray(new)

    close(last_models("led", local={"steps": steps}), transcription(step))


def test_prox_skip() -> None:
    dual, p, chi = zeros(), 0.4, 1.5
    lengths = []

    def step(x: Array, number: int) -> Array:
        nonlocal dual
        coins = np.random.default_rng([1, number]).geometric(p)
        lengths.append(coins)
        for _ in range(coins):
            x = x - RATE * gradients(x) - dual
        new = x - (x - gossip(x)) / (2 * chi)
        dual = dual + p * (x - new)
        return np.asarray(new)

    close(last_models("prox_skip", p=p, chi=chi), transcription(step))
    assert len(set(lengths)) > 1


def test_prox_skip_over_all_clients_is_scaffnew() -> None:
    dual = zeros()

    def step(x: Array, number: int) -> Array:
        nonlocal dual
        for _ in range(np.random.default_rng([1, number]).geometric(0.5)):
            x = x - RATE * gradients(x) - dual
        new = np.repeat(x.mean(axis=0, keepdims=True), CLIENTS, axis=0)
        dual = dual + 0.5 * (x - new)
        return new

    close(last_models("prox_skip", p=0.5, chi=0.5, topology="complete"), transcription(step))


@pytest.mark.parametrize("beta", [0.1, 1.0])
def test_gt_hsgd(beta: float) -> None:
    x, x_before = first_models(), zeros()
    v, y = zeros(), zeros()
    for t in range(7):
        new = gradients(x) + ((1 - beta) * (v - gradients(x_before)) if t > 0 else 0)
        y, v = gossip(y + new - v), new
        x, x_before = gossip(x - RATE * y), x
    close(last_models("gt_hsgd", beta=beta), x)


def test_momentum_tracking() -> None:
    x, u, c, beta = first_models(), zeros(), zeros(), 0.6
    for _ in range(7):
        u = beta * u + gradients(x)
        x = gossip(x) - RATE * (u - c)
        c = gossip(c - u) + u
    close(last_models("momentum_tracking", beta=beta), x)


def test_decentlam() -> None:
    x, m, beta = first_models(), zeros(), 0.6
    for _ in range(7):
        m = beta * m + (x - gossip(x - RATE * gradients(x))) / RATE
        x = x - RATE * m
    close(last_models("decentlam", beta=beta), x)


def test_decentlam_without_momentum_is_d_sgd() -> None:
    close(last_models("decentlam", beta=0), transcription(d_sgd))


@pytest.mark.parametrize("beta", [0.4, 0.0])
def test_dsgt_hb(beta: float) -> None:
    x, x_before = first_models(), first_models()
    g = gradients(x)
    y = g
    for _ in range(7):
        x, x_before = gossip(x - RATE * y) + beta * (x - x_before), x
        g_new = gradients(x)
        y, g = gossip(y + g_new - g), g_new
    close(last_models("dsgt_hb", beta=beta), x)


#: Schedules that move on with each step, epoch and round, and within a round alone, and what the rates of rounds 1, 2, ... are.
SCHEDULES = [
    ({"per": "step"}, [RATE / (1 + t) for t in range(7)]),
    ({"per": "epoch"}, [RATE / (1 + t) for t in range(7)]),
    ({"per": "round"}, [RATE / (1 + t) for t in range(7)]),
    ({"per": "step", "restart": "round"}, [RATE] * 7),
]


@pytest.mark.parametrize(("keys", "rates"), SCHEDULES)
def test_dsgt_hb_has_the_rates_of_a_schedule_one_after_another(keys: dict[str, str], rates: list[float]) -> None:
    x, x_before = first_models(), first_models()
    g = gradients(x)
    y = g
    for rate in rates:
        x, x_before = gossip(x - rate * y) + 0.4 * (x - x_before), x
        g_new = gradients(x)
        y, g = gossip(y + g_new - g), g_new
    schedule = {"inverse_time": {"initial": RATE, "scale": 1, **keys}}
    close(last_models("dsgt_hb", beta=0.4, learning_rate=schedule, local={"steps": 1}), x)


def test_push_pull() -> None:
    """On a star, where weights by receivers differ from those by senders."""
    neighbours = [set(ALL) if i == 0 else {0, i} for i in ALL]
    x = first_models()
    g = gradients(x)
    y = g
    for _ in range(7):
        x = np.array([sum((x[j] - RATE * y[j]) / len(neighbours[i]) for j in neighbours[i]) for i in ALL])
        g_new = gradients(x)
        y = np.array([sum(y[j] / len(neighbours[j]) for j in neighbours[i]) for i in ALL]) + g_new - g
        g = g_new
    close(last_models("push_pull", topology="star"), x)


def test_push_pull_over_a_directed_overlay() -> None:
    """In round t, client i hears from client i - 2^((t - 1) mod 3)."""
    x, y, g = first_models(), zeros(), zeros()
    for t in range(7):
        halves = [{i: 1 / 2, (i - 2 ** (t % 3)) % CLIENTS: 1 / 2} for i in ALL]
        g_new = gradients(x)
        y = np.array([mean_over(halves[i], y) for i in ALL]) + g_new - g
        x = np.array([mean_over(halves[i], x - RATE * y) for i in ALL])
        g = g_new
    close(last_models("push_pull", topology="one_peer"), x)


def relay_sgd(neighbours: list[list[int]]) -> Array:
    """RelaySGD with a mailbox for each client."""
    told = {(i, j): (np.zeros((FEATURES + 1, CLASSES)), 0) for i in ALL for j in neighbours[i]}

    def step(x: Array, number: int) -> Array:
        nonlocal told
        h = np.array([x[i] - RATE * gradient(x[i], i) for i in ALL])
        new = {}
        for i, j in told:
            others = [told[k, i] for k in neighbours[i] if k != j]
            new[i, j] = (h[i] + sum(model for model, _ in others), 1 + sum(count for _, count in others))
        told = new
        averages = []
        for i in ALL:
            heard = [told[j, i] for j in neighbours[i]]
            missing = CLIENTS - sum(count for _, count in heard)
            averages.append((missing * h[i] + sum(model for model, _ in heard)) / CLIENTS)
        return np.array(averages)

    return transcription(step, rounds=9)


def test_relay_sgd() -> None:
    path = [[j for j in (i - 1, i + 1) if 0 <= j < CLIENTS] for i in ALL]
    close(last_models("relay_sgd", topology="path", rounds=9), relay_sgd(path))
    star = [[j for j in ALL if j != 0] if i == 0 else [0] for i in ALL]
    close(last_models("relay_sgd", topology="star", rounds=9), relay_sgd(star))


class Held(meshfold.methods.RelaySgd):
    """RelaySGD whose clients have the same models in each round: one, two, three, ... times the first one."""

    name = "held"

    def start(self, models: mf.Stack, *about: mf.Start) -> None:
        super().start(models, *about)
        self.held = models * range(1, CLIENTS + 1)

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        models.scatter(range(CLIENTS), self.held)
        super().round(models, round)


@pytest.mark.parametrize(("topology", "diameter"), [("star", 2), ("path", CLIENTS - 1)])
def test_relay_sgd_has_the_mean_of_models_that_stay_after_as_many_rounds_as_the_diameter(topology: str, diameter: int) -> None:
    mean = (CLIENTS + 1) / 2 * first_models()
    close(last_models("held", topology=topology, rounds=diameter, learning_rate=1e-30), mean)
    early = last_models("held", topology=topology, rounds=diameter - 1, learning_rate=1e-30)
    assert np.abs(early - mean).max() > 1e-3


def test_relay_sgd_needs_a_tree() -> None:
    words = r"the edge \d-\d of round {} closes a circle with those before it, and the overlay must be a tree that does not change: use path"
    with pytest.raises(mf.RunFailed, match=words.format(1)):
        last_models("relay_sgd")
    with pytest.raises(mf.RunFailed, match=words.format(2)):
        last_models("relay_sgd", topology="random_matching")


@pytest.mark.parametrize("gossip_steps", [1, 3])
def test_dfedsam(gossip_steps: int) -> None:
    rho = 0.3

    def step(x: Array, number: int) -> Array:
        y = x.copy()
        for i in ALL:
            for _ in range(2):
                g = gradient(y[i], i)
                y[i] = y[i] - RATE * gradient(y[i] + rho * g / np.sqrt((g**2).sum()), i)
        for _ in range(gossip_steps):
            y = gossip(y)
        return y

    close(last_models("dfedsam", local={"steps": 2}, rho=rho, gossip_steps=gossip_steps), transcription(step))


def test_dfedsam_at_no_distance_is_dfedavg() -> None:
    built_in = {**experiment("dfedsam"), "algorithm": {"dfedavg": {"batch_size": "full", "learning_rate": 0.2, "local": {"steps": 2}}}}
    (reference,) = mf.run(built_in, device=DEVICE, progress=False)
    close(last_models("dfedsam", rho=0, local={"steps": 2}), unpacked(reference.models()))


def test_sparse_sharing() -> None:
    def step(x: Array, number: int) -> Array:
        h = np.array([x[i] - RATE * gradient(x[i], i) for i in ALL])
        draws = np.random.default_rng([1, number])
        masks = [draws.random(h[0].size, dtype=np.float32).reshape(h[0].shape) < 0.4 for _ in ALL]
        return np.array([sum(w * np.where(masks[j], h[j], h[i]) for j, w in ring(i).items()) for i in ALL])

    close(last_models("sparse_sharing", keep=0.4), transcription(step))


def test_sparse_sharing_of_all_is_d_sgd() -> None:
    close(last_models("sparse_sharing", keep=1), transcription(d_sgd))


@pytest.mark.parametrize(
    ("name", "key", "value", "needed"),
    [
        ("choco_sgd", "gamma", 0, "a number above 0 and at most 1"),
        ("choco_sgd", "keep", 1.5, "a number above 0 and at most 1"),
        ("choco_sgd", "compression", "sign", "one of top_k, qsgd, none"),
        ("beer", "bits", 1, "a whole number from 2 to 24"),
        ("lead", "alpha", 2, "a number above 0 and at most 1"),
        ("k_gt", "server_rate", 0, "a number above 0"),
        ("prox_skip", "p", 0, "a number above 0 and at most 1"),
        ("prox_skip", "chi", 0.4, "a number of at least 0.5"),
        ("gt_hsgd", "beta", -1, "a number from 0 to 1"),
        ("momentum_tracking", "beta", 1, "a number of at least 0 and below 1"),
        ("dfedsam", "gossip_steps", 0, "a whole number of at least 1"),
    ],
)
def test_keys_that_cannot_be_are_refused(name: str, key: str, value: object, needed: str) -> None:
    with pytest.raises(mf.ConfigError, match=f"needed {needed}"):
        mf.run(experiment(name, **{key: value}), progress=False)
