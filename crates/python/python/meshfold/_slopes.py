"""Compares the gradients of a user's model with differences of its losses, along a random direction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

#: The length of the longer of two steps, as a share of that of a model; and how far it moves a parameter at least, in the mean.
_SHARE = 0.1
_LEAST = 0.001
#: How many times as long it is as the other one. A step along which hidden units switch or numbers are rounded has another slope.
_APART = 20
#: How far the slopes of the two steps may differ, as a share of them.
_AGREE = 0.1
#: How far the slopes of the shorter step forwards and backwards may differ, as a share of the slope.
_STRAIGHT = 0.5
#: Directions that are tried one after another until the slopes of all rows are known; some are nearly level.
_DIRECTIONS = 6
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
    draws = np.random.default_rng(0)
    length = max(_SHARE * float(np.linalg.norm(rows[0])), _LEAST * rows.shape[1] ** 0.5)
    # Of the first direction that tells the slope of a row.
    found, claimed = np.full((2, len(rows)), np.nan)
    for _ in range(_DIRECTIONS):
        direction = draws.standard_normal(rows.shape, np.float32)
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        try:
            with np.errstate(all="ignore"):
                slopes = _slopes(losses_at, rows, losses, direction, length)
        except Exception:  # A model may raise anything where its parameters are none that it would meet.
            return None
        news = np.isnan(found) & np.isfinite(slopes)
        found[news] = slopes[news]
        claimed[news] = (gradients * direction).sum(axis=1, dtype=np.float64)[news]
        if not np.isnan(found).any():
            break
    # False for what is not known, and for gradients that are not finite.
    is_off = np.isfinite(claimed) & (np.abs(claimed - found) > _OFF * np.abs(found))
    return Slope(float(found[0]), float(claimed[0])) if is_off.all() else None


def _slopes(
    losses_at: Callable[[Numbers], Any], rows: Numbers, losses: Numbers, direction: Numbers, length: float
) -> NDArray[np.float64]:
    """The slope of each row, `[R]`; NaN where steps do not tell it. The longer one has the length `length`."""
    at = np.asarray(losses, np.float64)
    short, (ahead, behind) = _differences(losses_at, rows, direction, length / _APART)
    long, _ = _differences(losses_at, rows, direction, length)
    is_straight = np.abs(ahead + behind - 2 * at) / (length / _APART) <= _STRAIGHT * np.abs(short)
    is_clear = np.abs(short) * length / _APART > _CLEAR * np.finfo(np.float32).eps * np.maximum(np.abs(at), 1e-6)
    agree = np.abs(long - short) <= _AGREE * np.abs(short)
    return np.where(is_straight & is_clear & agree, short, np.nan)


def _differences(
    losses_at: Callable[[Numbers], Any], rows: Numbers, direction: Numbers, step: float
) -> tuple[NDArray[np.float64], list[NDArray[np.float64]]]:
    """The slope of each row by a step forwards and one backwards, and the losses there."""
    there = [np.asarray(losses_at(rows + np.float32(sign * step) * direction), np.float64) for sign in (1, -1)]
    return (there[0] - there[1]) / (2 * step), there
