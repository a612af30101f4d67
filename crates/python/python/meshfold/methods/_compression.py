"""What methods with compressed messages send."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

import meshfold as mf
from meshfold.methods._effects import expect_effect


def sending(round: mf.Round) -> NDArray[np.bool_]:
    """Which clients send in this round, `[N]`: not those that take no part, nor stragglers that only receive."""
    if not round.directed:
        return round.alive
    return round.alive & np.isin(np.arange(round.clients), round.edges[:, 0])


class Compressed:
    """The keys of a method that compresses its messages, and the operator C of its paper.

    Attributes:
        compression: `top_k` keeps the largest parameters of a row; `qsgd` rounds all at random to a few levels (unbiased); `none`
            sends all as they are.
        keep: the share of the parameters that `top_k` keeps, above 0 and at most 1. It is refused beside another `compression`.
        bits: bits of a parameter with `qsgd`, with the sign: 2 to 24. They are refused beside another `compression`.
    """

    compression: Literal["top_k", "qsgd", "none"] = "top_k"
    keep: float = 0.1
    bits: int = 4

    def check(self) -> None:
        if not 0 < self.keep <= 1:
            raise mf.KeyFault.value("keep", "a number above 0 and at most 1")
        if not 2 <= self.bits <= 24:
            raise mf.KeyFault.value("bits", "a whole number from 2 to 24")
        for key, compression in (("keep", "top_k"), ("bits", "qsgd")):
            needed = f"`compression: {compression}` beside it: it has no effect with `{self.compression}`"
            expect_effect(self, key, self.compression == compression, needed)

    def compressed(self, stack: mf.Stack, round: mf.Round) -> mf.Stack:
        """C of each row of `stack`, `[R, P]`, in place; zeros in rows of clients that send nothing."""
        if self.compression == "top_k":
            stack.top_k(self.keep)
        elif self.compression == "qsgd":
            round.quantize(stack, self.bits)
        stack *= sending(round)
        return stack


class CompressedGossip(Compressed):
    """Compression, and averages over what neighbours know of each other.

    Attributes:
        gamma: the step of the averaging, above 0 and at most 1. The more is left out of messages, the smaller it must be.
    """

    gamma: float = 0.4

    def check(self) -> None:
        super().check()
        if not 0 < self.gamma <= 1:
            raise mf.KeyFault.value("gamma", "a number above 0 and at most 1")

    def average(self, stack: mf.Stack, known: mf.Stack, round: mf.Round) -> None:
        """`stack <- stack + gamma (W - I) known`, in place; both are `[R, P]`."""
        stack.add_scaled(known.copy().mix(round.mixing) - known, self.gamma)
