"""IOS: clients drop the messages that are farthest from the mean, one after another."""

from __future__ import annotations

import numpy as np

import meshfold as mf
from meshfold.methods._inbox import Inbox
from meshfold.methods._robust import AssumesAttackers


class Ios(AssumesAttackers, mf.Method):
    """Iterative outlier scissor (IOS). Attacks are those of all robust methods.

        T = the neighbours of i;   f times:   T <- T without the j of largest |m_ji - mean(T)|
        x_i <- mean(T),    mean(T) = (w_ii h_i + sum of w_ij m_ji over T) / (w_ii + sum of w_ij over T)

    A client never drops its own model. With `assumed: 0` it is D-SGD.

    # Interpretation
    A client with f neighbours or fewer keeps its own model, as `alone` does, and a run warns of such clients. In the paper
    a client steps along one gradient; here it does its local work.

    Source: Wu, Chen and Ling, IEEE Transactions on Signal Processing 2023 (arXiv 2206.04568).

    Attributes:
        assumed: f, how many neighbours each client takes for attackers.
    """

    mixes_by_weights = False
    with_fewer = "it drops all messages and keeps its own model, as the method alone does"

    def neighbours_needed(self) -> int:
        return self.assumed + 1

    def average(self, inbox: Inbox, round: mf.Round) -> mf.Stack:
        trusted = np.ones(len(inbox.rows), bool)
        for _ in range(self.assumed):
            if not trusted.any():
                break
            # What is no longer trusted comes first.
            distances = np.where(trusted, inbox.distances(inbox.mean(trusted)), -1)
            farthest = inbox.ordered(distances)[inbox.ends[inbox.degrees > 0] - 1]
            trusted[farthest] = False
        return inbox.mean(trusted)
