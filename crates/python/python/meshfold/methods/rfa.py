"""RFA: the geometric median of models, by a few steps of Weiszfeld's algorithm."""

from __future__ import annotations

import numpy as np

import meshfold as mf
from meshfold.methods._inbox import Inbox
from meshfold.methods._robust import RobustAveraging


class Rfa(RobustAveraging, mf.Method):
    """RFA. Attacks are those of all robust methods.

    Client i has n inputs v_j, h_i and all m_ji, with the weights w_ij of the overlay. It begins with their weighted mean z, and T times

        beta_j = w_ij / max(nu, |z - v_j|)
        z <- (sum_j beta_j v_j) / (sum_j beta_j),     then x_i <- z

    With T = 0 it is the weighted mean. As T grows, z comes near the geometric median: the point with the least sum of w_ij |z - v_j|.

    # Interpretation
    The paper has a server; here each client is the server of its neighbourhood, and the weights of the overlay take the place of shares of
    examples.

    Source: Pillutla, Kakade and Harchaoui, IEEE Transactions on Signal Processing 2022 (arXiv 1912.13445).

    Attributes:
        weiszfeld_steps: T.
        nu: the distance below which an input does not count for more.
    """

    weiszfeld_steps: int = 3
    nu: float = 1e-6

    def check(self) -> None:
        super().check()
        if self.weiszfeld_steps < 0:
            raise mf.KeyFault.value("weiszfeld_steps", "a whole number of at least 0")
        if not self.nu > 0:
            raise mf.KeyFault.value("nu", "a number above 0")

    def average(self, inbox: Inbox, round: mf.Round) -> mf.Stack:
        edges = inbox.edges()
        clients = edges[:, 1]
        weights = np.concatenate([inbox.weights, inbox.own_weights])
        median = inbox.sums(inbox.weights, inbox.own_weights)
        for _ in range(self.weiszfeld_steps):
            factors = weights / np.maximum(self.nu, inbox.sent.distances(edges, median))
            total = np.bincount(clients, factors, minlength=len(inbox.models))
            # Where models diverge, distances are NaN, or infinite all around a client. The run ends once it judges the models.
            if not (total > 0).all():
                return median
            shares = factors / total[clients]
            median = inbox.sent.weighted_sums(edges, shares, rows=len(inbox.models))
        return median
