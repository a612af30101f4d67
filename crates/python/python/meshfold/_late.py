"""Warnings that arise on the threads of runs, and are told on the thread that called `meshfold.run`."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from meshfold._errors import MeshfoldWarning

_LOCK = threading.Lock()
#: What was said and nobody has been told of yet.
_SAID: list[str] = []
#: How many calls of `meshfold.run` are under way.
_listeners = 0


@contextmanager
def heard() -> Iterator[None]:
    """Within, what is said is kept until `take` asks for it."""
    global _listeners
    with _LOCK:
        _listeners += 1
    try:
        yield
    finally:
        with _LOCK:
            _listeners -= 1


def say(warning: str) -> None:
    """Warns: at once if no call of `meshfold.run` is under way, as in the command `python -m meshfold`."""
    with _LOCK:
        if _listeners > 0:
            if warning not in _SAID:
                _SAID.append(warning)
            return
    warnings.warn(warning, MeshfoldWarning, stacklevel=2)


def take() -> list[str]:
    """The warnings since the last call. Of calls of `meshfold.run` that go on at the same time, one is told of each."""
    with _LOCK:
        said = _SAID.copy()
        _SAID.clear()
        return said
