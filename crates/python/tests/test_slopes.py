"""Gradients of a user's model are compared with differences of its losses."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import own_models
import pytest
from numpy.typing import NDArray
from own_models import Numbers

import meshfold as mf
from meshfold._slopes import wrong_slope

Experiment = dict[str, Any]
Gradients = dict[str, Any]


def drawn() -> own_models.Start:
    draws = np.random.default_rng(0)
    shapes = {"w1": (784, 16), "b1": (16,), "w2": (16, 10), "b2": (10,)}
    return {name: draws.normal(0, 0.1, shape).astype(np.float32) for name, shape in shapes.items()}


def told(experiment: Experiment, outputs: Any, gradients: Any) -> list[str]:
    """What planning a run of such a model warns of."""
    model = mf.model(drawn(), outputs, gradients)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        mf.plan({**experiment, "model": model, "sweep": None})
    assert all(warning.filename == __file__ for warning in caught if "gradients" in str(warning.message))
    return [str(warning.message) for warning in caught if warning.category is mf.MeshfoldWarning]


@pytest.mark.parametrize(
    ("change", "off"),
    [
        (lambda gradient: gradient, None),
        (lambda gradient: 1.4 * gradient, None),
        (lambda gradient: 0.6 * gradient, None),
        (lambda gradient: 0 * gradient, "100 %"),
        (lambda gradient: -gradient, "200 %"),
        (lambda gradient: 3 * gradient, "200 %"),
    ],
)
def test_gradients_that_are_off_by_more_than_half_are_told(
    experiment: Experiment, change: Callable[[Any], Any], off: str | None
) -> None:
    def gradients(p: Gradients, x: Numbers, y: NDArray[np.int64]) -> Any:
        losses, right = own_models.gradients(p, x, y)
        return losses, {name: change(gradient) for name, gradient in right.items()}

    found = told(experiment, own_models.outputs, gradients)
    if off is None:
        assert found == []
    else:
        (warning,) = found
        assert f"the gradients that `gradients` returns are off by {off}: by its losses the slope along a random direction is" in warning


def test_a_model_that_is_not_smooth_is_not_told_of(experiment: Experiment) -> None:
    """Hidden units that are 0 or 1 have no slopes; it is trained by those of a straight line."""

    def units(p: Gradients, x: Numbers) -> tuple[Any, Any]:
        before = x @ p["w1"] + p["b1"][:, None]
        return before, (before > 0).astype(np.float32)

    def outputs(p: Gradients, x: Numbers) -> Any:
        return units(p, x)[1] @ p["w2"] + p["b2"][:, None]

    def gradients(p: Gradients, x: Numbers, y: NDArray[np.int64]) -> Any:
        losses, slopes = own_models.judged(outputs(p, x), y)
        back = slopes @ np.swapaxes(p["w2"], 1, 2)
        inner = {"w1": np.swapaxes(x, 1, 2) @ back, "b1": back.sum(axis=1)}
        outer = {"w2": np.swapaxes(units(p, x)[1], 1, 2) @ slopes, "b2": slopes.sum(axis=1)}
        return losses, {**inner, **outer}

    assert told(experiment, outputs, gradients) == []


def flat(scale: float, loss: Callable[[Any], Any]) -> Any:
    """What is found of a loss of the sum of two parameters, whose gradient is said to be `scale` in each."""
    rows = np.array([[1.0, 2.0], [2.0, 1.5]], np.float32)
    return wrong_slope(lambda moved: loss(moved.sum(axis=1)), rows, loss(rows.sum(axis=1)), np.full_like(rows, scale))


def test_a_slope_is_only_known_of_what_is_smooth_and_changes() -> None:
    wrong = flat(1.0, lambda sums: 5 * sums)
    assert wrong.claimed / wrong.found == pytest.approx(1 / 5, rel=1e-2)
    assert flat(5.0, lambda sums: 5 * sums) is None
    assert flat(2 * 3.0, lambda sums: sums**2) is None, "curved, and about right in each row"
    assert flat(1.0, lambda sums: 7 + 0 * sums) is None, "nothing changes"
    assert flat(1.0, lambda sums: 7 + 1e-6 * sums) is None, "rounding errors"
    assert flat(1.0, lambda sums: np.sign(np.sin(1e4 * sums))) is None, "a loss of steps"
    assert flat(1.0, lambda sums: np.where(sums == np.array([3, 3.5]), 1.0, np.nan)) is None, "not finite"


def test_a_model_that_cannot_be_moved_is_left_alone() -> None:
    def raising(moved: Any) -> Any:
        raise ZeroDivisionError

    rows = np.ones((2, 2), np.float32)
    assert wrong_slope(raising, rows, np.ones(2, np.float32), rows) is None
