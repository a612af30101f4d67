"""BRIDGE-T: the trimmed mean of each parameter."""

from __future__ import annotations

import numpy as np

import meshfold as mf
from meshfold.methods._inbox import Inbox
from meshfold.methods._robust import AssumesAttackers


class Bridge(AssumesAttackers, mf.Method):
    """BRIDGE with the trimmed mean, BRIDGE-T. Attacks are those of all robust methods.

    For each parameter, client i drops the b largest and the b smallest of the numbers that it received, and adds its own to the rest:

        x_i <- (h_i + the sum of the numbers kept) / (degree_i - 2 b + 1)

    With `assumed: 0` it is D-SGD with uniform weights.

    # Interpretation
    A client of degree 2 b or less drops as many as leave one number or two: with degree 2 none, and a run warns of such clients. In the paper
    a client averages, then steps along its gradient at its old model; here it does its local work, then averages.

    Source: Fang, Yang and Bajwa, IEEE Transactions on Signal and Information Processing over Networks 2022 (arXiv 1908.08098).

    Attributes:
        assumed: b, how many neighbours of each client may attack.
    """

    mixes_by_weights = False
    with_fewer = "it drops fewer numbers, with two neighbours or one none, which is D-SGD"

    def neighbours_needed(self) -> int:
        return 2 * self.assumed + 1

    def average(self, inbox: Inbox, round: mf.Round) -> mf.Stack:
        degrees = inbox.degrees
        dropped = np.clip((degrees - 1) // 2, 0, self.assumed)
        # Who has no messages averages its own model.
        means = inbox.sent.trimmed_means(inbox.edges(own=degrees == 0), dropped, rows=len(degrees))
        kept = np.maximum(1, degrees - 2 * dropped)
        means *= kept / (kept + 1)
        return means.add_scaled(inbox.models, 1 / (kept + 1))
