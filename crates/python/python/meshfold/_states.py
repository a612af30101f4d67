"""What the objects of libraries hold, such as splines, distributions and schedules: that which tells them apart in any process."""

from __future__ import annotations

import concurrent.futures
import contextvars
import copyreg
import functools
import gc
import io
import logging
import random
import sys
import threading
import types
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np

#: What differs from process to process, or is no data. An object of a library that holds such things is told by its type.
_RESOURCES = (
    io.IOBase,
    type(threading.Lock()),
    type(threading.RLock()),
    threading.Condition,
    threading.Event,
    threading.Semaphore,
    threading.Barrier,
    threading.Thread,
    logging.Handler,
    concurrent.futures.Executor,
)
_REFERENCES = (weakref.ReferenceType, weakref.ProxyType, weakref.CallableProxyType)
_GENERATORS = (random.Random, np.random.Generator, np.random.RandomState, np.random.BitGenerator)


class Untold(TypeError):
    """No digest tells an object of a library by its value."""


def is_resource(value: Any) -> bool:
    """Whether `value` is a lock, a stream, a thread or the like, of which nobody expects that its value counts."""
    return isinstance(value, _RESOURCES)


def is_generator(value: Any) -> bool:
    """Whether `value` is a generator of random numbers: its value changes with each use."""
    kind = getattr(sys.modules.get("torch"), "Generator", None)
    return isinstance(value, _GENERATORS) or kind is not None and isinstance(value, kind)


def is_reference(value: Any) -> bool:
    return isinstance(value, _REFERENCES)


def parts_of(value: Any) -> list[Any]:
    """What an object of a library is made of, to be told in turn: dicts of attributes, and what copies of it are made of.

    Raises:
        Untold: if that is not known, or changes with each use.
    """
    kind = type(value)
    if is_resource(value) or is_generator(value) or isinstance(value, Iterator):
        raise Untold(kind.__qualname__)
    if isinstance(value, threading.local):
        return [dict(vars(value))]
    if isinstance(value, weakref.ReferenceType):
        return [value()]
    if isinstance(value, contextvars.ContextVar):
        return [value.name, *_value_of(value)]
    if isinstance(value, types.CodeType):
        raise Untold(kind.__qualname__)
    if isinstance(value, (np.ufunc, _KEY)):
        # Only the garbage collector knows the function within.
        return [getattr(value, "__name__", ""), *(each for each in gc.get_referents(value) if isinstance(each, types.FunctionType))]
    return _copied(value)


_KEY = type(functools.cmp_to_key(lambda first, second: 0))


def _value_of(variable: contextvars.ContextVar[Any]) -> list[Any]:
    try:
        return [variable.get()]
    except LookupError:
        return []


def _copied(value: Any) -> list[Any]:
    """What a copy of `value` would be made of; else its attributes, or its text."""
    kind: Any = type(value)
    reduce = copyreg.dispatch_table.get(kind)
    try:
        made = reduce(value) if reduce is not None else value.__reduce_ex__(4)
    except Exception:  # What cannot be copied may raise anything.
        made = None
    if isinstance(made, str):
        return [made]
    if isinstance(made, tuple):
        function, arguments, state, entries, items = (*made, None, None, None)[:5]
        of_it = [each for each in arguments if each is not kind]
        makes = [] if getattr(function, "__name__", "") in ("__newobj__", "__newobj_ex__", "_reconstructor") else [function]
        states = [_without_caches(kind, each) for each in (state if isinstance(state, tuple) else (state,))]
        return [makes, of_it, states, *([] if each is None else list(each) for each in (entries, items))]
    attributes = _attributes(value)
    if attributes:
        return [_without_caches(kind, attributes)]
    text = repr(value)
    if kind.__repr__ is object.__repr__ or " at 0x" in text:
        raise Untold(kind.__qualname__)
    return [text]


def _attributes(value: Any) -> dict[str, Any]:
    slots = [vars(kind).get("__slots__", ()) for kind in type(value).__mro__]
    names = [name for each in slots for name in ([each] if isinstance(each, str) else each)]
    found = {name: getattr(value, name) for name in names if name not in ("__dict__", "__weakref__") and hasattr(value, name)}
    return {**found, **getattr(value, "__dict__", {})}


def _without_caches(kind: type, state: Any) -> Any:
    """A state without what is computed when it is first read, and without documentation."""
    if not isinstance(state, dict):
        return state
    return {name: each for name, each in state.items() if name != "__doc__" and not _is_cache(kind, name)}


def _is_cache(kind: type, name: Any) -> bool:
    """Whether an attribute is filled by a descriptor of the class when it is first read, such as `functools.cached_property`."""
    for base in kind.__mro__:
        if name in vars(base):
            found = vars(base)[name]
            is_function = isinstance(found, (types.FunctionType, types.BuiltinFunctionType, staticmethod, classmethod, type))
            return not is_function and hasattr(type(found), "__get__") and not hasattr(type(found), "__set__")
    return False
