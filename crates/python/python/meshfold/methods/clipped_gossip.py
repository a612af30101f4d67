"""ClippedGossip: clients shorten the differences to the models that they receive."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

import meshfold as mf
from meshfold.methods._inbox import Inbox
from meshfold.methods._robust import RobustAveraging


class ClippedGossip(RobustAveraging, mf.Method):
    """ClippedGossip, also called self-centered clipping. Attacks are those of all robust methods.

        x_i <- h_i + sum_j w_ij clip(m_ji - h_i, tau_i),    clip(z, tau) = z min(1, tau / |z|)

    With `tau: none` nothing is shortened: this is D-SGD, and with attackers the baseline without a defence.

    # Interpretation
    `adaptive` is the rule of the authors' code: tau_i is the second largest distance |m_ji - h_i| of the round, or the only one. **It is a
    defence against one attacker among the neighbours of a client at most.** Of two or more whose messages lie far away, the second sets
    tau_i, so that nothing of it is shortened, and the others come as near. A client with one neighbour shortens nothing. Give `tau` a number
    against more attackers. The theory has a radius that needs to know who is honest.

    Source: He, Karimireddy and Jaggi, 2022 (arXiv 2202.01545); the paper's momentum (1 - a) m + a g is `momentum: 1 - a` with
    a learning rate of a times the paper's.

    Attributes:
        tau: the longest difference, above 0; `adaptive`, which stands one attacker among a client's neighbours; or `none`.
    """

    tau: float | Literal["adaptive", "none"] = "adaptive"

    def check(self) -> None:
        super().check()
        if not isinstance(self.tau, str) and not self.tau > 0:
            raise mf.KeyFault.value("tau", "a number above 0, `adaptive` or `none`")

    def average(self, inbox: Inbox, round: mf.Round) -> mf.Stack:
        weights = inbox.weights
        if self.tau != "none":
            distances = inbox.distances()
            tau = self._adapted(inbox, distances) if self.tau == "adaptive" else np.full_like(distances, self.tau)
            weights = weights * np.divide(tau, distances, out=np.ones_like(distances), where=distances > tau)
        return inbox.sums(weights, 1 - inbox.per_client(weights))

    def _adapted(self, inbox: Inbox, distances: NDArray[np.float64]) -> NDArray[np.float64]:
        """The radius of each message's receiver, `[M]`."""
        second = np.maximum(inbox.ends - 2, inbox.ends - inbox.degrees)[inbox.receivers]
        return np.asarray(distances[inbox.ordered(distances)[second]])
