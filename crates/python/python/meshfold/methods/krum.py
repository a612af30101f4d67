"""Krum and multi-Krum: clients take the models that lie closest to others."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import meshfold as mf
from meshfold.methods._inbox import Inbox
from meshfold.methods._robust import AssumesAttackers


class Krum(AssumesAttackers, mf.Method):
    """Krum, and multi-Krum with `best` above 1. Attacks are those of all robust methods.

    Client i has n inputs v, h_i and all m_ji. It rates each by its distances to the others, and takes the mean of the m best:

        score(v) = the sum of the n - f - 2 smallest |v - u|^2 over the other inputs u
        x_i <- the mean of the m inputs of least score

    # Interpretation
    At least one distance counts, even if n < f + 3. The paper needs n >= 2 f + 3, and a run warns of clients with fewer inputs.
    Equal scores: its own model goes first, then neighbours in their order. If there are fewer than m inputs, all count. The rule takes the
    models after local work, as BRIDGE-K does, and no gradients.

    Source: Blanchard, El Mhamdi, Guerraoui and Stainer, NeurIPS 2017 (arXiv 1703.02757), with a server.

    Attributes:
        assumed: f, how many inputs of each client may be of attackers.
        best: m, how many inputs are averaged.
    """

    mixes_by_weights = False
    with_fewer = "among fewer than 2 f + 3 inputs, its own model counted, f attackers may choose the result"

    best: int = 1

    def check(self) -> None:
        super().check()
        if self.best < 1:
            raise mf.KeyFault.value("best", "a whole number of at least 1")

    def neighbours_needed(self) -> int:
        return 2 * self.assumed + 2

    def average(self, inbox: Inbox, round: mf.Round) -> mf.Stack:
        inputs = [np.array([client, *rows]) for client, rows in enumerate(np.split(inbox.rows, inbox.ends[:-1]))]
        sides = [np.triu_indices(len(rows), 1) for rows in inputs]
        pairs = [np.stack([rows[left], rows[right]], axis=1) for rows, (left, right) in zip(inputs, sides, strict=True)]
        distances = inbox.sent.distances(np.concatenate(pairs))
        of_client = np.split(distances**2, np.cumsum([len(pair) for pair in pairs])[:-1])
        chosen = [rows[self._best(len(rows), *of_rows)] for rows, of_rows in zip(inputs, zip(sides, of_client, strict=True), strict=True)]
        edges = [(row, client) for client, rows in enumerate(chosen) for row in rows]
        weights = [1 / len(rows) for rows in chosen for _ in rows]
        return inbox.sent.weighted_sums(edges, weights, rows=len(inputs))

    def _best(self, count: int, sides: tuple[NDArray[np.intp], NDArray[np.intp]], squares: NDArray[np.float64]) -> NDArray[np.intp]:
        """The places of the inputs of least score among `count`, by the squared distances of all pairs of them."""
        apart = np.full((count, count), np.inf)
        left, right = sides
        apart[left, right] = apart[right, left] = squares
        scores = np.sort(apart, axis=1)[:, : max(1, count - self.assumed - 2)].sum(axis=1)
        return np.argsort(scores, kind="stable")[: self.best]
