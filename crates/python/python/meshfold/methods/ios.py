"""IOS: clients drop the messages that are farthest from the mean, one after another."""

from __future__ import annotations

import numpy as np

import meshfold as mf
from meshfold.methods._robust import AssumesAttackers, Received, Rows


class Ios(AssumesAttackers, mf.Method):
    """Iterative outlier scissor (IOS). Attacks are those of all robust methods.

        T = the neighbours of i;   f times:   T <- T without the j of largest |m_ji - mean(T)|
        x_i <- mean(T),    mean(T) = (w_ii h_i + sum of w_ij m_ji over T) / (w_ii + sum of w_ij over T)

    A client never drops its own model. With `assumed: 0` it is D-SGD.

    # Interpretation
    A client with f neighbours or fewer keeps its own model. In the paper a client steps along one gradient; here it does its local work.

    Source: Wu, Chen and Ling, IEEE Transactions on Signal Processing 2023 (arXiv 2206.04568).

    Attributes:
        assumed: f, how many neighbours each client takes for attackers.
    """

    def average(self, received: Received, round: mf.Round) -> Rows:
        trusted = np.arange(len(received.models))
        for _ in range(min(self.assumed, len(trusted))):
            distances = np.linalg.norm(received.models[trusted] - received.mean(trusted), axis=1)
            trusted = np.delete(trusted, distances.argmax())
        return received.mean(trusted) if len(trusted) > 0 else received.own
