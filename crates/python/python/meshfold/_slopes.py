"""Compares the gradients of a user's model with differences of its losses, along a random direction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

#: The most that the longer of two steps moves a parameter in the mean, and its largest length.
_MOVES = 0.02
_LONGEST = 1.0
#: How many times as long it is as the other one. A step along which hidden units switch or numbers are rounded has another slope.
_APART = 20
#: How far the slopes of the two steps may differ, as a share of them.
_AGREE = 0.1
#: How far the slopes of the shorter step forwards and backwards may differ, as a share of the slope.
_STRAIGHT = 0.5
#: How many rounding errors of a loss a difference must have at least.
_CLEAR = 30.0
#: How far gradients may be off, as a share of the slope.
_OFF = 0.5

Numbers = NDArray[np.float32]


class Slope(NamedTuple):
    """How the loss of a model changes along a direction of length one."""

    #: By differences of losses.
    found: float
    #: By the gradient.
    claimed: float


def wrong_slope(losses_at: Callable[[Numbers], Any], rows: Numbers, losses: Numbers, gradients: Numbers) -> Slope | None:
    """The slope of the first row if the gradients of all rows are off by more than half; None if they are not, or if nothing is known.

    Nothing is known where a difference is hardly larger than rounding errors, where two steps have different slopes, as at a kink, or
    where losses cannot be had.

    Args:
        losses_at: the losses `[R]` of other models, made from a copy of `rows`.
        rows: the models, `[R, P_pad]`.
        losses: their losses, `[R]`.
        gradients: their gradients, `[R, P_pad]`, zero in the padding.
    """
    direction = np.random.default_rng(0).standard_normal(rows.shape, np.float32)
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    claimed = (gradients * direction).sum(axis=1, dtype=np.float64)
    if not np.isfinite(claimed).all():
        return None
    length = min(_LONGEST, _MOVES * rows.shape[1] ** 0.5)
    try:
        with np.errstate(all="ignore"):
            found = _slopes(losses_at, rows, losses, direction, length)
    except Exception:  # A model may raise anything where its parameters are none that it would meet.
        return None
    if found is None or not (np.abs(claimed - found) > _OFF * np.abs(found)).all():
        return None
    return Slope(float(found[0]), float(claimed[0]))


def _slopes(
    losses_at: Callable[[Numbers], Any], rows: Numbers, losses: Numbers, direction: Numbers, length: float
) -> NDArray[np.float64] | None:
    """The slope of each row, `[R]`; None if steps do not tell it. The longer one has the length `length`."""
    at, slopes = np.asarray(losses, np.float64), []
    for step in (length / _APART, length):
        ahead, behind = (np.asarray(losses_at(rows + np.float32(sign * step) * direction), np.float64) for sign in (1, -1))
        slopes.append((ahead - behind) / (2 * step))
        is_straight = step == length or np.abs(ahead + behind - 2 * at) / step <= _STRAIGHT * np.abs(slopes[0])
        is_clear = np.abs(slopes[0]) * step > _CLEAR * np.finfo(np.float32).eps * np.maximum(np.abs(at), 1e-6)
        # False for what is not finite, too.
        if not np.all(is_straight & is_clear):
            return None
    short, long = slopes
    return short if (np.abs(long - short) <= _AGREE * np.abs(short)).all() else None
