"""Personal models, random peers and other methods of `meshfold.methods`, each against a transcription in double precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from test_published import RATE, close
from transcribed import (
    CLIENTS,
    Array,
    experiment,
    first_models,
    gradient,
    largest,
    last_models,
    loss,
    mean_over,
    ring,
    transcription,
    unpacked,
)

import meshfold as mf
import meshfold.methods

SEED = 1


def stepped(model: Array, client: int) -> Array:
    """A model after one local step."""
    return np.asarray(model - RATE * gradient(model, client))


def all_stepped(x: Array) -> Array:
    return np.array([stepped(x[i], i) for i in range(CLIENTS)])


def draws(number: int) -> np.random.Generator:
    return np.random.default_rng([SEED, number])


def run_of(name: str, **keys: Any) -> mf.Run:
    """A run whose draws begin with `SEED`."""
    (run,) = mf.run({**experiment(name, **keys), "seed": SEED}, progress=False)
    return run


def built_in(name: str, topology: Any = "ring", **keys: Any) -> mf.Run:
    base = experiment("first_models", topology=topology)
    (run,) = mf.run({**base, "algorithm": {name: {"batch_size": "full", "learning_rate": RATE, **keys}}}, progress=False)
    return run


def like(found: mf.Run, wanted: mf.Run) -> None:
    """Both runs end with the same models, but for rounding."""
    close(unpacked(found.models()), unpacked(wanted.models()))


def traffic(run: mf.Run) -> tuple[int, int]:
    last = run.metrics().to_polars()[-1]
    return last["messages_total"].item(), last["bytes_total"].item()


@pytest.mark.parametrize(
    ("name", "exchanges", "vectors"),
    [
        ("k_gt", 3, 6),
        ("momentum_tracking", 3, 6),
        ("beer", 3, 5),
        ("gt_hsgd", 6, 6),
        ("dsgt_hb", 6, 6),
        ("push_pull", 5, 5),
    ],
)
def test_vectors_that_are_there_at_once_travel_in_one_message(name: str, exchanges: int, vectors: int) -> None:
    keys = {"compression": "none"} if name == "beer" else {}
    whole = {**experiment(name, local={"steps": 1}, **keys), "rounds": 3}
    whole["network"] = {"links": {"fixed": {"bytes_per_second": 1e9, "latency_seconds": 1.0}}}
    (run,) = mf.run(whole, progress=False)
    parameters = unpacked(run.models()).shape[1:]
    links = 2 * CLIENTS
    assert traffic(run) == (exchanges * links, vectors * links * 4 * int(np.prod(parameters)))
    assert run.metrics().to_polars()["simulated_seconds"][-1] == pytest.approx(exchanges, rel=1e-3)


def test_ditto() -> None:
    shared = first_models()

    def step(v: Array, number: int) -> Array:
        v = v.copy()
        for i in range(CLIENTS):
            for _ in range(3):
                v[i] = v[i] - RATE * (gradient(v[i], i) + 0.7 * (v[i] - shared[i]))
        h = all_stepped(shared)
        shared[:] = [mean_over(ring(i), h) for i in range(CLIENTS)]
        return v

    close(last_models("ditto", pull=0.7, personal_steps=3), transcription(step))


def test_ditto_without_a_pull_trains_alone() -> None:
    def step(v: Array, number: int) -> Array:
        return all_stepped(all_stepped(v))

    close(last_models("ditto", pull=0, local={"steps": 2}), transcription(step))


@pytest.mark.parametrize(("private", "frozen"), [("last", (0, 7)), (["dense0.weight"], (0, 6)), (["dense0.bias"], (6, 7))])
def test_dfed_alt(private: str | list[str], frozen: tuple[int, int]) -> None:
    """A logistic regression has one layer: all is private, or the weights or the bias alone, the last row of a model."""
    own = np.zeros((7, 3))
    own[slice(*frozen)] = 1

    def step(x: Array, number: int) -> Array:
        h = x.copy()
        for i in range(CLIENTS):
            for moving, steps in ((own, 3), (1 - own, 2)):
                velocity = np.zeros((7, 3))
                for _ in range(steps):
                    velocity = 0.5 * velocity + moving * gradient(h[i], i)
                    h[i] -= RATE * velocity
        return np.array([own * h[i] + (1 - own) * mean_over(ring(i), h) for i in range(CLIENTS)])

    run = run_of("dfed_alt", private=private, private_steps=3, momentum=0.5, local={"steps": 2})
    close(unpacked(run.models()), transcription(step))
    assert traffic(run)[1] == 7 * 16 * 4 * int((1 - own).sum())


def test_dfed_alt_keeps_the_last_layer_with_its_bias() -> None:
    base = {**experiment("dfed_alt", momentum=0.9, local={"steps": 2}), "model": {"mlp": {"hidden": [5]}}}
    (run,) = mf.run(base, progress=False)
    assert traffic(run)[1] == 7 * 16 * 4 * (6 * 5 + 5)


def test_dfed_alt_that_shares_all_is_dfedavg() -> None:
    keys: dict[str, Any] = {"momentum": 0.9, "local": {"steps": 3}}
    like(run_of("dfed_alt", private=[], private_steps=0, **keys), built_in("dfedavgm", **keys))


def test_fedper_moves_both_blocks_at_once() -> None:
    def step(x: Array, number: int) -> Array:
        h = all_stepped(x)
        return np.array([np.concatenate([mean_over(ring(i), h)[:6], h[i][6:]]) for i in range(CLIENTS)])

    close(last_models("dfed_alt", private=["dense0.bias"], private_steps=0), transcription(step))


def test_epidemic_learning() -> None:
    def step(x: Array, number: int) -> Array:
        generator = draws(number)
        h = all_stepped(x)
        came: list[list[int]] = [[] for _ in range(CLIENTS)]
        for sender in range(CLIENTS):
            for receiver in generator.choice([k for k in range(CLIENTS) if k != sender], 2, replace=False):
                came[receiver].append(sender)
        return np.array([(h[i] + sum(h[j] for j in came[i])) / (1 + len(came[i])) for i in range(CLIENTS)])

    run = run_of("epidemic_learning", receivers=2, topology=None)
    close(unpacked(run.models()), transcription(step))
    assert traffic(run) == (7 * 8 * 2, 7 * 8 * 2 * 84)
    # Three of eight, by default.
    assert traffic(run_of("epidemic_learning", topology=None))[0] == 7 * 8 * 3


def test_epidemic_learning_that_sends_to_all_is_dsgd() -> None:
    like(run_of("epidemic_learning", receivers=99, topology=None), built_in("dsgd", topology="complete"))


def test_pens() -> None:
    received, chosen = np.zeros((CLIENTS, CLIENTS)), np.zeros((CLIENTS, CLIENTS))
    found: list[int] = []

    def step(x: Array, number: int) -> Array:
        generator = draws(number)
        h = all_stepped(x)
        result = np.empty_like(h)
        for i in range(CLIENTS):
            others = [j for j in range(CLIENTS) if j != i]
            if number <= 4:
                some = list(generator.choice(others, 4, replace=False))
                best = sorted(some, key=lambda j: loss(h[j], i))[:2]
                received[i, some] += 1
                chosen[i, best] += 1
            else:
                near = [j for j in others if chosen[i, j] > 2 / 4 * received[i, j]]
                found.append(len(near))
                best = list(generator.choice(near, min(2, len(near)), replace=False))
            result[i] = (h[i] + sum(h[j] for j in best)) / (1 + len(best))
        return result

    run = run_of("pens", search=4, sampled=4, best=2, topology=None)
    close(unpacked(run.models()), transcription(step))
    assert min(found) > 0 and len(set(found)) > 1
    assert traffic(run)[0] == 4 * 8 * 4 + sum(min(2, near) for near in found)


def test_pens_that_hears_all_is_dsgd() -> None:
    like(run_of("pens", sampled=7, best=7, topology=None), built_in("dsgd", topology="complete"))


def test_pens_that_found_nobody_hears_random_clients() -> None:
    def step(x: Array, number: int) -> Array:
        generator = draws(number)
        h = all_stepped(x)
        heard = [generator.choice([j for j in range(CLIENTS) if j != i], 2, replace=False) for i in range(CLIENTS)]
        return np.array([(h[i] + h[heard[i]].sum(axis=0)) / 3 for i in range(CLIENTS)])

    close(unpacked(run_of("pens", search=0, topology=None).models()), transcription(step))


def hears(slot: int, slots: int, topology: str, number: int) -> set[int]:
    """The slots that a slot hears from, itself among them."""
    if topology == "ring":
        return {slot, (slot - 1) % slots, (slot + 1) % slots}
    if topology == "complete":
        return set(range(slots))
    hops = [hop for hop in (1, 2, 4) if hop < slots]
    if topology == "one_peer":
        hops = [hops[(number - 1) % len(hops)]]
    return {slot} | {(slot - hop) % slots for hop in hops}


@pytest.mark.parametrize(
    ("slots", "topology"), [(4, "one_peer"), (5, "exponential"), (4, "ring"), (2, "ring"), (3, "complete"), (8, "one_peer"), (1, "ring")]
)
def test_teleportation(slots: int, topology: str) -> None:
    messages = [0]
    holders: list[int] = []

    def step(x: Array, number: int) -> Array:
        clients = draws(number).permutation(CLIENTS)[:slots]
        messages[0] += sum(a != b for a, b in zip(holders, clients, strict=False))
        holders[:] = clients
        h = [stepped(x[slot], clients[slot]) for slot in range(slots)]
        heard = [hears(slot, slots, topology, number) for slot in range(slots)]
        messages[0] += sum(len(some) - 1 for some in heard)
        z = [sum(h[other] for other in some) / len(some) for some in heard]
        return np.array([z[row % slots] for row in range(CLIENTS)])

    run = run_of("teleportation", slots=slots, slots_topology=topology, topology=None)
    close(unpacked(run.models()), transcription(step))
    assert traffic(run) == (messages[0], messages[0] * 84)


def test_muffliato_gossips_several_times() -> None:
    def step(x: Array, number: int) -> Array:
        h = x.copy()
        noise = draws(number).standard_normal((CLIENTS, 21), dtype=np.float32).astype(float)
        for i in range(CLIENTS):
            change = stepped(x[i], i) - x[i]
            h[i] += change * min(1, 0.1 / np.linalg.norm(change)) + 0.3 * 0.1 * packed(noise[i])
        for _ in range(3):
            h = np.array([mean_over(ring(i), h) for i in range(CLIENTS)])
        return h

    run = run_of("muffliato", noise=0.3, norm=0.1, gossips=3)
    close(unpacked(run.models()), transcription(step))
    assert traffic(run)[0] == 7 * 3 * 16


def packed(row: Array) -> Array:
    """The parameters of a row as a model: 6 x 3 weights, then 3 biases."""
    return np.asarray(row.reshape(7, 3))


def test_chebyshev_gossip_is_the_polynomial_of_chebyshev() -> None:
    """K accelerated exchanges are T_K(W/r)/T_K(1/r), and nearer to the mean than K plain ones."""
    weights = np.array([[ring(i).get(j, 0) for j in range(CLIENTS)] for i in range(CLIENTS)])
    radius = 1 / 3 + 2 / 3 * np.cos(2 * np.pi / CLIENTS)
    polynomial = np.polynomial.chebyshev.Chebyshev([0, 0, 0, 0, 1])
    values, vectors = np.linalg.eigh(weights)
    scaled = polynomial(values / radius) / polynomial(1 / radius)
    gossip = (vectors * scaled) @ vectors.T

    def step(x: Array, number: int) -> Array:
        return np.asarray(np.einsum("ij,jab->iab", gossip, all_stepped(x)))

    run = run_of("muffliato", noise=0, gossips=4, chebyshev=True)
    close(unpacked(run.models()), transcription(step))
    plain = run_of("muffliato", noise=0, gossips=4)
    distances = [one.metrics().to_polars()["consensus_distance"][-1] for one in (run, plain)]
    assert distances[0] < 0.5 * distances[1]


@pytest.mark.filterwarnings("ignore:transcribed. not every overlay")
def test_chebyshev_gossip_needs_symmetric_weights() -> None:
    with pytest.raises(mf.RunFailed, match="chebyshev: the weights of the overlay are not symmetric"):
        mf.run(experiment("muffliato", chebyshev=True, topology="one_peer"), progress=False)


def test_muffliato_without_noise_is_dfedavg() -> None:
    keys: dict[str, Any] = {"momentum": 0.9, "local": {"steps": 3}}
    found = run_of("muffliato", noise=0, gossips=1, **keys)
    wanted = built_in("dfedavgm", **keys)
    assert (found.models().numpy() == wanted.models().numpy()).all()


def test_skip_train() -> None:
    def step(x: Array, number: int) -> Array:
        h = all_stepped(x) if number in (1, 2, 6, 7) else x
        return np.array([mean_over(ring(i), h) for i in range(CLIENTS)])

    run = run_of("skip_train", training=2, only_mixing=3)
    close(unpacked(run.models()), transcription(step))
    assert run.metrics().to_polars()["local_steps"][-1] == 4 * 8 and traffic(run)[0] == 7 * 16


def test_skip_train_that_skips_nothing_is_dfedavg() -> None:
    keys: dict[str, Any] = {"momentum": 0.9, "local": {"steps": 3}}
    assert (run_of("skip_train", only_mixing=0, **keys).models().numpy() == built_in("dfedavgm", **keys).models().numpy()).all()


def test_squarm_sgd() -> None:
    copies, velocity = np.zeros((2, CLIENTS, 7, 3))
    senders: list[int] = []

    def step(x: Array, number: int) -> Array:
        h = x.copy()
        for i in range(CLIENTS):
            for _ in range(2):
                slope = gradient(h[i], i)
                velocity[i] = 0.5 * velocity[i] + slope
                h[i] -= RATE * (0.5 * velocity[i] + slope)
        sending = [i for i in range(CLIENTS) if ((h[i] - copies[i]) ** 2).sum() > 20 * number**0.5 * RATE**2]
        for i in sending:
            copies[i] += largest(h[i] - copies[i], 0.4)
        senders.append(len(sending))
        return np.array([h[i] + 0.3 * (mean_over(ring(i), copies) - copies[i]) for i in range(CLIENTS)])

    keys: dict[str, Any] = {"threshold": 20, "growth": 0.5, "keep": 0.4, "gamma": 0.3, "momentum": 0.5, "local": {"steps": 2}}
    run = run_of("squarm_sgd", **keys)
    close(unpacked(run.models()), transcription(step))
    assert 0 < sum(senders) < 7 * CLIENTS
    # 8 of 21 numbers, each with its index, to two neighbours.
    assert traffic(run) == (2 * sum(senders), 2 * sum(senders) * 8 * 8)
    assert run.metrics().to_polars()["own.sending"][1:].to_list() == [count / CLIENTS for count in senders]


STEPS: list[NDArray[np.int64]] = []


class Watched(mf.methods.SquarmSgd):
    """SQuARM-SGD that tells how many steps each client makes."""

    name = "watched_squarm"

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        STEPS.append(round.local_steps)
        super().round(models, round)


def test_momentum_of_squarm_sgd_stands_still_for_clients_that_have_made_their_steps() -> None:
    STEPS.clear()
    keys: dict[str, Any] = {"threshold": 0, "compression": "none", "gamma": 1, "momentum": 0.5, "local": {"steps": 3}}
    run = run_of("watched_squarm", stragglers={"share": 0.5, "policy": "partial"}, **keys)
    assert len(STEPS) == 7 and {1, 3} <= {int(count) for steps in STEPS for count in steps}
    velocity = np.zeros((CLIENTS, 7, 3))

    def step(x: Array, number: int) -> Array:
        h = x.copy()
        for i in range(CLIENTS):
            for _ in range(STEPS[number - 1][i]):
                slope = gradient(h[i], i)
                velocity[i] = 0.5 * velocity[i] + slope
                h[i] -= RATE * (0.5 * velocity[i] + slope)
        return np.array([mean_over(ring(i), h) for i in range(CLIENTS)])

    close(unpacked(run.models()), transcription(step))


COPIES: list[tuple[NDArray[np.bool_], set[int]]] = []


class WatchedChoco(mf.methods.ChocoSgd):
    """CHOCO-SGD that tells whose copies move, and who sends."""

    name = "watched_choco"

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        before = self.copies.copy()
        super().round(models, round)
        senders = round.edges[:, 0] if round.directed else round.edges
        COPIES.append(((self.copies - before).norms() > 0, set(senders.ravel().tolist())))


def test_copies_of_clients_that_only_receive_stay() -> None:
    COPIES.clear()
    run_of("watched_choco", stragglers={"share": 0.5, "policy": "receive"})
    for moved, senders in COPIES:
        assert 0 < len(senders) < CLIENTS and set(np.flatnonzero(moved).tolist()) == senders


def test_absent_clients_are_not_among_those_that_could_send() -> None:
    run = run_of("squarm_sgd", threshold=0, failures=[{"clients": {"list": [3]}}])
    assert run.metrics().to_polars()["own.sending"][1:].to_list() == [1.0] * 7


@pytest.mark.parametrize("compression", ["top_k", "qsgd", "none"])
def test_squarm_sgd_without_a_threshold_is_choco_sgd(compression: str) -> None:
    keys = {"compression": compression, "gamma": 0.3, **({"keep": 0.4} if compression == "top_k" else {})}
    mine, choco = run_of("squarm_sgd", threshold=0, **keys), run_of("choco_sgd", **keys)
    np.testing.assert_allclose(mine.models().numpy(), choco.models().numpy(), atol=3e-6)
    assert traffic(mine) == traffic(choco)


@pytest.mark.parametrize(
    ("name", "keys", "words"),
    [
        ("ditto", {"pull": -1}, "pull: found the number -1, needed a number of at least 0"),
        ("ditto", {"personal_steps": -1}, "personal_steps: found the number -1, needed a whole number of at least 0"),
        ("dfed_alt", {"private": "first"}, "needed a list of names of layers, or `last`"),
        ("dfed_alt", {"private_steps": -1}, "private_steps: found the number -1"),
        ("epidemic_learning", {"receivers": 0}, "receivers: found the number 0, needed a whole number of at least 1"),
        ("pens", {"best": 6}, "best: found the number 6, needed a whole number from 1 to `sampled`"),
        ("pens", {"search": -1}, "search: found the number -1"),
        ("teleportation", {"slots": 0}, "slots: found the number 0"),
        ("muffliato", {"noise": -1}, "noise: found the number -1"),
        ("muffliato", {"norm": 0}, "norm: found the number 0"),
        ("muffliato", {"gossips": 0}, "gossips: found the number 0"),
        ("skip_train", {"training": 0}, "training: found the number 0"),
        ("skip_train", {"only_mixing": -1}, "only_mixing: found the number -1"),
        ("squarm_sgd", {"gamma": 2}, "gamma: found the number 2"),
        ("squarm_sgd", {"keep": 0}, "keep: found the number 0"),
        ("squarm_sgd", {"threshold": -1}, "threshold: found the number -1"),
        ("squarm_sgd", {"growth": -1}, "growth: found the number -1"),
    ],
)
def test_keys_that_cannot_work_are_refused(name: str, keys: dict[str, Any], words: str) -> None:
    topology = None if mf._own.METHODS[name].overlay is False else "ring"
    with pytest.raises(mf.ConfigError, match=words):
        mf.run(experiment(name, topology=topology, **keys), progress=False)


def test_what_cannot_be_is_told_when_the_run_begins() -> None:
    with pytest.raises(mf.RunFailed, match="slots: found 9, but there are 8 clients"):
        mf.run(experiment("teleportation", slots=9, topology=None), progress=False)
    words = r"private: found \[.*\], needed names of layers: there is no `dense9.weight`, there are `dense0.weight`, `dense0.bias`"
    with pytest.raises(mf.RunFailed, match=words):
        mf.run(experiment("dfed_alt", private=["dense9.weight"]), progress=False)
