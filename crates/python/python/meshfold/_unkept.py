"""Watches the attributes of a method that no checkpoint holds, those with an underscore: a run that is resumed loses what they became."""

from __future__ import annotations

import collections
import functools
import hashlib
import random
import types
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import numpy as np

from meshfold import _late, _libraries, _states
from meshfold._meshfold import Mixing, Stack
from meshfold._own import Method

#: The attribute of a method in which this module keeps what it saw.
_WATCH = "_meshfold_watch"


class _Told(NamedTuple):
    digest: bytes
    #: Whether numbers, arrays or stacks are in it.
    has_numbers: bool


class _Watch:
    """What the attributes were at the end of `start`, or at the end of the round that made them."""

    def __init__(self) -> None:
        self.before: dict[str, _Told | None] = {}
        self.has_warned = False


def watch(method: Method) -> None:
    """Takes note of attributes that are new; called at the end of `start` and of each round."""
    seen = vars(method).setdefault(_WATCH, _Watch())
    if seen.has_warned:
        return
    for name, value in _unkept(method).items():
        # What is filled in later, once, may be a cache.
        if name not in seen.before and value is not None:
            seen.before[name] = _told(value, _kept_stacks(method))


def expect_unchanged(method: Method) -> None:
    """Warns, once in a run, of attributes that have changed since they were noted; called at each checkpoint."""
    seen = vars(method).setdefault(_WATCH, _Watch())
    if seen.has_warned:
        return
    changed = [name for name, value in _unkept(method).items() if name in seen.before and _has_changed(method, seen.before[name], value)]
    if not changed:
        return
    seen.has_warned = True
    names = " and ".join(f"`self.{name}`" for name in sorted(changed))
    have, them = ("has", "it") if len(changed) == 1 else ("have", "them")
    _late.say(
        f"the method `{method.name}`: {names} {have} changed in the rounds, and no checkpoint holds attributes whose names begin with an "
        f"underscore: a run that is resumed goes on with what `start` makes of {them}. {_remedy(method, sorted(changed))}. What each "
        "round makes anew is best a variable of `round`"
    )


def _remedy(method: Method, changed: list[str]) -> str:
    """What to do about these attributes."""
    others = [name for name in changed if not _states.is_generator(vars(method)[name])]
    hint = "Make a generator in each round, `np.random.default_rng([round.seed, round.number])`, so that a resumed run draws the same"
    if not others:
        return hint
    it, them = ("it", "it") if len(others) == 1 else ("they", "them")
    kept = " and ".join(f"`self.{name.lstrip('_')}`" for name in others)
    which = them if others == changed else " and ".join(f"`self.{name}`" for name in others)
    renamed = f"Call {which} {kept} if {it} should be kept, as checkpoints hold stacks, numbers and arrays of numbers"
    return renamed if others == changed else f"{hint}. {renamed}"


def _unkept(method: Method) -> dict[str, Any]:
    """The attributes that no checkpoint holds."""
    return {name: value for name, value in vars(method).items() if name.startswith("_") and not name.startswith("_meshfold_")}


def _kept_stacks(method: Method) -> set[int]:
    """The identities of the stacks that checkpoints hold."""
    return {id(value) for name, value in vars(method).items() if isinstance(value, Stack) and not name.startswith("_")}


def _has_changed(method: Method, before: _Told | None, value: Any) -> bool:
    now = _told(value, _kept_stacks(method))
    # Nothing is known of what cannot be told.
    return before is not None and now is not None and now.digest != before.digest and (now.has_numbers or before.has_numbers)


def _told(value: Any, kept: Collection[int]) -> _Told | None:
    """A digest of the numbers in `value`; None if it cannot be read. Of stacks in `kept`, only their place counts."""
    teller = _Teller(kept)
    try:
        teller.tell(value)
    except Exception:  # Objects of a user's may raise anything where they are read.
        return None
    return _Told(teller.digest.digest(), teller.has_numbers)


#: What has no numbers of its own: the code of a program.
_CODE = (type, types.ModuleType, types.FunctionType, types.MethodType, types.BuiltinFunctionType)


class _Teller:
    """Feeds a digest with a value and all that it is made of."""

    def __init__(self, kept: Collection[int]) -> None:
        self.digest = hashlib.blake2b(digest_size=16)
        self.has_numbers = False
        self._kept = kept
        #: Containers and objects that were met, by their identities, with their places; they may hold each other.
        self._met: dict[int, tuple[int, Any]] = {}

    def tell(self, value: Any) -> None:
        self._add(type(value).__qualname__)
        if value is None or isinstance(value, (str, bytes)):
            self._add(repr(value))
        elif isinstance(value, (bool, int, float, complex)):
            self._number(repr(value))
        elif isinstance(value, Stack):
            self._stack(value)
        elif isinstance(value, Mixing):
            # Those of a round are made anew.
            return
        elif isinstance(value, (np.ndarray, np.generic)) or hasattr(value, "__array__"):
            self._array(value)
        elif not isinstance(value, _CODE):
            place, _ = self._met.get(id(value), (len(self._met), None))
            self._add(str(place))
            if place == len(self._met):
                # Kept, so that no other value gets its address.
                self._met[id(value)] = (place, value)
                self._parts(value)

    def _parts(self, value: Any) -> None:
        """What `value` is made of."""
        if isinstance(value, (list, tuple, collections.deque)):
            self._all(value)
        elif isinstance(value, (set, frozenset)):
            self._all(sorted(value, key=repr))
        elif isinstance(value, Mapping):
            self._all(part for entry in value.items() for part in entry)
        elif isinstance(value, np.random.Generator):
            self.tell(value.bit_generator.state)
        elif isinstance(value, np.random.RandomState):
            self.tell(value.get_state())
        elif isinstance(value, random.Random):
            self.tell(value.getstate())
        elif callable(getattr(value, "state_dict", None)):
            self.tell(value.state_dict())
        elif isinstance(value, Method) or not _libraries.is_of_library(type(value)):
            held = {name: part for name, part in sorted(vars(value).items()) if not name.startswith("_meshfold_")}
            self._all(part for name, part in held.items() if not isinstance(getattr(type(value), name, None), functools.cached_property))

    def _all(self, parts: Any) -> None:
        self._add("(")
        for part in parts:
            self.tell(part)
        self._add(")")

    def _stack(self, stack: Stack) -> None:
        self.has_numbers = True
        if id(stack) in self._kept:
            return self._add("kept")
        try:
            rows = stack.numpy(padded=True)
        except Exception:  # Its round is over.
            return self._add("closed")
        self._array(rows)

    def _array(self, value: Any) -> None:
        array = np.asarray(value.detach().cpu() if hasattr(value, "detach") else value)
        self._add(f"{array.dtype} {array.shape}")
        if array.dtype.kind == "O":
            return self._all(array.ravel().tolist())
        self.has_numbers = self.has_numbers or array.dtype.kind in "biufc"
        self.digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)

    def _number(self, text: str) -> None:
        self.has_numbers = True
        self._add(text)

    def _add(self, text: str) -> None:
        self.digest.update(f"{len(text)} {text}".encode(errors="replace"))
