"""Digests of the content of parts. Runs of different parts have different ids because the digests differ."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Sequence
from typing import Any

from meshfold._errors import warn_user
from meshfold._telling import Telling, of_arrays

__all__ = ["expect_told", "of_arrays", "of_class", "of_code", "of_values", "version_of"]


def of_values(*values: Any) -> str:
    """A digest of functions, arrays, numbers, text, and lists, dicts, sets and objects of them.

    Raises:
        TypeError: if a value has no text but its address in memory.
    """
    digest, untold = _digest(values, lambda kind: (), is_strict=True)
    _warn(next((f"`{value.__name__}`" for value in values if hasattr(value, "__name__")), "a part"), untold)
    return digest[:16]


def of_code(*values: Any) -> str:
    """A digest as `of_values`, of what the code of functions does not change as it runs. It raises nothing."""
    return _digest(values, lambda kind: (), is_strict=False)[0][:16]


def of_class(kind: type, but: Callable[[type], Collection[str]]) -> str:
    """A digest of a class and its bases; `but` names the attributes of a class to leave out.

    What no digest tells apart is told by its type, of which there is a warning. Variables that the code of the class changes do not count.
    """
    digest, untold = _digest([kind], but, is_strict=False)
    _warn(f"the method `{getattr(kind, 'name', kind.__qualname__)}`", untold)
    return digest[:12]


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


def _digest(roots: Sequence[Any], but: Callable[[type], Collection[str]], is_strict: bool) -> tuple[str, list[tuple[str | None, str]]]:
    """The digest, and the variables that are told by their type alone, with their types."""
    first = Telling(but)
    first.told_all(roots, is_strict)
    second = Telling(but, changed=first.changes())
    return hashlib.sha256(repr(second.told_all(roots, is_strict)).encode()).hexdigest(), list(second.untold)


#: What users were told of: the parts, variables and types.
_SAID: set[tuple[str, str | None, str]] = set()


def _warn(owner: str, untold: list[tuple[str | None, str]]) -> None:
    """Warns, once in a process, of variables whose values do not count."""
    news = [(name, kind) for name, kind in untold if (owner, name, kind) not in _SAID]
    if not news:
        return
    _SAID.update((owner, name, kind) for name, kind in news)
    listed = ", ".join(f"`{name}` ({kind})" if name else f"an object of type {kind}" for name, kind in news)
    draws = any(kind.rpartition(".")[2] in ("Generator", "RandomState", "Random") for _, kind in news)
    warn_user(
        f"{owner} uses {listed}, whose value does not count in its version: another value gives no other run. If it makes a difference, give "
        "a `version`, and another one for another value"
        + ". Generators of random numbers are best made in each round, `np.random.default_rng([round.seed, round.number])`" * draws
    )
