"""What methods with compressed messages send, and averages over what neighbours know of each other."""

from __future__ import annotations

import math
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

import meshfold as mf
from meshfold.methods._effects import expect_effect


def sending(round: mf.Round) -> NDArray[np.bool_]:
    """Which clients send in this round, `[N]`: not those that take no part, nor stragglers that only receive."""
    if not round.directed:
        return round.alive
    return round.alive & np.isin(np.arange(round.clients), round.edges[:, 0])


def qsgd_scale(parameters: int, bits: int) -> float:
    """`tau = 1 + min(d / s^2, sqrt(d) / s)`, by which rounded rows are divided: for `d` parameters and `s = 2**(bits - 1) - 1` levels.

    `round.quantize` is right in the mean, but what it adds may have `tau - 1` times the square of a row's norm: 12.7 times for 7,850
    parameters and 4 bits. Methods that send what earlier messages left out then diverge. Divided by `tau` it is a contraction: in the mean,
    `|C(x) - x|^2` is at most `(1 - 1 / tau) |x|^2`.

    Source: Koloskova, Stich and Jaggi, ICML 2019 (arXiv 1902.00340), Section 3.5; the variance is from Alistarh et al., NeurIPS 2017
    (arXiv 1610.02132), Lemma 3.1.
    """
    levels: int = 2 ** (bits - 1) - 1
    return 1 + min(parameters / levels**2, math.sqrt(parameters) / levels)


class Compressed:
    """The keys of a method that compresses its messages, and the operator C of its paper.

    Attributes:
        compression: `top_k` keeps the largest parameters of a row; `qsgd` rounds all at random to a few levels, and but in `lead` divides them by
            `1 + min(d / s**2, sqrt(d) / s)` for `d` parameters and `s = 2**(bits - 1) - 1` levels; `none` sends all as they are.
        keep: the share of the parameters that `top_k` keeps, above 0 and at most 1, rounded down to a number of parameters, at least one.
            It is refused beside another `compression`.
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
            stack /= qsgd_scale(stack.shape[1], self.bits)
        stack *= sending(round)
        return stack


def message_bytes(method: Compressed, parameters: int) -> int:
    """The bytes of a message of `method` for models of so many parameters."""
    if method.compression == "top_k":
        return 8 * max(1, int(method.keep * parameters + 1e-9))
    if method.compression == "qsgd":
        # The norm has 64 bits.
        return -(-method.bits * parameters // 8) + 8
    return 4 * parameters


class CompressedGossip(Compressed):
    """Compression, and averages over what neighbours know of each other.

    Attributes:
        gamma: the step of the averaging, above 0 and at most 1. The more is left out of messages, the smaller it must be. If absent, it is
            the usual one of the method, and with `qsgd` that times `min(1, 5 / (1 + min(d / s**2, sqrt(d) / s)))`.
    """

    usual_gamma: ClassVar[float] = 0.4

    gamma: float | None = None

    def check(self) -> None:
        super().check()
        if self.gamma is not None and not 0 < self.gamma <= 1:
            raise mf.KeyFault.value("gamma", "a number above 0 and at most 1")

    def average(self, stack: mf.Stack, known: mf.Stack, round: mf.Round) -> None:
        """`stack <- stack + gamma (W - I) known`, in place; both are `[R, P]`."""
        stack.add_scaled(known.copy().mix(round.mixing) - known, self.gamma_for(stack.shape[1]))

    def gamma_for(self, parameters: int) -> float:
        """The step of the averaging for models of so many parameters."""
        if self.gamma is not None:
            return self.gamma
        if self.compression != "qsgd":
            return self.usual_gamma
        # The theory has it in proportion to 1 / qsgd_scale. With 5, logistic regressions learn with any bits, and 5 bits have almost the usual one.
        return self.usual_gamma * min(1.0, 5 / qsgd_scale(parameters, self.bits))
