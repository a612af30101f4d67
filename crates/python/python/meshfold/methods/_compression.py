"""What methods with compressed messages send."""

from __future__ import annotations

from typing import Literal

import meshfold as mf


class Compressed:
    """The keys of a method that compresses its messages, and the operator C of its paper.

    Attributes:
        compression: `top_k` keeps the largest parameters of a row; `qsgd` rounds all at random to a few levels (unbiased); `none`
            sends all as they are.
        keep: the share of the parameters that `top_k` keeps, above 0 and at most 1.
        bits: bits of a parameter with `qsgd`, with the sign: 2 to 24.
    """

    compression: Literal["top_k", "qsgd", "none"] = "top_k"
    keep: float = 0.1
    bits: int = 4

    def check(self) -> None:
        if not 0 < self.keep <= 1:
            raise mf.KeyFault.value("keep", "a number above 0 and at most 1")
        if not 2 <= self.bits <= 24:
            raise mf.KeyFault.value("bits", "a whole number from 2 to 24")

    def compressed(self, stack: mf.Stack, round: mf.Round) -> mf.Stack:
        """C of each row of `stack`, `[R, P]`, in place; zeros in rows of clients that take no part, which send nothing."""
        if self.compression == "top_k":
            stack.top_k(self.keep)
        elif self.compression == "qsgd":
            round.quantize(stack, self.bits)
        stack *= round.alive
        return stack
