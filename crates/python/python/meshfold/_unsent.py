"""Warns of a method that makes models of the rows of others by arrays and never calls `round.send`, so that its messages are 0."""

from __future__ import annotations

import ast
import weakref

from meshfold import _code, _libraries
from meshfold._errors import warn_user
from meshfold._telling import Telling
from meshfold._unread import BASES

_TOLD: weakref.WeakSet[type] = weakref.WeakSet()

#: Names of functions that overwrite rows, and of those that make one row of several.
_OVERWRITES = frozenset(("set", "scatter"))
_JOINS = frozenset("average dot einsum gather matmul mean median medians sum tensordot trimmed_means weighted_sums".split())
#: Names of what sends, or of what a run itself warns of if nothing is sent.
_SENDS = frozenset(("send", "mix", "mixing", "edges", "getattr"))


def tell_of(kind: type, name: str) -> None:
    """Warns, once for a class, if so does the method `name`, which has an overlay."""
    telling = Telling.of_new_class(kind, _TOLD)
    if telling is None:
        return
    if telling.names_whole_modules() or any(_libraries.is_of_library(base) for base in kind.__mro__ if base.__module__ not in BASES):
        return
    words, joins = set(), False
    for function in telling.functions():
        words |= _code.words_of(function)
        tree = _code.tree_of(function)
        joins = joins or (tree is not None and any(isinstance(node, ast.MatMult) for node in ast.walk(tree)))
    if words.isdisjoint(_SENDS) and not words.isdisjoint(_OVERWRITES) and (joins or not words.isdisjoint(_JOINS)):
        warn_user(
            f"the method `{name}` makes models of several rows by arrays and never calls round.send: its messages and bytes are 0. Count them by "
            "round.send(stack), or call round.send(bytes=0) if it is to send nothing"
        )
