"""Digests of the content of parts. Runs of different parts have different ids because the digests differ."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Sequence
from typing import Any

from meshfold._telling import Telling, of_arrays

__all__ = ["expect_told", "of_arrays", "of_class", "of_code", "of_values", "version_of"]


def of_values(*values: Any) -> str:
    """A digest of functions, arrays, numbers, text, and lists, dicts, sets and objects of them.

    Raises:
        TypeError: if a value has no text but its address in memory.
    """
    return _digest(values, lambda kind: (), is_strict=True)[:16]


def of_code(*values: Any) -> str:
    """A digest as `of_values`, of what the code of functions does not change as it runs. It raises nothing."""
    return _digest(values, lambda kind: (), is_strict=False)[:16]


def of_class(kind: type, but: Callable[[type], Collection[str]]) -> str:
    """A digest of a class and its bases; `but` names the attributes of a class to leave out.

    What no digest tells apart is told by its type. Variables that the code of the class changes do not count.
    """
    return _digest([kind], but, is_strict=False)[:12]


def expect_told(kind: type, but: Callable[[type], Collection[str]]) -> None:
    """Makes sure that a digest can tell the attributes of a class, and the variables of functions around it.

    Raises:
        TypeError: if a value has no text but its address in memory.
    """
    Telling(but, follows=False).told_all([kind], is_strict=True)


def version_of(given: Any, part: str) -> str | None:
    """The version that a user gave, or None.

    Raises:
        TypeError: if it is not text.
    """
    if given is not None and not isinstance(given, str):
        raise TypeError(f"{part}: version is {given!r}, needed text, such as {str(given)!r}")
    return given


def _digest(roots: Sequence[Any], but: Callable[[type], Collection[str]], is_strict: bool) -> str:
    first = Telling(but)
    first.told_all(roots, is_strict)
    second = Telling(but, changed=first.changes())
    return hashlib.sha256(repr(second.told_all(roots, is_strict)).encode()).hexdigest()
