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
#: How many times as short both are where the first ones tell no slope.
_SHORTER = 5
#: How far the slopes of the two steps may differ, as a share of them.
_AGREE = 0.1
#: How far the slopes of the shorter step forwards and backwards may differ, as a share of the slope.
_STRAIGHT = 0.5
#: Directions that are tried one after another; some are nearly level.
_DIRECTIONS = 8
#: How many rounding errors of a loss a difference must have at least.
_CLEAR = 30.0
#: How far gradients may be off along a direction, as a share of the slope.
_FAR = 0.5
#: How far they may be off to the same side along all directions, of at least so many slopes. Hidden units that switch make a slope wrong by more
#: than that in places, but not everywhere and to one side.
_OFF = 0.15
_SLOPES = 6

Numbers = NDArray[np.float32]


class Slope(NamedTuple):
    """How the loss of a model changes along a direction of length one."""

    #: By differences of losses.
    found: float
    #: By the gradient.
    claimed: float


def wrong_slope(losses_at: Callable[[Numbers], Any], rows: Numbers, losses: Numbers, gradients: Numbers) -> Slope | None:
    """The slope of the first row if the gradients of all rows are off; None if they are not, or if nothing is known.

    They are off by more than half along the first direction of which something is known, or by more than 15 % along all directions.

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
    # `[directions, R]`, NaN where nothing is known; `by_long` has no slopes of shorter steps, along which units of 0 or 1 are constant.
    found, by_long, claimed = np.full((3, _DIRECTIONS, len(rows)), np.nan)
    for place in range(_DIRECTIONS):
        direction = draws.standard_normal(rows.shape, np.float32)
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        try:
            with np.errstate(all="ignore"):
                found[place] = by_long[place] = _slopes(losses_at, rows, losses, direction, length)
                if np.isnan(by_long[place]).any():
                    shorter = _slopes(losses_at, rows, losses, direction, length / _SHORTER)
                    found[place] = np.where(np.isnan(by_long[place]), shorter, by_long[place])
        except Exception:  # A model may raise anything where its parameters are none that it would meet.
            return None
        claimed[place] = (gradients * direction).sum(axis=1, dtype=np.float64)
        is_far = _are_far_off(by_long, claimed)
        if is_far or _are_right(found, claimed):
            break
    found = by_long if is_far else found
    known = np.isfinite(found)
    first = known.argmax(axis=0), np.arange(len(rows))
    is_off = known.any(axis=0).all() and (is_far or _are_off(found, claimed))
    return Slope(float(found[first][0]), float(claimed[first][0])) if is_off else None


def _are_far_off(found: NDArray[np.float64], claimed: NDArray[np.float64]) -> bool:
    """Whether the first slope that is known of each row is far from that of the gradients; not if these are not finite."""
    first = np.isfinite(found).argmax(axis=0), np.arange(found.shape[1])
    of_rows, by_gradients = found[first], claimed[first]
    # No comparison with NaN holds.
    return bool((np.isfinite(by_gradients) & (np.abs(by_gradients - of_rows) > _FAR * np.abs(of_rows))).all())


def _are_right(found: NDArray[np.float64], claimed: NDArray[np.float64]) -> bool:
    """Whether some slope is about that of the gradients."""
    return bool((np.abs(claimed - found) <= _OFF * np.abs(found)).any())


def _are_off(found: NDArray[np.float64], claimed: NDArray[np.float64]) -> bool:
    """Whether all slopes that are known, and enough of them, differ from those of the gradients to the same side."""
    known = np.isfinite(found)
    ratios = claimed[known] / found[known]
    return len(ratios) >= _SLOPES and bool((ratios > 1 + _OFF).all() or (ratios < 1 - _OFF).all())


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
