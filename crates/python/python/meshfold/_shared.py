"""Warns of rounds that change what all runs of a process share: attributes of classes and functions, variables of modules, and defaults."""

from __future__ import annotations

import hashlib
import inspect
import re
import types
import weakref
from collections.abc import Iterator, Mapping
from typing import Any, Union

import numpy as np
from numpy.typing import NDArray

from meshfold import _code, _late, _libraries, _states
from meshfold._meshfold import Round
from meshfold._own import Method, own_values
from meshfold._telling import Telling, of_arrays

#: The attribute of a method in which this module keeps what it saw.
_WATCH = "_meshfold_shared"
#: So many runs of a class are watched in a process, each in so many rounds.
_RUNS = 2
_ROUNDS = 3
#: Of larger arrays some numbers are looked at.
_LARGE = 1 << 20
#: How deep containers and objects are looked into by their entries.
_DEPTH = 3

#: A value: a digest; or its entries by their names; None for nothing.
Seen = Union[str, dict[str, "Seen"], None]

_WATCHED: weakref.WeakKeyDictionary[type, int] = weakref.WeakKeyDictionary()


def watch(method: Method) -> None:
    """Takes note of what all runs share; called before `start`."""
    kind = type(method)
    if kind.__module__.startswith("meshfold.methods.") or _WATCHED.get(kind, 0) >= _RUNS:
        return
    _WATCHED[kind] = _WATCHED.get(kind, 0) + 1
    vars(method)[_WATCH] = (0, _seen(kind))


def expect_unchanged(method: Method, round: Round) -> None:
    """Warns, once for a class, of what has changed since the last look; called after each round."""
    if _WATCH not in vars(method):
        return
    rounds, before = vars(method)[_WATCH]
    if rounds >= _ROUNDS and round.number < round.rounds:
        return
    now = _seen(type(method))
    changed = sorted(name for name, value in before.items() if name in now and _has_changed(value, now[name]))
    vars(method)[_WATCH] = (rounds + 1, now)
    if not changed:
        return
    del vars(method)[_WATCH]
    _WATCHED[type(method)] = _RUNS
    names = " and ".join(changed)
    own = re.findall(r"`[^`]*?(\w+)`", changed[0])[0]
    _late.say(
        f"the method `{method.name}`: its rounds have changed {names}, which all runs of this process share: the results of a run may depend on "
        "the runs before it and beside it, and a run that is resumed may give others. Keep what rounds change in the method, as an attribute that "
        f"`start` makes, `self.{own} = ...`: checkpoints hold stacks, numbers and arrays of numbers"
    )


def _has_changed(before: Seen, now: Seen) -> bool:
    """Whether something has changed that was there. New entries, and what was nothing before, may be a cache."""
    if before is None:
        return False
    if isinstance(before, dict) and isinstance(now, dict):
        return any(name in now and _has_changed(value, now[name]) for name, value in before.items())
    return before != now


def _seen(kind: type[Method]) -> dict[str, Seen]:
    """What the class has and what its code reads, by names; nothing if a user's objects cannot be read."""
    try:
        telling = Telling(lambda base: (), changed=None)
        telling.told_all([kind], is_strict=False)
        look = _Look(telling)
        named = {f"`{name}`": look.at(value, reads) for name, value, reads in (*_of_class(kind), *_of_code(telling), *_of_classes(telling))}
        return named | {name: look.at(value, set()) for name, value in _defaults(telling)}
    except Exception:  # Objects of a user's may raise anything where they are read, and others may change them meanwhile.
        return {}


def _of_class(kind: type[Method]) -> Iterator[tuple[str, Any, set[str]]]:
    for base in kind.__mro__:
        if base is not Method and issubclass(base, Method):
            for name, value in own_values(base).items():
                yield f"{base.__name__}.{name}", value, set()


def _of_code(telling: Telling) -> Iterator[tuple[str, Any, set[str]]]:
    """The variables of modules and of functions around that functions read, and the attributes that these read of each. Of classes and functions,
    each attribute by itself."""
    found: dict[str, tuple[Any, set[str]]] = {}
    for function in telling.functions():
        variables = _code.nonlocals_of(function)
        for chain in _code.names_of(function, _code.tree_of(function)).read:
            value = variables[chain[0]][1] if chain[0] in variables else function.__globals__.get(chain[0])
            rest = chain[1:]
            while isinstance(value, types.ModuleType) and rest and not _libraries.is_of_library(value):
                value, rest = getattr(value, rest[0], None), rest[1:]
            while rest and isinstance(value, (type, types.FunctionType)) and not _libraries.is_of_library(value):
                value, rest = inspect.getattr_static(value, rest[0], None), rest[1:]
            name = ".".join(chain[: len(chain) - len(rest)])
            found.setdefault(name, (value, set()))[1].update(rest[:1])
    yield from ((name, value, reads) for name, (value, reads) in found.items())


def _of_classes(telling: Telling) -> Iterator[tuple[str, Any, set[str]]]:
    """The attributes of classes other than methods that these read of their objects or of themselves."""
    for kind in telling.classes():
        if not issubclass(kind, Method):
            for name in telling.attributes_read(kind):
                yield f"{kind.__name__}.{name}", inspect.getattr_static(kind, name, None), set()


def _defaults(telling: Telling) -> Iterator[tuple[str, Any]]:
    """The defaults of parameters that functions read."""
    for function in telling.functions():
        read = _code.parameters_read(function, _code.tree_of(function))
        for name, value in _code.defaults_of(function):
            if name in read:
                yield f"the default `{name}` of `{function.__qualname__}`", value


#: What is code, and holds nothing that rounds change.
_CODE = (
    *(type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.MemberDescriptorType),
    *(property, classmethod, staticmethod),
)


class _Look:
    """Looks at values."""

    def __init__(self, telling: Telling) -> None:
        self._telling = telling

    def at(self, value: Any, reads: set[str], depth: int = 0) -> Seen:
        """What a value is, where the attributes `reads` of it are read."""
        if value is None:
            return None
        if isinstance(value, _CODE):
            return "code"
        if depth < _DEPTH and isinstance(value, Mapping) and type(value) in (dict, types.MappingProxyType):
            return {repr(key): self.at(entry, set(), depth + 1) for key, entry in list(value.items())}
        kind = type(value)
        if depth < _DEPTH and not _libraries.is_of_library(kind) and not isinstance(value, np.ndarray) and hasattr(value, "__dict__"):
            # What its functions only set, such as a list of results, changes no result.
            names = reads | self._telling.attributes_read(kind)
            return {name: self.at(each, set(), depth + 1) for name, each in list(vars(value).items()) if name in names}
        if _states.is_resource(value) or _states.is_generator(value):
            return "code"
        quick = _Quick(lambda base: (), follows=False, changed=())
        return hashlib.sha256(repr(quick.told_all([value], is_strict=False)).encode()).hexdigest()


class _Quick(Telling):
    """Tells of a large array some of its numbers."""

    def _arrays(self, *arrays: NDArray[Any]) -> str:
        return of_arrays(*(array.reshape(-1)[:: array.size // _LARGE + 1] if array.size > _LARGE else array for array in arrays))
