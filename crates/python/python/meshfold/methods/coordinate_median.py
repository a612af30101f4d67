"""The median of each parameter."""

from __future__ import annotations

import meshfold as mf
from meshfold.methods._inbox import Inbox
from meshfold.methods._robust import RobustAveraging


class CoordinateMedian(RobustAveraging, mf.Method):
    """The coordinate-wise median, in BRIDGE's family BRIDGE-M. Attacks are those of all robust methods.

        x_i <- the median of h_i and all m_ji, parameter by parameter

    # Interpretation
    The median of an even number of values is the mean of the two in the middle. As for `bridge`, local work comes first.

    Source: Yin, Chen, Kannan and Bartlett, ICML 2018 (arXiv 1803.01498), with a server; over an overlay, Fang, Yang and Bajwa, IEEE
    Transactions on Signal and Information Processing over Networks 2022 (arXiv 1908.08098).
    """

    mixes_by_weights = False

    def average(self, inbox: Inbox, round: mf.Round) -> mf.Stack:
        return inbox.sent.medians(inbox.edges(), rows=len(inbox.models))
