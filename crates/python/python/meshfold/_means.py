"""Finds losses that are sums over a batch, where a mean is needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meshfold._errors import warn_user

#: How near to twice the loss that of a batch with each example twice must be.
_NEAR = 0.01


def warn_of_sum(function: str, losses_of: Callable[[Any, Any], Any], losses: Any, x: NDArray[Any], y: NDArray[Any]) -> None:
    """Warns if the losses `[R]` of batches are twice as large where each example is there twice.

    Args:
        function: what made the model.
        losses_of: the losses of other batches, `x` `[R, B, D]` and `y` `[R, B]`.
        losses: those of the batch at hand.
        x: its examples.
        y: their labels.
    """
    try:
        twice = np.asarray(losses_of(np.concatenate([x, x], axis=1), np.concatenate([y, y], axis=1)), np.float64)
    except Exception:  # A loss may be one of batches of a certain size.
        return
    once = np.asarray(losses, np.float64)
    if once.size and bool((np.isfinite(once) & (once != 0) & (np.abs(twice - 2 * once) <= _NEAR * np.abs(2 * once))).all()):
        warn_user(
            f"{function}: the loss of a batch doubles if each example is there twice, so it is a sum: needed the mean over the batch "
            '(`reduction="mean"`), or else steps grow with the size of the batch'
        )
