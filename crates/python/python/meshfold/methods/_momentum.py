"""Methods whose momentum is a key of their own, as it is no part of the local steps."""

from __future__ import annotations

import meshfold as mf


class Momentum:
    """The key of the momentum.

    Attributes:
        beta: the momentum, at least 0 and below 1. It takes the place of `momentum`.
    """

    beta: float = 0.9

    def check(self) -> None:
        if not 0 <= self.beta < 1:
            raise mf.KeyFault.value("beta", "a number of at least 0 and below 1")

    def accumulate(self, momentum: mf.Stack, direction: mf.Stack, round: mf.Round) -> None:
        """`momentum <- beta momentum + direction`, in place, in rows of clients that take part."""
        momentum += (momentum * (self.beta - 1) + direction) * round.alive
