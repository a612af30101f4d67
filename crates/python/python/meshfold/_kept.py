"""Converts the attributes that a method in Python keeps between rounds to and from what checkpoints hold: stacks and numbers.

Each number encodes four bytes, so that a value of any type is restored with all its bits. The name of the numbers is that of the
attribute and the form of its value: `count int`, `averages array <f8 C 2 3`, `twin same averages`; `row view averages <f8 24 3 8` is a view of
another array, with its offset, lengths and strides in bytes.
"""

from __future__ import annotations

import json
import random
import struct
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np

from meshfold import _unkept, _views
from meshfold._meshfold import Stack
from meshfold._own import Method, keys_of

#: The attribute of a method with the keys that no checkpoint can hold, as `start` left them.
_AT_START = "_meshfold_at_start"


def stacks_of(method: Method) -> list[tuple[str, Stack]]:
    """The stacks among the attributes of `method`, each once; refuses attributes that no checkpoint can hold.

    It is called at the end of `start` and of each round.
    """
    _unkept.watch(method)
    is_start = _AT_START not in vars(method)
    at_start: dict[str, Any] = vars(method).setdefault(_AT_START, {})
    stacks: dict[int, tuple[str, Stack]] = {}
    for name, value in _attributes(method):
        if isinstance(value, Stack):
            stacks.setdefault(id(value), (name, value))
        elif _form(method, name, value) is None:
            if is_start and name in keys_of(type(method)):
                at_start[name] = value
            # In a resumed run `start` makes such a key again.
            if name not in at_start or at_start[name] is not value:
                raise TypeError(f"`self.{name}` is {_kind(value)}, which no checkpoint can hold: {_remedy(name, value)}")
    return list(stacks.values())


def _kind(value: Any) -> str:
    if isinstance(value, np.ndarray) and not isinstance(value, np.ma.MaskedArray):
        return f"an array of type {value.dtype}"
    return f"of type {type(value).__name__}"


def _remedy(name: str, value: Any) -> str:
    """What to do about an attribute that no checkpoint can hold."""
    if isinstance(value, (np.random.Generator, np.random.RandomState, random.Random)):
        return "make a generator in each round, `np.random.default_rng([round.seed, round.number])`, so that a resumed run draws the same"
    held = list(value.values()) if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else []
    if any(isinstance(each, Stack) for each in held):
        return (
            "keep one stack with the rows of all of them, such as the k R rows of `models.gather(np.tile(np.arange(R), k))`, whose rows `gather` and "
            "`scatter` read and write, or an attribute for each stack"
        )
    return (
        f"keep stacks, numbers and arrays of numbers; or call it `self._{name}` if `start` makes it and no round changes it, as `start` "
        "makes it again in a resumed run"
    )


def numbers_of(method: Method) -> list[tuple[str, list[float]]]:
    """The attributes of `method` other than stacks, encoded as numbers, for a checkpoint."""
    _unkept.expect_unchanged(method)
    views = _views.views_of(method, _attributes(method))
    first: dict[int, str] = {}
    numbers: list[tuple[str, list[float]]] = []
    for name, value in _attributes(method):
        form = _form(method, name, value)
        if form is None:
            continue
        # Two names of one object must share it after a restore, too. The first in the order of names is restored first.
        if (view := views.get(name)) is not None:
            numbers.append((f"{name} {view}", []))
        elif isinstance(value, (Stack, np.ndarray)) and first.setdefault(id(value), name) != name:
            numbers.append((f"{name} same {first[id(value)]}", []))
        elif not isinstance(value, Stack):
            numbers.append((f"{name} {form}", _words(_bytes(value, form))))
    return numbers


def may_keep(method: Method, name: str, numbers: list[float]) -> bool:
    """Whether `numbers_of` could have returned `numbers` under this name."""
    attribute, form = _parted(name)
    if not attribute.isidentifier() or attribute.startswith("_"):
        return False
    try:
        form.startswith(("same ", "view ")) or _value(attribute, form, numbers)
    except (ValueError, TypeError):
        return False
    return True


def restore_numbers(method: Method, name: str, numbers: list[float]) -> None:
    """Sets an attribute of `method` to the value that `numbers` encode."""
    attribute, form = _parted(name)
    if form.startswith("view "):
        return _views.restore(method, attribute, form)
    if form.startswith("same "):
        value = getattr(method, form.removeprefix("same "))
    else:
        value = _value(attribute, form, numbers)
        before = vars(method).get(attribute)
        if form.startswith("array ") and isinstance(before, np.ndarray):
            value = value.view(type(before))
        elif form.startswith("jax "):
            value = _jax_array(attribute, value)
    setattr(method, attribute, value)
    _views.restored(method, attribute)


#: What the names of a method's stacks begin with in checkpoints, and what follows those of the bytes that a row has in a message.
_STACK, _MESSAGE_BYTES = "self.", "message_bytes"


