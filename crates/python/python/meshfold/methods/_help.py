"""Help of methods that have the keys of a group, such as those of time: their text has these keys, too."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import TypeVar

_Kind = TypeVar("_Kind", bound=type)


def with_keys_of(group: type, title: str) -> Callable[[_Kind], _Kind]:
    """Adds the keys of `group`, with the defaults that a class has, to the text of this class, under a title."""

    def add(kind: _Kind) -> _Kind:
        lines = [line for base in reversed(group.__mro__) for line in _keys_told_by(base)]
        told = [re.sub(r"^    (\w+):", lambda found: f"    {found[1]} = {getattr(kind, found[1])!r}:", line) for line in lines]
        kind.__doc__ = "\n".join([inspect.cleandoc(kind.__doc__ or ""), "", f"# {title}", *told])
        return kind

    return add


def _keys_told_by(base: type) -> list[str]:
    """What the text of a class says of the keys that it adds."""
    before, attributes, after = inspect.cleandoc(vars(base).get("__doc__") or "").partition("Attributes:\n")
    return after.splitlines()
