"""Warns of a method whose code makes generators of random numbers without a seed: other numbers come in every run."""

from __future__ import annotations

import ast
import random
import types
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np

from meshfold import _code
from meshfold._errors import warn_user
from meshfold._telling import Telling

_TOLD: weakref.WeakSet[type] = weakref.WeakSet()

#: What such generators are called where a function imports them itself.
_NAMES = frozenset((("default_rng",), ("RandomState",), ("random", "default_rng"), ("random", "RandomState"), ("random", "Random")))


def tell_of(kind: type, name: str) -> None:
    """Warns, once for a class, of such calls in the code of the method `name`."""
    telling = Telling.of_new_class(kind, _TOLD)
    if telling is None:
        return
    calls = {call: None for function in telling.functions() for call in _calls(function)}
    if calls:
        have = "has" if len(calls) == 1 else "have"
        warn_user(
            f"the method `{name}`: {' and '.join(calls)} {have} no seed of the run's, so that a run that is repeated or resumed differs. Make a "
            "generator in each round, `np.random.default_rng([round.seed, round.number])`, and draw from that"
        )


def _calls(function: types.FunctionType) -> Iterator[str]:
    """The calls in `function` that make a generator without a seed, with their places."""
    tree = _code.tree_of(function)
    if tree is None:
        return
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    is_seeded_later = any(isinstance(call.func, ast.Attribute) and call.func.attr == "manual_seed" for call in calls)
    for call in calls:
        chain = _code.chain_of(call.func)
        if chain is None or call.keywords or not all(isinstance(each, ast.Constant) and each.value is None for each in call.args):
            continue
        made = _made_by(function, chain)
        if made == "NumPy" or (made == "PyTorch" and not is_seeded_later):
            yield f"`{'.'.join(chain)}()` in `{function.__qualname__}`"


def _made_by(function: types.FunctionType, chain: _code.Chain) -> str | None:
    """Whose generator a call of `chain` makes, that of `NumPy`, or of Python's module `random`, or of `PyTorch`; None for another call."""
    variables = _code.nonlocals_of(function)
    if chain[0] not in variables and chain[0] not in function.__globals__:
        return "NumPy" if chain[-2:] in _NAMES else None
    value: Any = variables[chain[0]][1] if chain[0] in variables else function.__globals__[chain[0]]
    for name in chain[1:]:
        value = getattr(value, name, None)
    if any(value is maker for maker in (np.random.default_rng, np.random.RandomState, np.random.SeedSequence, random.Random)):
        return "NumPy"
    if isinstance(value, type) and issubclass(value, np.random.BitGenerator):
        return "NumPy"
    is_torch = isinstance(value, type) and value.__name__ == "Generator" and (value.__module__ or "").startswith("torch")
    return "PyTorch" if is_torch else None
