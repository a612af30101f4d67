"""A method that does what a test says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from test_own_methods import records, with_algorithm

import meshfold as mf

Experiment = dict[str, Any]
Act = Callable[[mf.Stack, mf.Round], None]

#: What `Acting` does.
ACTS: list[Act] = []


class Acting(mf.Method):
    """Does what a test says."""

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        ACTS[-1](models, round)


def act(experiment: Experiment, do: Act, rounds: int = 1, **more: Any) -> list[dict[str, Any]]:
    """The records of a run whose rounds are `do`."""
    keys = more.pop("keys", {})
    ACTS.append(do)
    try:
        (run,) = mf.run({**with_algorithm(experiment, "acting", **keys), "rounds": rounds, **more}, progress=False, again=True)
    finally:
        ACTS.pop()
    return records(run.folder)


def bits(array: NDArray[Any]) -> bytes:
    return np.ascontiguousarray(array).tobytes()