def read(stacks: list[tuple[str, Stack]], numbers: list[tuple[str, list[float]]]) -> dict[str, Any]:
    """The attributes that a checkpoint with these stacks and numbers has of a method; none of a method that is built in."""
    method: Any = SimpleNamespace()
    for name, stack in stacks:
        if name.startswith(_STACK):
            setattr(method, name.removeprefix(_STACK), stack)
    for name, each in numbers:
        if _parted(name)[1] != _MESSAGE_BYTES and may_keep(method, name, each):
            restore_numbers(method, name, each)
    return {name: value for name, value in _attributes(method)}


def _attributes(method: Method) -> list[tuple[str, Any]]:
    """The attributes that are kept, in the order of their names."""
    return sorted((name, value) for name, value in vars(method).items() if not name.startswith("_"))


def _form(method: Method, name: str, value: Any) -> str | None:
    """The form of `value` in a checkpoint; None if no checkpoint can hold it."""
    if isinstance(value, Stack):
        return "stack"
    if isinstance(value, np.generic) and value.dtype.kind in "biuf":
        return f"scalar {value.dtype.str} C"
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf" and not isinstance(value, np.ma.MaskedArray):
        # The bits of a sum depend on the order of the numbers in memory.
        order = "C" if value.flags.c_contiguous or not value.flags.f_contiguous else "F"
        return " ".join(["array", value.dtype.str, order, *map(str, value.shape)])
    if _is_of_jax(value) and getattr(value.dtype, "kind", "") in ("b", "i", "u", "f"):
        return " ".join(["jax", value.dtype.str, "C", *map(str, value.shape)])
    for kind in (bool, int, float):
        if isinstance(value, kind) and not isinstance(value, np.generic):
            return kind.__name__
    if name not in keys_of(type(method)) or _json(value) is None:
        return None
    return "tuple" if isinstance(value, tuple) else "json"


def _is_of_jax(value: Any) -> bool:
    kind = getattr(sys.modules.get("jax"), "Array", None)
    return kind is not None and isinstance(value, kind)


def _json(value: Any) -> str | None:
    """`value` as JSON, or None if JSON would lose something."""
    try:
        text = json.dumps(value)
        # A tuple is written as a list.
        return text if bool(json.loads(text) == (list(value) if isinstance(value, tuple) else value)) else None
    except (TypeError, ValueError):
        return None


def _bytes(value: Any, form: str) -> bytes:
    kind, *_ = form.split()
    if kind in ("bool", "int"):
        return int(value).to_bytes(4 * (int(value).bit_length() // 32 + 1), "little", signed=True)
    if kind == "float":
        return struct.pack("<d", value)
    if kind in ("json", "tuple"):
        return (_json(value) or "").encode()
    array = np.asarray(value)
    return array.tobytes(order="F" if " F " in form else "C")


def _words(content: bytes) -> list[float]:
    """`content` as numbers of four bytes each, padded with blanks, which mean nothing at the end of JSON."""
    filled = content.ljust(-(-len(content) // 4) * 4)
    numbers: list[float] = np.frombuffer(filled, "<u4").astype(float).tolist()
    return numbers


def _parted(name: str) -> tuple[str, str]:
    """Splits the name of numbers into the attribute and the form."""
    attribute, _, form = name.partition(" ")
    return attribute, form


def _value(name: str, form: str, numbers: list[float]) -> Any:
    """The value that `numbers` encode; for a JAX array, a NumPy array.

    Raises:
        ValueError: if they encode no value of this form.
    """
    words = np.array(numbers, float)
    if not ((words >= 0) & (words < 2**32) & (words == np.floor(words))).all():
        raise ValueError(f"`{name}` is not made of numbers of four bytes")
    content = words.astype("<u4").tobytes()
    kind, *about = form.split() or [""]
    if kind in ("bool", "int"):
        number = int.from_bytes(content, "little", signed=True)
        return bool(number) if kind == "bool" else number
    if kind == "float" and len(content) == 8:
        return struct.unpack("<d", content)[0]
    if kind in ("json", "tuple"):
        return json.loads(content) if kind == "json" else tuple(json.loads(content))
    if kind in ("scalar", "array", "jax") and len(about) >= 2:
        dtype, shape = np.dtype(about[0]), tuple(map(int, about[2:]))
        # Raises TypeError if the content is too short.
        array = np.ndarray(shape, dtype, content, order="F" if about[1] == "F" else "C").copy(order="K")
        return array[()] if kind == "scalar" else array
    raise ValueError(f"`{name}` is of no form that is known: {form}")


def _jax_array(name: str, array: Any) -> Any:
    import jax

    made = jax.numpy.asarray(array)
    if made.dtype != array.dtype:
        raise ValueError(
            f"`self.{name}` is of type {array.dtype} in the checkpoint, but JAX makes {made.dtype} of it: set `jax_enable_x64`"
        )
    return made
