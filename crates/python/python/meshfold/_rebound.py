"""Warns of a `round` whose parameter `models` ends as another stack than the clients' models: what was done to that one is lost."""

from __future__ import annotations

import dis
import functools
import sys
import threading
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from meshfold import _global_draws, _idle_names, _late, _remedies, _shared
from meshfold._meshfold import Round, Stack
from meshfold._own import Method, faults_told

#: The attribute of a method that says that its user was told.
_TOLD = "_meshfold_told_of_rebound"

#: Held by the thread that sets its profiler.
_SETTING = threading.Lock()

_NO_VALIDATION = (
    "evaluate: the dataset keeps no validation examples: keep the last 1000 training examples apart by `validation: 1000` in its settings, "
    "`dataset: {mnist: {validation: 1000}}`"
)


def call_round(method: Method, models: Stack, about: Round) -> object:
    """Calls the `round` of `method`, and warns of what it does that is lost, or that other runs see."""
    with _global_draws.watched(method), faults_told(about), _remedies.told():
        try:
            returned = _called(method, models, about)
        except ValueError as error:
            if str(error).startswith("examples for validation: 0,"):
                error.args = (_NO_VALIDATION,)
            raise
    _shared.expect_unchanged(method, about)
    _idle_names.tell_of(method)
    return returned


def _called(method: Method, models: Stack, about: Round) -> object:
    """Calls the `round` of `method`, and warns, once in a run, if its parameter was bound to something else that differs at the end."""
    # What it should not return, the caller refuses.
    begin: Callable[[Stack, Round], object] = method.round
    code = getattr(getattr(begin, "__func__", None), "__code__", None)
    name = None if code is None else _rebound_parameter(code)
    # Who profiles keeps the profiler.
    if name is None or _TOLD in vars(method) or sys.getprofile() is not None:
        return begin(models, about)
    last: Any = models

    def look(frame: types.FrameType, event: str, _: Any) -> None:
        nonlocal last
        if event == "return" and frame.f_code is code:
            last = frame.f_locals.get(name, models)

    if not _profiles(look):
        return begin(models, about)
    try:
        returned = begin(models, about)
    finally:
        while not _profiles(None):
            pass
    if last is not models and _differs(models, last):
        vars(method)[_TOLD] = True
        _late.say(
            f"the method `{method.name}`: at the end of `round`, `{name}` is no more the stack of the clients' models but {_kind(last)} with other "
            f"values, which are lost. Change the stack itself, by `{name}.set(...)` or `{name}.mix(...)`, or give what is made of it another name"
        )
    return returned


def _profiles(look: Callable[[types.FrameType, str, Any], None] | None) -> bool:
    """Makes `look` the profiler of this thread. Python 3.11 refuses that while another thread sets one."""
    try:
        with _SETTING:
            sys.setprofile(look)
    except RuntimeError:
        return False
    return True


@functools.lru_cache(maxsize=256)
def _rebound_parameter(code: types.CodeType) -> str | None:
    """The name of the parameter for the models, if the code of a `round` binds it anew anywhere."""
    if code.co_argcount < 2:
        return None
    name = code.co_varnames[1]
    for instruction in dis.get_instructions(code):
        # Some instructions of Python 3.13 store two names.
        names = instruction.argval if isinstance(instruction.argval, tuple) else (instruction.argval,)
        if instruction.opname.startswith(("STORE_FAST", "STORE_DEREF")) and name in names:
            return name
    return None


def _kind(value: Any) -> str:
    return "another stack" if isinstance(value, Stack) else f"of type {type(value).__name__}"


def _differs(models: Stack, other: Any) -> bool:
    """Whether `other` has the shape of the models and other values."""
    try:
        if isinstance(other, Stack):
            rows = other.numpy()
        else:
            rows = np.asarray(other.detach().cpu() if hasattr(other, "detach") else other)
        padded = rows.shape != models.shape
        own = models.numpy(padded=padded)
        return rows.shape == own.shape and not np.array_equal(rows, own, equal_nan=True)
    except Exception:  # Objects of a user's may raise anything where they are read.
        return False
