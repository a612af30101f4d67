"""Warns of a `start` that changes the models that it is given: they are a copy, from which no client begins."""

from __future__ import annotations

import weakref

from meshfold import _late
from meshfold._own import Method

_TOLD: weakref.WeakSet[type] = weakref.WeakSet()


def tell_of(kind: type[Method]) -> None:
    """Warns, once for a class, that its `start` has changed its models."""
    if kind in _TOLD:
        return
    _TOLD.add(kind)
    _late.say(
        f"the method `{kind.name}`: `start` has changed its `models`, which are a copy of the clients' models: no client begins from them. A run "
        "begins from models in a file by `start: {models: {file: models.safetensors}}`; or let `round` set them, `if round.number == 1: "
        "models.set(array)`. To make something else of them, take `models.copy()`"
    )
