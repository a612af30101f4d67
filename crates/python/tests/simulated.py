"""Transcriptions of asynchronous methods: loops over events in double precision, which share no code with the methods.

Times are fractions of seconds, so that they are exact. Of events at one moment, those of the first client are first, and of one client those
that were made first.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from test_published import RATE
from transcribed import CLIENTS, Array, first_models, gradient, ring

#: Bytes of a whole model.
BYTES = 84
#: Seconds of a local step of each client: sums of them are exact in double precision.
SLOWDOWN = [1.0, 1.5, 0.25, 2.0, 1.0, 3.5, 0.5, 1.25]
ALL = range(CLIENTS)
EVERYBODY: list[list[bool]] = [[True] * CLIENTS] * 7

Item = dict[str, Any]


class Simulation:
    """A heap of events, and the models in double precision. Times are in seconds."""

    def __init__(
        self, local: dict[str, int], window: float, latency: float = 0.0, bandwidth: float | None = None, lost: float = 0.0
    ) -> None:
        #: The probability that a message is lost, from the third window on, and how many were.
        self.lost, self.number_lost = lost, 0
        self.x = first_models()
        self.steps, self.window, self.latency = local["steps"], Fraction(window), Fraction(latency)
        self.seconds = Fraction(0) if bandwidth is None else BYTES / Fraction(bandwidth)
        self.heap: list[tuple[Fraction, int, int, Item]] = []
        self.made = 0
        self.messages: list[int] = []
        self.bouts = np.zeros((8, CLIENTS), int)
        self.free = [Fraction(0)] * CLIENTS
        #: The staleness of all that is used in each window.
        self.ages: list[list[int]] = [[] for _ in range(8)]
        self.changed = [0] * CLIENTS
        #: When the model of each client has changed.
        self.moments: list[list[Fraction]] = [[] for _ in ALL]

    def at(self, time: Fraction, client: int, **item: Any) -> None:
        if "letter" in item and self.number >= 3 and self.losses.random() < self.lost:
            self.number_lost += 1
            self.made += 1
            return
        heapq.heappush(self.heap, (time, client, self.made, item))
        self.made += 1

    def bout(self, model: Array, client: int) -> Array:
        for _ in range(self.steps):
            model = model - RATE * gradient(model, client)
        return model

    def changes(self, client: int, time: Fraction) -> None:
        self.changed[client] += 1
        self.moments[client].append(time)

    def behind(self, sender: int, age: int, time: Fraction) -> int:
        """How often a model has changed before this moment since it was sent."""
        return max(0, sum(moment < time for moment in self.moments[sender]) - age)

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
            self.losses = np.random.default_rng([1, number, 1])
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
        world.ages[world.number].append(world.changed[i] - item["age"])
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
            world.ages[world.number] += [world.behind(j, mail[i][j][1], time) for j in others]
            if not memory:
                mail[i].clear()
        x[i] = x[i] + step
        world.changes(i, time)
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
        world.ages[world.number].append(world.behind(sender, age, time))
        busy[i] = True
        if variant == "merge_update":
            x[i] = model = merged(i, x[i], model, count)
            world.changes(i, time)
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
            world.changes(i, time)
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


def div_share(world: Simulation, parts: int, receivers: int) -> Array:
    x = world.x
    mail: list[dict[tuple[int, int], tuple[Array, int]]] = [{} for _ in ALL]
    draws = np.random.default_rng([1, 0, 1])
    orders = [draws.permutation(18), 18 + draws.permutation(3)]
    # 18 weights and 3 biases: what is left over is in the last fragment.
    fragments = [[i for order in orders for i in order[p * (len(order) // parts) :][: len(order) // parts]] for p in range(parts - 1)]
    fragments.append([i for i in range(21) if not any(i in some for some in fragments)])

    def begin(time: Fraction, i: int) -> None:
        world.at(time + world.takes(i), i, read=x[i].copy())

    def react(time: Fraction, i: int, item: Item) -> None:
        if "letter" in item:
            sender, part, values, age = item["letter"]
            mail[i][sender, part] = values, age
            return
        x[i] = world.bout(item["read"], i)
        world.bouts[world.number, i] += 1
        world.changes(i, time)
        others = [j for j in ALL if j != i]
        queue = [(part, j) for part in range(parts) for j in world.draws.choice(others, receivers, replace=False)]
        for place in world.draws.permutation(len(queue)):
            if world.free[i] >= time + world.takes(i):
                break
            part, j = queue[place]
            values = x[i].ravel()[fragments[part]]
            world.at(world.arrival(time, i, 4 * len(values)), int(j), letter=(i, part, values, world.changed[i]))
        total, count = x[i].ravel().copy(), np.ones(21)
        for (sender, part), (values, age) in mail[i].items():
            total[fragments[part]] += values
            count[fragments[part]] += 1
            world.ages[world.number].append(world.behind(sender, age, time))
        mail[i].clear()
        x[i] = (total / count).reshape(7, 3)
        begin(time, i)

    return world.play(begin, react, EVERYBODY)


def with_server(
    world: Simulation, exponent: float, message: Callable[[Array, Array], Array], heard: Callable[[Array, float], bool], alive: list[list[bool]]
) -> Array:
    """`message` is what a client sends of the models before and after its bout; `heard` may change `world.x`, and says whether it did."""
    updates = 0

    def begin(time: Fraction, i: int) -> None:
        world.messages.append(BYTES)
        world.at(time + world.seconds + world.latency, i, down=world.x[0].copy(), seen=updates)

    def react(time: Fraction, i: int, item: Item) -> None:
        nonlocal updates
        if "down" in item:
            world.at(time + world.takes(i), i, read=item["down"], seen=item["seen"])
        elif "read" in item:
            world.bouts[world.number, i] += 1
            told = message(item["read"], world.bout(item["read"], i))
            world.at(world.arrival(time, i), i, told=told, seen=item["seen"])
        else:
            staleness = updates - item["seen"]
            world.ages[world.number].append(staleness)
            updates += heard(item["told"], (1 + staleness) ** -exponent)
            begin(time, i)

    return world.play(begin, react, alive)


def fed_async(world: Simulation, mixing: float, exponent: float, alive: list[list[bool]] = EVERYBODY) -> Array:
    def heard(model: Array, weight: float) -> bool:
        world.x[:] = (1 - mixing * weight) * world.x[0] + mixing * weight * model
        return True

    return with_server(world, exponent, lambda before, after: after, heard, alive)


def fed_buff(world: Simulation, buffer: int, rate: float, exponent: float, alive: list[list[bool]] = EVERYBODY) -> Array:
    held: list[Array] = []

    def heard(update: Array, weight: float) -> bool:
        held.append(weight * update)
        if len(held) < buffer:
            return False
        world.x[:] = world.x[0] + rate / buffer * sum(held)
        held.clear()
        return True

    return with_server(world, exponent, lambda before, after: after - before, heard, alive)
