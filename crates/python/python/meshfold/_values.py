"""What values are made of, of which digests are made."""

from __future__ import annotations

import argparse
import dataclasses
import enum
import functools
import inspect
import random
import sys
import types
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meshfold import _libraries


def name_of(it: Any) -> str:
    return f"{getattr(it, '__module__', None)}.{getattr(it, '__qualname__', type(it).__qualname__)}"


def is_told_by_state(value: Any) -> bool:
    """Whether an object is of a library; records have attributes of the user's, and descriptors stand for those."""
    is_record = isinstance(value, (argparse.Namespace, types.SimpleNamespace)) or dataclasses.is_dataclass(value)
    return _libraries.is_of_library(type(value)) and not is_record and not inspect.isdatadescriptor(value)


def kind_of_array(value: Any) -> list[str]:
    """The type of an array that is more than one, such as a matrix."""
    kind = type(value)
    return [kind.__qualname__] if isinstance(value, np.matrix) else []


def of_pandas(value: Any) -> list[Any] | None:
    """What a table, column or index of pandas is made of; None for anything else."""
    pandas = sys.modules["pandas"]
    if isinstance(value, pandas.DataFrame):
        return [value.columns, value.index, [value.iloc[:, place] for place in range(value.shape[1])], value.attrs]
    if isinstance(value, pandas.Series):
        return [value.name, value.index, value.array, value.attrs]
    if isinstance(value, pandas.MultiIndex):
        return [list(value.names), value.tolist()]
    if isinstance(value, pandas.Index):
        return [value.name, value.array]
    if isinstance(value, pandas.Categorical):
        return [value.categories, value.ordered, value.codes]
    return [str(value.dtype), value.to_numpy()] if isinstance(value, pandas.api.extensions.ExtensionArray) else None


def by_name(value: Any) -> str:
    """What the entries of a set are ordered by; their addresses differ between processes."""
    text = getattr(value, "__qualname__", None) or repr(value)
    return name_of(type(value)) if " at 0x" in text else f"{type(value).__qualname__} {text}"


def functions_in(value: Any) -> Any:
    """The functions and arguments that an object of Python's own wraps, such as a method or a property; None for anything else."""
    if isinstance(value, (functools.partial, functools.partialmethod)):
        return [value.func, value.args, value.keywords]
    if isinstance(value, types.MethodType):
        return [value.__func__, value.__self__]
    if isinstance(value, (staticmethod, classmethod)):
        return [value.__func__]
    if isinstance(value, property):
        return [value.fget, value.fset, value.fdel]
    if isinstance(value, functools.cached_property):
        return [value.func]
    # Such as what `functools.lru_cache` and `jax.jit` return.
    if callable(value) and _libraries.is_of_library(type(value)) and callable(getattr(value, "__wrapped__", None)):
        return [value.__wrapped__]
    return None


def read(place: Any, value: Any, attributes: tuple[str, ...]) -> tuple[list[Any], Any]:
    """What `value.attributes` is, as far as modules of the user's and objects have it, and the places of all that was read for it."""
    places = [place]
    for name in attributes:
        kind = type(value)
        of = value if issubclass(kind, types.ModuleType) else kind
        try:
            there = vars(value)
        except Exception:
            break
        is_record = issubclass(kind, (argparse.Namespace, types.SimpleNamespace))
        is_function = issubclass(kind, types.FunctionType) and not _libraries.is_of_library(value)
        is_closed = _libraries.is_of_library(of) and not is_record and not is_function
        if issubclass(kind, type) or name not in there or is_closed:
            break
        places.append(place_of(value, name))
        value = there[name]
    return places, value


def place_of(owner: Any, name: str) -> tuple[int, str]:
    """The identity of an attribute."""
    return (id(vars(owner)) if issubclass(type(owner), types.ModuleType) else id(owner), name)


def array_of(value: Any) -> NDArray[Any]:
    tensor = value.detach().cpu() if hasattr(value, "detach") else value
    try:
        return np.asarray(tensor)
    except TypeError:
        # NumPy lacks some types, such as bfloat16 of PyTorch and keys of JAX.
        return np.asarray(tensor.double() if hasattr(tensor, "double") else repr(tensor))


def is_written(kind: type, name: str, value: Any) -> bool:
    """Whether a user wrote an attribute of a class; Python makes others."""
    if name in ("_abc_impl", "__annotate__", "__annotate_func__"):
        return False
    is_made = issubclass(kind, enum.Enum) or hasattr(kind, "__dataclass_fields__") or hasattr(kind, "_fields")
    function = value.__func__ if isinstance(value, (staticmethod, classmethod)) else value
    if isinstance(function, types.FunctionType):
        return not (is_made and (_libraries.is_of_library(function) or function.__code__.co_filename == "<string>"))
    if issubclass(kind, enum.Enum) and (name in kind.__members__ or name.startswith("_")):
        return False
    return isinstance(value, property) or not name.startswith("__")


def attributes_of(value: Any) -> dict[str, Any] | None:
    """The attributes of an object; None if it has no place for them, or if they do not tell it."""
    if isinstance(value, random.Random):
        return None
    if dataclasses.is_dataclass(value):
        return {each.name: getattr(value, each.name) for each in dataclasses.fields(value) if hasattr(value, each.name)}
    slots = [vars(kind).get("__slots__", ()) for kind in type(value).__mro__]
    names = [name for each in slots for name in ([each] if isinstance(each, str) else each) if name not in ("__dict__", "__weakref__")]
    found = {name: getattr(value, name) for name in names if hasattr(value, name)}
    within = getattr(value, "__dict__", None)
    return {**found, **within} if within is not None else found or None
