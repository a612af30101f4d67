"""BALANCE: clients accept models that are close to their own, ever closer ones as training goes on."""

from __future__ import annotations

import numpy as np

import meshfold as mf
from meshfold.methods._inbox import Inbox
from meshfold.methods._robust import RobustAveraging


class Balance(RobustAveraging, mf.Method):
    """BALANCE. Attacks are those of all robust methods.

        j is accepted if   |h_i - m_ji| <= gamma exp(-kappa t / T) |h_i|
        x_i <- alpha h_i + (1 - alpha) mean of the accepted m_ji;   h_i if none is accepted

    If all are accepted and alpha is 1/(degree + 1), it is D-SGD with uniform weights.

    # Interpretation
    t is 0 in the first round, and T is the number of rounds that the run is planned to have.

    Source: Fang, Zhang, Hairi, Khanduri, Liu, Lu, Liu and Gong, CCS 2024 (arXiv 2406.10416).

    Attributes:
        alpha: the weight of the own model, from 0 to 1.
        gamma: the largest distance that is accepted at first, as a multiple of the norm of the own model.
        kappa: how much closer models must be later.
    """

    mixes_by_weights = False

    alpha: float = 0.5
    gamma: float = 0.3
    kappa: float = 1.0

    def check(self) -> None:
        super().check()
        if not 0 <= self.alpha <= 1:
            raise mf.KeyFault.value("alpha", "a number from 0 to 1")
        if not self.gamma > 0:
            raise mf.KeyFault.value("gamma", "a number above 0")
        if not self.kappa >= 0:
            raise mf.KeyFault.value("kappa", "a number of at least 0")

    def average(self, inbox: Inbox, round: mf.Round) -> mf.Stack:
        radius = inbox.models.norms() * self.gamma * np.exp(-self.kappa * (round.number - 1) / round.rounds)
        accepted = inbox.distances() <= radius[inbox.receivers]
        counts = inbox.per_client(accepted)
        weights = np.where(accepted, (1 - self.alpha) / np.maximum(1, counts)[inbox.receivers], 0.0)
        return inbox.sums(weights, np.where(counts > 0, self.alpha, 1.0))
