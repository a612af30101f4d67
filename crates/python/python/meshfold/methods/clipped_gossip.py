"""ClippedGossip: clients shorten the differences to the models that they receive."""

from __future__ import annotations

from typing import Literal

import numpy as np

import meshfold as mf
from meshfold.methods._robust import Received, RobustAveraging, Rows, weighted_sum


class ClippedGossip(RobustAveraging, mf.Method):
    """ClippedGossip, also called self-centered clipping. Attacks are those of all robust methods.

        x_i <- h_i + sum_j w_ij clip(m_ji - h_i, tau_i),    clip(z, tau) = z min(1, tau / |z|)

    With `tau: none` nothing is shortened: this is D-SGD, and with attackers the baseline without a defence.

    # Interpretation
    `adaptive` is the rule of the authors' code: tau_i is the second largest distance |m_ji - h_i| of the round, or the only one. The
    theory has a radius that needs to know who is honest.

    Source: He, Karimireddy and Jaggi, 2022 (arXiv 2202.01545); the paper's momentum (1 - a) m + a g is `momentum: 1 - a` with
    a learning rate of a times the paper's.

    Attributes:
        tau: the longest difference, above 0; `adaptive` or `none`.
    """

    tau: float | Literal["adaptive", "none"] = "adaptive"

    def check(self) -> None:
        super().check()
        if not isinstance(self.tau, str) and not self.tau > 0:
            raise mf.KeyFault.value("tau", "a number above 0, `adaptive` or `none`")

    def average(self, received: Received, round: mf.Round) -> Rows:
        differences = received.models - received.own
        weights = received.weights
        if self.tau != "none":
            distances = np.linalg.norm(differences, axis=1)
            tau = np.sort(distances)[-2:][0] if self.tau == "adaptive" else self.tau
            weights = weights * np.divide(tau, distances, out=np.ones_like(distances), where=distances > tau)
        return received.own + weighted_sum(weights, differences)
