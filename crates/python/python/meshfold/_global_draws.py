"""Warns of rounds that draw from generators of random numbers that the whole process shares, such as that of `np.random.rand`."""

from __future__ import annotations

import random
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from meshfold import _late
from meshfold._own import Method

#: The attribute of a method with the rounds that are still to be watched.
_LEFT = "_meshfold_draws"
#: How many rounds of a run are watched that go on alone.
_WATCHED = 3

_LOCK = threading.Lock()
#: How many rounds go on, and how many have begun in this process.
_going = 0
_begun = 0


@contextmanager
def watched(method: Method) -> Iterator[None]:
    """Around a round. Rounds of other runs that go on at the same time may have drawn, too: nothing is said of such a round."""
    global _going, _begun
    left: int = vars(method).setdefault(_LEFT, _WATCHED)
    with _LOCK:
        _going, _begun = _going + 1, _begun + 1
        is_alone, begun = _going == 1, _begun
    before = _states() if left > 0 and is_alone else {}
    try:
        yield
    finally:
        with _LOCK:
            _going -= 1
            is_alone = is_alone and _begun == begun
    if before and is_alone:
        after = _states()
        drawn = [name for name, state in before.items() if name in after and after[name] != state]
        vars(method)[_LEFT] = 0 if drawn else left - 1
        if drawn:
            _late.say(
                f"the method `{method.name}`: while a round went on, somebody drew from {' and '.join(drawn)}, which all runs of this process share. "
                "If it was the method, its results depend on the runs beside it, and a run that is resumed draws other numbers: make a "
                "generator in each round, `np.random.default_rng([round.seed, round.number])`, and draw from that"
            )


def _states() -> dict[str, Any]:
    """The states of the generators that the process shares."""
    states: dict[str, Any] = {"Python's module `random`": random.getstate()}
    try:
        state: Any = np.random.get_state(legacy=False)
        states["NumPy's global generator (`np.random.rand` and the like)"] = (state["state"]["pos"], state["state"]["key"].tobytes())
    except (KeyError, TypeError):  # A user may have put another generator there.
        pass
    torch: Any = sys.modules.get("torch")
    if hasattr(torch, "default_generator"):
        states["PyTorch's global generator (`torch.rand` and the like)"] = torch.default_generator.get_state().numpy().tobytes()
    return states
