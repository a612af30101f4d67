"""Warns of keys that the code of a method never reads, so that a configuration sets them for nothing."""

from __future__ import annotations

import ast
import types
import weakref
from collections.abc import Collection
from typing import Any

from meshfold import _code, _libraries
from meshfold._errors import warn_user
from meshfold._telling import Telling

#: Names with which code may read any key.
_ANY = frozenset(("getattr", "vars", "__dict__", "settings"))
#: The modules of classes that every method may build on, and that read none of its keys.
BASES = ("meshfold._own", "builtins", "abc", "typing")

#: The words of the code of each class; None if it may read any key.
_WORDS: weakref.WeakKeyDictionary[type, set[str] | None] = weakref.WeakKeyDictionary()


def tell_of(kind: type, name: str, given: Collection[str]) -> None:
    """Warns, once for a class, of keys among those `given` to the method `name` that its code does not read."""
    if not given:
        return
    if kind not in _WORDS:
        _WORDS[kind] = _words(kind)
    words = _WORDS[kind]
    if words is None:
        return
    unread = sorted(key for key in given if key not in words)
    words.update(unread)
    for key in unread:
        warn_user(
            f"algorithm.own.{key} has no effect: no code of the method `{name}` reads `self.{key}`. Read it, or take it out of the class {kind.__name__}"
        )


def _words(kind: type) -> set[str] | None:
    """The names and texts in the code of a class and of all that it refers to."""
    if any(_libraries.is_of_library(base) and base.__module__ not in BASES for base in kind.__mro__):
        return None
    telling = Telling.of_class(kind)
    if telling is None:
        return None
    functions = telling.functions()
    # Published methods read keys of other names only where they say so in texts.
    own = [function for function in functions if not (function.__module__ or "").startswith("meshfold.methods.")]
    of_own = {word for function in own for word in _code.words_of(function)}
    members = {value for base in kind.__mro__ for value in vars(base).values() if isinstance(value, types.FunctionType)}
    if telling.names_whole_modules() or not of_own.isdisjoint(_ANY) or any(_hands_on_itself(function) for function in own if function in members):
        return None
    return {word for function in functions for word in _code.words_of(function) | _code.texts_of(function)}


def _hands_on_itself(function: types.FunctionType) -> bool:
    """Whether a function of a class hands its object to code of a library, which may read any key."""
    tree = _code.tree_of(function)
    if tree is None:
        return True
    if not function.__code__.co_argcount:
        return False
    own = function.__code__.co_varnames[0]
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        handed = [*call.args, *(keyword.value for keyword in call.keywords)]
        if any(isinstance(each, ast.Name) and each.id == own for each in handed) and not _is_users(function, call.func):
            return True
    return False


def _is_users(function: types.FunctionType, called: ast.expr) -> bool:
    """Whether what is called is a function of the user's, which is looked at as well."""
    chain = _code.chain_of(called)
    if chain is None:
        return False
    variables = _code.nonlocals_of(function)
    value: Any = variables[chain[0]][1] if chain[0] in variables else function.__globals__.get(chain[0])
    for name in chain[1:]:
        value = getattr(value, name, None)
    return isinstance(value, types.FunctionType) and not _libraries.is_of_library(value)
