"""Digests of what a part is made of, which tell runs of one part from those of another."""

from __future__ import annotations

import dataclasses
import enum
import functools
import hashlib
import inspect
import types
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: How far a function's own functions are followed.
_DEEPEST = 4


def of_arrays(*arrays: NDArray[Any]) -> str:
    """A digest of the types, shapes and contents of `arrays`."""
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(f"{array.dtype} {array.shape}".encode())
        # The bytes of an array of objects are places in memory.
        digest.update(repr(array.tolist()).encode() if array.dtype.hasobject else np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:16]


def of_source(function: Callable[..., Any]) -> str:
    """A digest of the source of `function`, or of its name where the source is not known, and of what belongs to it."""
    enclosed = _enclosed(function, 0)
    text = _source(function) + (repr(enclosed) if enclosed else "")
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def of_values(*values: Any) -> str:
    """A digest of functions, arrays, numbers, text, and lists, dicts, sets and objects of them.

    Raises:
        TypeError: if something is only known by its place in memory.
    """
    return hashlib.sha256(repr([_told(value, 0) for value in values]).encode()).hexdigest()[:16]


def _source(function: Any) -> str:
    try:
        return inspect.getsource(function)
    except (OSError, TypeError):
        return repr(getattr(function, "__qualname__", type(function).__qualname__))


def _enclosed(function: Any, depth: int) -> dict[str, Any]:
    """What belongs to `function`, by names: the variables of functions around it that it uses, the defaults of its parameters, the
    arguments of a partial function, the object of a method, the attributes of an object that is called."""
    if isinstance(function, functools.partial):
        parts = {"function": function.func, "arguments": function.args, "keywords": function.keywords}
        return {name: _told(value, depth + 1) for name, value in parts.items()}
    try:
        variables = dict(inspect.getclosurevars(function).nonlocals)
    except (TypeError, ValueError):
        variables = {} if isinstance(function, type) else dict(getattr(function, "__dict__", {}))
    for name, value in _defaults(function):
        variables.setdefault(f"{name}=", value)
    if inspect.ismethod(function):
        variables["__self__"] = getattr(function.__self__, "__dict__", {})
    return {name: _told(value, depth + 1) for name, value in sorted(variables.items())}


def _defaults(function: Any) -> list[tuple[str, Any]]:
    if not inspect.isroutine(function):
        return []
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    return [(each.name, each.default) for each in parameters if each.default is not each.empty]


def _told(value: Any, depth: int) -> Any:
    """`value` in a form whose text is the same wherever the value is."""
    if value is None or isinstance(value, (bool, int, float, str, bytes)):
        return value
    if isinstance(value, (list, tuple)):
        return [_told(entry, depth) for entry in value]
    if isinstance(value, Mapping):
        return {str(key): _told(entry, depth) for key, entry in value.items()}
    if hasattr(value, "number_of_nodes") and hasattr(value, "edges"):
        return [repr(list(value.nodes)), repr(list(value.edges))]
    if hasattr(value, "tocoo"):
        entries = value.tocoo()
        return of_arrays(entries.row, entries.col, entries.data, np.array(value.shape))
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        return of_arrays(np.asarray(value.detach() if hasattr(value, "detach") else value))
    if hasattr(value, "to_numpy"):
        return [repr(list(getattr(value, "columns", []))), _told(value.to_numpy(), depth)]
    if callable(value):
        return (_source(value), _enclosed(value, depth)) if depth < _DEEPEST else type(value).__qualname__
    return _told_object(value, depth)


def _told_object(value: Any, depth: int) -> Any:
    """An object that is neither a number, nor text, nor an array, nor called."""
    kind = type(value).__qualname__
    if isinstance(value, (set, frozenset)):
        return [kind, *sorted((_told(entry, depth) for entry in value), key=repr)]
    if isinstance(value, enum.Enum):
        return [kind, value.name, _told(value.value, depth)]
    if isinstance(value, types.ModuleType):
        return [kind, value.__name__]
    if dataclasses.is_dataclass(value):
        fields: Any = {each.name: getattr(value, each.name) for each in dataclasses.fields(value)}
    else:
        fields = getattr(value, "__dict__", None)
    if fields is not None:
        return [kind, _told(fields, depth + 1)] if depth < _DEEPEST else kind
    text = repr(value)
    # What is called by its place in memory is called otherwise in the next process.
    made: Any = type(value)
    if made.__repr__ is object.__repr__ or " at 0x" in text:
        raise TypeError(
            f"no digest tells a {kind} from others, by which runs are known: give a `version`, and another one where it changes"
        )
    return [kind, text]
