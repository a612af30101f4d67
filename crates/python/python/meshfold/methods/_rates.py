"""Numbers for each row from its learning rate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray


def inverse(rates: NDArray[np.float32]) -> NDArray[np.float64]:
    """One over each rate, `[R]`; 0 for rows whose rate is 0, those of clients that take no part."""
    return np.divide(1.0, rates, out=np.zeros(len(rates)), where=rates > 0)


def counts_steps(settings: Mapping[str, Any]) -> bool:
    """Whether the learning rate of a method with these settings moves on with the steps or epochs of a client, over all rounds.

    What a schedule in Python counts is not told: it is taken to count rounds.
    """
    rate = settings["learning_rate"]
    if not isinstance(rate, dict):
        return False
    (schedule,) = rate.values()
    return bool(schedule.get("per", "round") != "round" and schedule.get("restart", "never") == "never")
