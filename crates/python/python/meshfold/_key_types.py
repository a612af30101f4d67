"""The types of keys: which values fit them, and what these are in a method."""

from __future__ import annotations

import types
from typing import Any, Literal, Union, get_args, get_origin

import numpy as np

_WORDS = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "text",
    list: "a list",
    tuple: "a list",
    dict: "a map",
    type(None): "null",
}


def needed(value: Any, hint: Any) -> str | None:
    """What the type `hint` needs, in words, or None if `value` fits it."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Union or origin is types.UnionType:
        parts = [needed(value, part) for part in inner]
        return None if None in parts else " or ".join(str(part) for part in parts)
    if origin is Literal:
        return None if value in inner else "one of " + ", ".join(str(choice) for choice in inner)
    plain = origin or hint
    if plain not in _WORDS:
        return None
    accepted: dict[Any, tuple[type, ...]] = {float: (int, float), tuple: (list, tuple)}
    fits = isinstance(value, accepted.get(plain, (plain,)))
    if plain in (int, float) and isinstance(value, bool):
        fits = False
    hints = _hints_within(value, hint) if fits else []
    is_whole = fits and all(needed(*each) is None for each in zip(_values_within(value), hints, strict=False))
    has_length = not fits or len(hints) == len(_values_within(value))
    return None if is_whole and has_length else _in_words(hint)


def is_array(hint: Any) -> bool:
    """Whether values of the type `hint` are arrays, of which a configuration has none."""
    origin = get_origin(hint)
    if origin is Union or origin is types.UnionType:
        return any(map(is_array, get_args(hint)))
    plain = origin or hint
    return isinstance(plain, type) and not issubclass(plain, np.generic) and hasattr(plain, "dtype") and hasattr(plain, "shape")


def _values_within(value: Any) -> list[Any]:
    """The entries of a list, or of a map."""
    if isinstance(value, dict):
        return list(value.values())
    return list(value) if isinstance(value, (list, tuple)) else []


def _hints_within(value: Any, hint: Any) -> list[Any]:
    """The types of these entries. For a tuple of a certain length there are as many as it needs."""
    origin, inner, entries = get_origin(hint), get_args(hint), _values_within(value)
    # `typing.Tuple` alone has no `__args__`.
    if origin is tuple and Ellipsis not in inner and hasattr(hint, "__args__"):
        return [] if inner == ((),) else list(inner)
    if not inner:
        return [Any] * len(entries)
    return [inner[1] if origin is dict else inner[0]] * len(entries)


def _in_words(hint: Any) -> str:
    """What the type `hint` needs: `a list of 2: a number, text`."""
    origin, inner = get_origin(hint), get_args(hint)
    word = _WORDS.get(origin or hint, "a value")
    if origin is Union or origin is types.UnionType:
        return " or ".join(map(_in_words, inner))
    if origin is Literal:
        return "one of " + ", ".join(map(str, inner))
    if not inner or set(inner) <= {Any, Ellipsis}:
        return word
    if origin is tuple and Ellipsis not in inner:
        return f"{word} of {len(inner)}: {', '.join(map(_in_words, inner))}"
    plural = _PLURAL.get(inner[1] if origin is dict else inner[0])
    return word if plural is None else f"{word} of {plural}"


_PLURAL = {bool: "true or false", int: "whole numbers", float: "numbers", str: "texts"}


def as_hinted(value: Any, hint: Any) -> Any:
    """`value`, which fits `hint`, as the type says: whole numbers as `float`, lists as `tuple`. So 1 and 1.0 make one run."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Union or origin is types.UnionType:
        fitting = [part for part in inner if needed(value, part) is None]
        exact = [part for part in fitting if isinstance(value, get_origin(part) or part if isinstance(get_origin(part) or part, type) else ())]
        return as_hinted(value, (exact or fitting or [Any])[0])
    if origin is Literal:
        return next((choice for choice in inner if choice == value), value)
    if hint is float:
        return float(value)
    if isinstance(value, dict) and (origin or hint) is dict:
        return dict(zip(value, map(as_hinted, value.values(), _hints_within(value, hint)), strict=True))
    if isinstance(value, (list, tuple)) and (origin or hint) in (list, tuple):
        return (origin or hint)(map(as_hinted, value, _hints_within(value, hint)))
    return value
