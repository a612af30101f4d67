"""Asynchronous methods of `meshfold.methods`, each against a loop over events in double precision that shares no code with it."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from test_published import RATE, close
from test_published_others import like, run_of, traffic
from transcribed import CLIENTS, Array, experiment, first_models, gradient, ring, unpacked

import meshfold as mf
import meshfold.methods

BYTES = 84
#: Seconds of a local step of each client: sums of them are exact in double precision.
SLOWDOWN = [1.0, 1.5, 0.25, 2.0, 1.0, 3.5, 0.5, 1.25]
ALL = range(CLIENTS)
EVERYBODY: list[list[bool]] = [[True] * CLIENTS] * 7

Item = dict[str, Any]


class Simulation:
    """A heap of events, and the models in double precision. Times are in seconds."""

    def __init__(self, local: dict[str, int], window: float, latency: float = 0.0, bandwidth: float | None = None) -> None:
        self.x = first_models()
        self.steps, self.window, self.latency = local["steps"], Fraction(window), Fraction(latency)
        self.seconds = Fraction(0) if bandwidth is None else BYTES / Fraction(bandwidth)
        self.heap: list[tuple[Fraction, int, int, Item]] = []
        self.made = 0
        self.messages: list[int] = []
        self.bouts = np.zeros((8, CLIENTS), int)
        self.free = [Fraction(0)] * CLIENTS
        self.ages: list[int] = []
        self.changed = [0] * CLIENTS

    def at(self, time: Fraction, client: int, **item: Any) -> None:
        heapq.heappush(self.heap, (time, client, self.made, item))
        self.made += 1

    def bout(self, model: Array, client: int) -> Array:
        for _ in range(self.steps):
            model = model - RATE * gradient(model, client)
        return model

    def takes(self, client: int) -> Fraction:
        return self.steps * Fraction(SLOWDOWN[client])

    def arrival(self, time: Fraction, sender: int, size: int = BYTES) -> Fraction:
        self.messages.append(size)
        if self.seconds > 0:
            time = self.free[sender] = max(time, self.free[sender]) + self.seconds * size / BYTES
        return time + self.latency

    def neighbours(self, client: int) -> list[int]:
        return [j for j in sorted(ring(client)) if j != client and self.alive[j]]

    def play(self, begin: Callable[[Fraction, int], None], react: Callable[[Fraction, int, Item], None], alive: list[list[bool]]) -> Array:
        """Plays seven windows."""
        for number in range(1, 8):
            self.number, self.alive = number, alive[number - 1]
            self.draws = np.random.default_rng([1, number])
            self.heap = [event for event in self.heap if self.alive[event[1]]]
            heapq.heapify(self.heap)
            for client in ALL:
                if self.alive[client] and not any(event[1] == client and "letter" not in event[3] for event in self.heap):
                    begin((number - 1) * self.window, client)
            while self.heap and self.heap[0][0] <= number * self.window:
                time, client, _, item = heapq.heappop(self.heap)
                react(time, client, item)
        return self.x


def ad_psgd(world: Simulation, alive: list[list[bool]] = EVERYBODY) -> Array:
    x = world.x

    def begin(time: Fraction, i: int) -> None:
        world.at(time + world.takes(i), i, read=x[i].copy(), age=world.changed[i])

    def react(time: Fraction, i: int, item: Item) -> None:
        if "read" in item:
            update = world.bout(item["read"], i) - item["read"]
            world.bouts[world.number, i] += 1
            some = world.neighbours(i)
            if not some:
                world.at(time, i, update=update, partner=None, age=item["age"])
                return
            j = some[world.draws.integers(len(some))]
            meet = max(world.arrival(time, i), world.arrival(time, j))
            world.at(meet, i, update=update, partner=j, age=item["age"])
            return
        j = item["partner"]
        world.ages.append(world.changed[i] - item["age"])
        if j is not None and world.alive[j]:
            x[i] = x[j] = (x[i] + x[j]) / 2
            world.changed[j] += 1
        x[i] = x[i] + item["update"]
        world.changed[i] += 1
        begin(time, i)

    return world.play(begin, react, alive)


def swift(world: Simulation, skips: int = 0, memory: bool = True, alive: list[list[bool]] = EVERYBODY) -> Array:
    x = world.x
    mail: list[dict[int, tuple[Array, int]]] = [{} for _ in ALL]
    counters = [0] * CLIENTS

    def begin(time: Fraction, i: int) -> None:
        if world.free[i] <= time:
            for j in world.neighbours(i):
                world.at(world.arrival(time, i), j, letter=(i, x[i].copy(), world.changed[i]))
        world.at(time + world.takes(i), i, read=x[i].copy())

    def react(time: Fraction, i: int, item: Item) -> None:
        if "letter" in item:
            sender, model, age = item["letter"]
            mail[i][sender] = model, age
            return
        step = world.bout(item["read"], i) - item["read"]
        world.bouts[world.number, i] += 1
        counters[i] += 1
        if counters[i] % (skips + 1) == 0:
            degree = len(world.neighbours(i))
            others = [j for j in mail[i] if world.alive[j]]
            weights = {j: 1 / (1 + max(degree, len(world.neighbours(j)))) for j in others}
            x[i] = (1 - sum(weights.values())) * x[i] + sum(weights[j] * mail[i][j][0] for j in others)
            world.ages += [world.changed[j] - mail[i][j][1] for j in others]
            if not memory:
                mail[i].clear()
        x[i] = x[i] + step
        world.changed[i] += 1
        begin(time, i)

    return world.play(begin, react, alive)


def gossip_learning(
    world: Simulation, variant: str, average: str, period: float, account: tuple[int, int] | None, alive: list[list[bool]] = EVERYBODY
) -> Array:
    x = world.x
    t, tokens, busy = [0] * CLIENTS, [0] * CLIENTS, [False] * CLIENTS
    waiting: list[Any] = [None] * CLIENTS

    def begin(time: Fraction, i: int) -> None:
        busy[i], waiting[i] = False, None
        # A period begins at a whole number of nanoseconds.
        world.at(time + Fraction(int(world.draws.random() * period * 1e9), 10**9), i, tick=True)

    def send(time: Fraction, i: int) -> None:
        some = world.neighbours(i)
        if some:
            j = some[world.draws.integers(len(some))]
            world.at(world.arrival(time, i, BYTES + 8), j, letter=(i, x[i].copy(), t[i], world.changed[i]))

    def merged(i: int, own: Array, other: Array, count: int) -> Array:
        a = 0.5 if average == "half" or t[i] + count == 0 else count / (t[i] + count)
        t[i] = max(t[i], count)
        return (1 - a) * own + a * other

    def receive(time: Fraction, i: int) -> None:
        sender, model, count, age = waiting[i]
        waiting[i] = None
        world.ages.append(world.changed[sender] - age)
        busy[i] = True
        if variant == "merge_update":
            x[i] = model = merged(i, x[i], model, count)
            world.changed[i] += 1
        world.at(time + world.takes(i) * (2 if variant == "update_merge" else 1), i, read=model.copy(), count=count)

    def react(time: Fraction, i: int, item: Item) -> None:
        if "tick" in item:
            world.at(time + Fraction(period), i, tick=True)
            if account is not None:
                least, most = account
                chance = 0 if tokens[i] < least - 1 else min(1, (tokens[i] - least + 1) / (most - least + 1))
                if world.draws.random() >= chance:
                    tokens[i] += 1
                    return
            if world.free[i] <= time:
                send(time, i)
        elif "letter" in item:
            waiting[i] = item["letter"]
            if not busy[i]:
                receive(time, i)
        else:
            result = world.bout(item["read"], i)
            world.bouts[world.number, i] += 1
            if variant == "update_merge":
                world.bouts[world.number, i] += 1
                result = merged(i, world.bout(x[i], i), result, item["count"])
            elif variant == "update":
                t[i] = item["count"]
            x[i] = result
            world.changed[i] += 1
            t[i] += world.steps
            busy[i] = False
            if account is not None:
                answers = int(tokens[i] / account[0] + world.draws.random())
                tokens[i] -= answers
                for _ in range(answers):
                    send(time, i)
            if waiting[i] is not None:
                receive(time, i)

    return world.play(begin, react, alive)


def agrees(run: mf.Run, world: Simulation, wanted: Array) -> None:
    """Models, messages, bouts and staleness of a run are those of a simulation."""
    close(unpacked(run.models()), wanted)
    assert traffic(run) == (len(world.messages), sum(world.messages))
    records = run.metrics().to_polars()
    assert records["own.bouts"][1:].to_list() == world.bouts[1:].mean(axis=1).tolist()
    assert records["own.bouts.max"][1:].to_list() == world.bouts[1:].max(axis=1).tolist()
    assert records["own.seconds"][1:].to_list() == [world.window * number for number in range(1, 8)]
    assert records["own.staleness_max"].max() == max(world.ages) > 0


KEYS: list[dict[str, Any]] = [
    {"window": 2.0, "local": {"steps": 1}},
    {"window": 5.0, "local": {"steps": 2}, "latency": 0.375},
    {"window": 1.5, "local": {"steps": 1}, "latency": 0.25, "bandwidth": BYTES / 0.125},
    {"window": 2.0, "local": {"steps": 1}, "latency": 4.0, "bandwidth": BYTES / 2},
]


@pytest.mark.parametrize("keys", KEYS)
def test_ad_psgd(keys: dict[str, Any]) -> None:
    world = Simulation(**keys)
    agrees(run_of("ad_psgd", slowdown=SLOWDOWN, **keys), world, ad_psgd(world))


@pytest.mark.parametrize(("skips", "memory"), [(0, True), (0, False), (2, True), (1, False)])
@pytest.mark.parametrize("keys", KEYS[:3])
def test_swift(keys: dict[str, Any], skips: int, memory: bool) -> None:
    world = Simulation(**keys)
    agrees(run_of("swift", slowdown=SLOWDOWN, skips=skips, memory=memory, **keys), world, swift(world, skips, memory))


@pytest.mark.parametrize(("average", "account"), [("steps", None), ("half", (2, 4)), ("steps", (1, 2))])
@pytest.mark.parametrize("variant", ["merge_update", "update", "update_merge"])
@pytest.mark.parametrize("keys", KEYS[:3])
def test_gossip_learning(keys: dict[str, Any], variant: str, average: str, account: tuple[int, int] | None) -> None:
    world = Simulation(**keys)
    tokens = {} if account is None else {"tokens": True, "a": account[0], "c": account[1]}
    run = run_of("gossip_learning", slowdown=SLOWDOWN, variant=variant, average=average, period=1.0, **tokens, **keys)
    agrees(run, world, gossip_learning(world, variant, average, 1.0, account))


ALIVE: list[list[bool]] = []


def watched(kind: type[mf.methods._events.Asynchronous]) -> str:
    """The name of a method that notes who takes part in each round."""

    def round(self: Any, models: mf.Stack, round: mf.Round) -> None:
        ALIVE.append(round.alive.tolist())
        kind.round(self, models, round)

    name = f"watched_{kind.name}"  # type: ignore[attr-defined]
    type(name, (kind,), {"name": name, "version": "1", "round": round})
    return name


@pytest.mark.parametrize("keys", KEYS[:3])
@pytest.mark.parametrize("name", ["ad_psgd", "swift", "gossip_learning"])
def test_clients_that_go_and_come_back(name: str, keys: dict[str, Any]) -> None:
    ALIVE.clear()
    more: dict[str, Any] = {"variant": "merge_update", "period": 1.0} if name == "gossip_learning" else {}
    failures = [{"clients": {"share": 0.4}, "redraw": "each_round"}]
    run = run_of(watched(mf._own.METHODS[name]), slowdown=SLOWDOWN, failures=failures, **more, **keys)  # type: ignore[arg-type]
    assert len(ALIVE) == 7 and not all(map(all, ALIVE)) and any(now and not before for before, now in zip(*ALIVE[2:4], strict=True))
    world = Simulation(**keys)
    if name == "ad_psgd":
        wanted = ad_psgd(world, ALIVE)
    elif name == "swift":
        wanted = swift(world, alive=ALIVE)
    else:
        wanted = gossip_learning(world, "merge_update", "steps", 1.0, None, ALIVE)
    close(unpacked(run.models()), wanted)
    assert traffic(run) == (len(world.messages), sum(world.messages))


def test_pairs_preserve_the_mean_and_come_to_agree() -> None:
    def models_after(rounds: int) -> Array:
        base = experiment("ad_psgd", rounds=rounds, learning_rate=1e-30, sigma=0.5, latency=0.2)
        (run,) = mf.run({**base, "start": "independent"}, progress=False)
        return unpacked(run.models())

    one, many = models_after(1), models_after(40)
    assert np.abs(one[0] - one[4]).max() > 0.1
    np.testing.assert_allclose(many.mean(axis=0), one.mean(axis=0), atol=1e-6)
    assert np.abs(many - many.mean(axis=0)).max() < 0.01 * np.abs(one - one.mean(axis=0)).max()


def test_one_pair_of_ad_psgd() -> None:
    """Of two clients of the same speed, each bout first 0 averages and steps, then 1; both step from what they read after their last."""
    x = first_models()
    x0, x1 = x[0], x[1]
    read0, read1 = x0, x1
    for _ in range(7):
        mean = (x0 + x1) / 2
        x0, x1 = mean - RATE * gradient(read0, 0), mean
        read0 = x0
        x0 = (x0 + x1) / 2
        x1 = x0 - RATE * gradient(read1, 1)
        read1 = x1
    run = run_of("ad_psgd", failures=[{"clients": {"list": [2, 3, 4, 5, 6, 7]}}])
    close(unpacked(run.models())[:2], np.array([x0, x1]))
    assert traffic(run)[0] == 7 * 4


def test_swift_among_equals_is_d_sgd() -> None:
    x = first_models()
    for _ in range(7):
        x = np.array([sum(w * x[j] for j, w in ring(i).items()) - RATE * gradient(x[i], i) for i in ALL])
    run = run_of("swift")
    close(unpacked(run.models()), x)
    # A model is sent when a bout begins: seven bouts have ended, and the eighth has begun.
    assert traffic(run)[0] == 8 * 2 * CLIENTS


def test_a_client_alone_makes_its_local_steps() -> None:
    failures = [{"clients": {"list": [1, 7]}}]
    alone = first_models()[0]
    for _ in range(14):
        alone = alone - RATE * gradient(alone, 0)
    for name in ("ad_psgd", "swift"):
        close(unpacked(run_of(name, failures=failures, local={"steps": 2}).models())[0], alone)


def test_where_windows_end_changes_nothing() -> None:
    keys: dict[str, Any] = {"slowdown": SLOWDOWN, "latency": 0.375, "bandwidth": 1000, "skips": 1}
    seven, one = run_of("swift", window=2.0, **keys), run_of("swift", window=14.0, rounds=1, **keys)
    like(seven, one)
    assert traffic(seven) == traffic(one)


def test_as_many_bouts_end_in_a_window_as_there_are_clients() -> None:
    """By default; the lognormal speeds are drawn by the seed."""
    runs = [run_of("ad_psgd", sigma=sigma, rounds=40).metrics().to_polars() for sigma in (0.0, 1.0)]
    assert set(runs[0]["own.bouts.min"][1:]) == set(runs[0]["own.bouts.max"][1:]) == {1.0}
    assert runs[1]["own.bouts"][1:].mean() == pytest.approx(1, abs=0.05)
    assert max(runs[1]["own.bouts.max"][1:]) > 1 and min(runs[1]["own.bouts.min"][1:]) == 0
    (other,) = mf.run({**experiment("ad_psgd", sigma=1.0), "seed": 2}, progress=False)
    assert other.metrics().to_polars()["own.seconds"][-1] != runs[1]["own.seconds"][7]


def test_bouts_are_epochs_if_local_says_so() -> None:
    run = run_of("swift", local={"epochs": 2}, batch_size=10, seconds_per_step=0.5, slowdown=[1.0] * 8, window=3.0)
    records = run.metrics().to_polars()
    # Shards of 25 examples have three batches each.
    assert records["own.bouts.min"][1:].to_list() == [1] * 7 and records["local_steps"][-1] == 7 * 8 * 6


@pytest.mark.parametrize(
    ("name", "keys", "words"),
    [
        ("ad_psgd", {"seconds_per_step": 0}, "seconds_per_step: found the number 0, needed a number from 1e-9 to 1e6"),
        ("ad_psgd", {"sigma": -1}, "sigma: found the number -1, needed a number from 0 to 5"),
        ("ad_psgd", {"sigma": 1, "slowdown": [1.0] * 8}, "needed 0 beside `slowdown`"),
        ("ad_psgd", {"slowdown": [1.0, "fast"]}, "needed a list of numbers from 0.001 to 1000, one for each client"),
        ("swift", {"latency": -1}, "latency: found the number -1"),
        ("swift", {"bandwidth": 0}, "bandwidth: found the number 0"),
        ("swift", {"window": 0}, "window: found the number 0"),
        ("swift", {"skips": -1}, "skips: found the number -1"),
        ("gossip_learning", {"period": 0}, "period: found the number 0"),
        ("gossip_learning", {"a": 0}, "a: found the number 0"),
        ("gossip_learning", {"a": 3, "c": 2}, "needed a whole number of at least `a`"),
        ("gossip_learning", {"variant": "merge"}, "needed one of merge_update, update, update_merge"),
    ],
)
def test_keys_that_cannot_work_are_refused(name: str, keys: dict[str, Any], words: str) -> None:
    with pytest.raises(mf.ConfigError, match=words):
        run_of(name, **keys)


@pytest.mark.filterwarnings("ignore:transcribed. not every overlay")
def test_what_cannot_be_is_told_when_the_run_begins() -> None:
    with pytest.raises(mf.RunFailed, match="slowdown: found 2 numbers, needed one for each of 8 clients"):
        run_of("swift", slowdown=[1.0, 2.0])
    with pytest.raises(mf.RunFailed, match="client 0 may send to client 1 and not the other way, but clients average in pairs"):
        run_of("ad_psgd", topology="one_peer")
