"""BRIDGE-T: the trimmed mean of each parameter."""

from __future__ import annotations

import numpy as np

import meshfold as mf
from meshfold.methods._robust import AssumesAttackers, Received, Rows


class Bridge(AssumesAttackers, mf.Method):
    """BRIDGE with the trimmed mean, BRIDGE-T. Attacks are those of all robust methods.

    For each parameter, client i drops the b largest and the b smallest of the numbers that it received, and adds its own to the rest:

        x_i <- (h_i + the sum of the numbers kept) / (degree_i - 2 b + 1)

    With `assumed: 0` it is D-SGD with uniform weights.

    # Interpretation
    A client of degree 2 b or less drops as many as leave one number or two. In the paper a client averages, then steps along its gradient
    at its old model; here it does its local work, then averages.

    Source: Fang, Yang and Bajwa, IEEE Transactions on Signal and Information Processing over Networks 2022 (arXiv 1908.08098).

    Attributes:
        assumed: b, how many neighbours of each client may attack.
    """

    def average(self, received: Received, round: mf.Round) -> Rows:
        degree = len(received.models)
        dropped = min(self.assumed, (degree - 1) // 2)
        kept = np.sort(received.models, axis=0)[dropped : degree - dropped]
        return np.asarray((received.own + kept.sum(axis=0)) / np.float32(len(kept) + 1))
