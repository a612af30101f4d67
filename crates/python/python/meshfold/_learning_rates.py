"""Learning rates that are functions in Python."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from meshfold import _digests, _renewal
from meshfold._meshfold import Part

#: What a rate may be a function of.
_COUNTS = ("round", "steps", "steps_in_round", "epochs", "epochs_in_round")


def learning_rate(function: Callable[..., Any], *, label: str | None = None, version: str | None = None) -> Part:
    """A learning rate for the key `learning_rate` of a method, from a function.

    Args:
        function: returns the rate of a local step: a number, finite and not negative. The names of its parameters say what it is a
            function of, and it is called by these names: `round`, the round, counted from 1; `steps`, the local steps that the client
            made before in the whole run; `steps_in_round`, those that it made before in this round; `epochs` and `epochs_in_round`, the
            passes over its shard in place of steps. It has one of these parameters or several, but not steps beside epochs. Other
            parameters must have defaults, which are used. It must always return the same rate for the same values. It is called once
            for each of them, and for the first ones, twice, when the experiment is planned.
        label: what the rate is called in tables and figures; the name of the function with a digest if absent.
        version: distinguishes rates with the same label, as part of the id of a run. If absent, it is a digest of the function's code and
            of all that this refers to, except libraries. Give one if the function depends on anything else.

    Raises:
        ValueError: if the function has none of these parameters, or others without a default.
    """
    version = _digests.version_of(version, "learning_rate")
    if isinstance(function, Part) or not callable(function):
        raise TypeError(f"learning_rate: found {type(function).__name__}, needed a function, such as `lambda round: 0.1 / round`")
    counts = _counts(function)
    digest = version or _digests.of_values(function)
    name = label or f"{getattr(function, '__name__', 'rate')}-{digest[:6]}"
    first: dict[str, int] = {}

    def rate(values: list[int]) -> float:
        given = dict(zip(counts, values, strict=True))
        found = _number(function(**given), given)
        if not first:
            first.update(given)
            again = _number(function(**given), given)
            if again != found:
                raise ValueError(
                    f"the function returned {found} and then {again} for {_words(given)}: it must always return the same rate, so that a "
                    "run can be repeated and go on from a checkpoint"
                )
        return found

    part = Part.learning_rate(name, digest, rate, counts)
    if version is not None:
        return part
    return _renewal.renewable(part, rate, lambda: [function], lambda: learning_rate(function, label=label))


def _counts(function: Callable[..., Any]) -> list[str]:
    """The counts that are parameters of the function."""
    name, needed = getattr(function, "__name__", "the function"), "`round`, `steps`, `steps_in_round`, `epochs` or `epochs_in_round`"
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        raise ValueError(f"learning_rate: the parameters of {name} are not known, needed {needed}: wrap it in a function of your own") from None
    counts = [count for count in _COUNTS if count in signature.parameters]
    try:
        signature.bind(**dict.fromkeys(counts))
    except TypeError:
        counts = []
    if not counts:
        raise ValueError(
            f"learning_rate: {name}{signature} is called by name with {needed}, whichever it has as parameters; others need defaults"
        )
    if {count.removesuffix("_in_round") for count in counts} >= {"steps", "epochs"}:
        raise ValueError(f"learning_rate: {name}{signature} counts both steps and epochs, needed one of them")
    return counts


def _number(found: Any, given: dict[str, int]) -> float:
    """`found` as a number, which the function returned at `given`."""
    if isinstance(found, (bool, str, bytes)) or not hasattr(found, "__float__") or getattr(found, "ndim", 0) != 0:
        raise TypeError(f"the function returned {found!r} for {_words(given)}, needed a number")
    return float(found)


def _words(given: dict[str, int]) -> str:
    return ", ".join(f"{name}={value}" for name, value in given.items())
