"""Krum and multi-Krum: clients take the models that lie closest to others."""

from __future__ import annotations

import numpy as np

import meshfold as mf
from meshfold.methods._robust import AssumesAttackers, Received, Rows


class Krum(AssumesAttackers, mf.Method):
    """Krum, and multi-Krum with `best` above 1. Attacks are those of all robust methods.

    Client i has n inputs v, h_i and all m_ji. It rates each by its distances to the others, and takes the mean of the m best:

        score(v) = the sum of the n - f - 2 smallest |v - u|^2 over the other inputs u
        x_i <- the mean of the m inputs of least score

    # Interpretation
    At least one distance counts, even if n < f + 3. Equal scores: its own model goes first, then neighbours in their order. If there are
    fewer than m inputs, all count. The rule takes the models after local work, as BRIDGE-K does, and no gradients.

    Source: Blanchard, El Mhamdi, Guerraoui and Stainer, NeurIPS 2017 (arXiv 1703.02757), with a server.

    Attributes:
        assumed: f, how many inputs of each client may be of attackers.
        best: m, how many inputs are averaged.
    """

    best: int = 1

    def check(self) -> None:
        super().check()
        if self.best < 1:
            raise mf.KeyFault.value("best", "a whole number of at least 1")

    def average(self, received: Received, round: mf.Round) -> Rows:
        inputs = np.concatenate([received.own[None], received.models])
        squares = np.array([np.linalg.norm(inputs - one, axis=1).astype(float) ** 2 for one in inputs])
        np.fill_diagonal(squares, np.inf)
        counted = max(1, len(inputs) - self.assumed - 2)
        scores = np.sort(squares, axis=1)[:, :counted].sum(axis=1)
        return np.asarray(inputs[np.argsort(scores, kind="stable")[: self.best]].mean(axis=0))
