"""PENS: clients find those with data like their own by how well models do on it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import meshfold as mf


class Pens(mf.Method):
    """PENS, both phases. There is no overlay: drop `topology`.

    First, for `search` rounds, client i receives the models of n random others, judges each by its loss on all of its own training
    examples, and averages with the m best:

        x_i <- (h_i + the sum of the m models h_j of least loss) / (m + 1)

    Then it keeps to its neighbours N_i: those that were among the best more often than if it had chosen at random,

        j in N_i   if   chosen_ij > (m/n) received_ij,

    and in each round averages with m of N_i at random, or with all if there are fewer.

    # Interpretation
    Clients draw among those that take part. A client that found no neighbours hears random clients in the second phase, as in the simulator
    gossipy, from which the threshold is. How many models a client hears in a round of that phase the paper leaves open; here it is m.

    Source: Onoszko, Karlsson, Mogren and Listo Zec, FL-ICML 2021 (arXiv 2107.08517).

    Attributes:
        search: the rounds of the first phase.
        sampled: n, how many models a client receives in each of them, fewer than there are clients.
        best: m, with how many of them it averages.
    """

    overlay = False
    search: int = 20
    sampled: int = 5
    best: int = 2

    def check(self) -> None:
        if self.search < 0:
            raise mf.KeyFault.value("search", "a whole number of at least 0")
        if not 1 <= self.best <= self.sampled:
            raise mf.KeyFault.value("best", "a whole number from 1 to `sampled`")

    def forecast(self, about: mf.PlannedRound) -> dict[str, float]:
        searching = min(self.search, about.rounds) / max(1, about.rounds)
        received = searching * self.sampled + (1 - searching) * self.best
        return {"bytes": about.clients * min(received, about.clients - 1) * about.model_bytes}

    def start(self, models: mf.Stack, *about: mf.Start) -> None:
        if self.sampled >= len(models):
            most = len(models) - 1
            raise ValueError(f"sampled: found {self.sampled}, but there are {len(models)} clients: each receives from at most {most} others")
        self.received = np.zeros((len(models), len(models)), np.int32)
        self.chosen = np.zeros((len(models), len(models)), np.int32)

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        round.train(models)
        searching = round.number <= self.search
        senders = self._drawn(round, searching)
        edges = np.array([[sender, client] for client, some in enumerate(senders) for sender in some], int).reshape(-1, 2)
        round.send(models, edges=edges)
        if searching and len(edges) > 0:
            self.received[edges[:, 1], edges[:, 0]] += 1
            losses = np.full((round.clients, round.clients), np.inf)
            losses[edges[:, 1], edges[:, 0]] = round.evaluate(models.gather(edges[:, 0]), clients=edges[:, 1])[0]
            senders = [some[losses[client, some].argsort(kind="stable")][: self.best] for client, some in enumerate(senders)]
        weights = np.eye(round.clients)
        for client, some in enumerate(senders):
            weights[client, some] = 1
            self.chosen[client, some] += searching
        models.mix(weights / weights.sum(axis=1, keepdims=True))

    def _drawn(self, round: mf.Round, searching: bool) -> list[NDArray[np.intp]]:
        """Whose models each client receives in this round."""
        draws = np.random.default_rng([round.seed, round.number])
        known = self.chosen * self.sampled > self.best * self.received
        known[~known.any(axis=1)] = True
        may_send = np.outer(round.alive, round.alive) & ~np.eye(round.clients, dtype=bool) & (searching | known)
        wanted = self.sampled if searching else self.best
        some = [np.flatnonzero(row) for row in may_send]
        return [draws.choice(clients, min(wanted, len(clients)), replace=False) for clients in some]
