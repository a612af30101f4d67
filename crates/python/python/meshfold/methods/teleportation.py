"""Teleportation: few models wander among many clients, and mix over a small overlay of their own."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

import meshfold as mf


class Teleportation(mf.Method):
    """Teleportation with k models for N clients. There is no overlay of clients: drop `topology`.

    Each round draws an ordered sample a(1), ..., a(k) of the clients without replacement, the same for all. Client a(l) takes the model of
    slot l, makes its local steps, and mixes over an overlay of the k slots:

        h_l = z_l after the local steps of client a(l)
        z_l <- sum_m w_lm h_m

    The models of the run are those of the slots: row i is slot i mod k. With as many slots as clients all clients train in each round.

    Messages of a round: one over each edge of the small overlay in each direction, and one for each slot that goes on to another client.

    # Interpretation
    Clients are drawn among those that take part; if they are fewer than k, only the first slots go on, over an overlay of their number. A
    slot whose last client is absent goes on all the same, and this message does not count. Momentum begins at zero in each round. Weights
    are 1/(degree + 1). The paper's own overlay of the slots, Base-2, is none of these; `one_peer` is exact in log2 k rounds if k is a power of 2.

    Source: Takezawa and Stich, ICLR 2025 (arXiv 2501.15259).

    Attributes:
        slots: k, from 1 to the number of clients.
        slots_topology: the overlay of the slots: `ring`, `complete`, `exponential` (slot l hears from l - 1, l - 2, l - 4, ...), or
            `one_peer`, which takes one of these hops in each round, in turn.
    """

    sends_models = False
    overlay = False
    slots: int = 8
    slots_topology: Literal["ring", "complete", "exponential", "one_peer"] = "one_peer"

    def check(self) -> None:
        if self.slots < 1:
            raise mf.KeyFault.value("slots", "a whole number of at least 1")

    def forecast(self, about: mf.PlannedRound) -> dict[str, float]:
        slots = min(self.slots, about.clients)
        cycle = range(1, max(2, slots.bit_length() + 1))
        links = sum(int(self._adjacent(slots, number).sum()) for number in cycle) / len(cycle)
        # A slot stays with its client by chance alone.
        moves = slots * (1 - 1 / about.clients)
        return {"local_steps": slots * float(about.local_steps.mean()), "bytes": (links + moves) * about.model_bytes}

    def start(self, models: mf.Stack, *about: mf.Start) -> None:
        if self.slots > len(models):
            raise ValueError(f"slots: found {self.slots}, but there are {len(models)} clients")
        self.holders = np.full(self.slots, -1)

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        alive = np.flatnonzero(round.alive)
        clients = np.random.default_rng([round.seed, round.number]).permutation(alive)[: self.slots]
        active = len(clients)
        before = self.holders[:active]
        gone_on = (before >= 0) & (before != clients) & np.isin(before, alive)
        slots = models.gather(range(active))
        round.train(slots, clients=clients)
        adjacent = self._adjacent(active, round.number)
        receivers, senders = np.nonzero(adjacent)
        round.send(
            models,
            edges=np.concatenate(
                [np.stack([before, clients], axis=1)[gone_on], np.stack([clients[senders], clients[receivers]], axis=1)]
            ),
        )
        slots.mix((adjacent + np.eye(active)) / (adjacent.sum(axis=1, keepdims=True) + 1))
        models.scatter(range(active), slots)
        models.set(models.gather(np.arange(round.clients) % self.slots))
        self.holders[:active] = clients

    def _adjacent(self, slots: int, number: int) -> NDArray[np.bool_]:
        """Whether a slot hears from another in round `number`, `[slots, slots]`."""
        hops = [2**power for power in range(slots.bit_length()) if 2**power < slots]
        if self.slots_topology == "ring":
            hops = [1, -1]
        elif self.slots_topology == "complete":
            hops = list(range(1, slots))
        elif self.slots_topology == "one_peer" and hops:
            hops = [hops[(number - 1) % len(hops)]]
        adjacent = np.zeros((slots, slots), bool)
        for hop in hops:
            adjacent[np.arange(slots), (np.arange(slots) - hop) % slots] = True
        np.fill_diagonal(adjacent, False)
        return adjacent
