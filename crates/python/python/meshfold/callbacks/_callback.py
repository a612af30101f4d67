"""Call-backs, and the dispatcher that calls them."""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, Union

from meshfold._errors import MeshfoldWarning
from meshfold._run_info import RunInfo

#: Called with a run and its new record, a dict as in `metrics.jsonl`.
OnRecord = Callable[[RunInfo, dict[str, Any]], object]


class Callback:
    """Hooks that are called while runs are carried out; override those that you need.

    If a hook raises an exception, all runs end after their current round, with a checkpoint if the experiment keeps any, and
    `meshfold.run` raises it again. Until then the other call-backs are still called, and `on_end` is called for all of them.
    `run.stop()` ends one run alone.

    Attributes:
        awaited: whether a run waits, at its beginning and after each record, until the hooks of all call-backs have been called. Then
            `run.stop()` ends it right after the round of the record, and no sooner or later in another call.
    """

    awaited: bool = False

    def on_plan(self, runs: Sequence[RunInfo]) -> None:
        """Called before any run begins, with all runs of the call, including finished ones."""

    def on_start(self, run: RunInfo) -> None:
        """A run begins, or continues after round `run.resumed_from`; then `run.records()` has the records up to that round."""

    def on_record(self, run: RunInfo, record: dict[str, Any]) -> None:
        """A run has a new record, a dict as in `metrics.jsonl`."""

    def on_end(self, run: RunInfo) -> None:
        """A run has ended as `run.ending` says; also called for runs that never began."""


class _OnPlan(Protocol):
    def on_plan(self, runs: Sequence[RunInfo]) -> object: ...


class _OnStart(Protocol):
    def on_start(self, run: RunInfo) -> object: ...


class _OnRecord(Protocol):
    def on_record(self, run: RunInfo, record: dict[str, Any]) -> object: ...


class _OnEnd(Protocol):
    def on_end(self, run: RunInfo) -> object: ...


#: A function for each record, or an object with at least one of the hooks of `Callback`.
AnyCallback = Union[OnRecord, _OnPlan, _OnStart, _OnRecord, _OnEnd]

HOOKS = ("on_plan", "on_start", "on_record", "on_end")
#: What a call-back must be.
_NEEDED = "a function on_record(run, record) or an object with on_plan, on_start, on_record or on_end"


class _Function(Callback):
    """A function that is called for each record."""

    def __init__(self, function: OnRecord) -> None:
        self._function = function

    def on_record(self, run: RunInfo, record: dict[str, Any]) -> None:
        self._function(run, record)


class Dispatcher:
    """Calls the call-backs given to one call of `meshfold.run`."""

    def __init__(self, callbacks: Sequence[AnyCallback]) -> None:
        self._callbacks = [_checked(place, callback) for place, callback in enumerate(callbacks)]
        self._failed: set[int] = set()
        #: Whether a run waits until the hooks have been called.
        self.is_awaited = any(bool(getattr(callback, "awaited", False)) for callback in self._callbacks)
        #: Whether the runs are being ended; from then on exceptions become warnings.
        self.is_stopping = False

    def call(self, hook: str, *arguments: Any) -> None:
        """Calls a hook of every call-back that has it, and raises the first exception after all of them."""
        first: BaseException | None = None
        for place, callback in enumerate(self._callbacks):
            function = getattr(callback, hook, None)
            if function is None or (hook != "on_end" and place in self._failed):
                continue
            try:
                function(*arguments)
            except BaseException as error:
                self._failed.add(place)
                # A second Ctrl-C is no `Exception`, and is raised.
                if self.is_stopping and isinstance(error, Exception):
                    told = f"call-back {type(callback).__name__}: {type(error).__name__}: {error}"
                    warnings.warn(told, MeshfoldWarning, stacklevel=2)
                else:
                    first = first or error
        if first is not None:
            raise first


def listed(callbacks: AnyCallback | Iterable[AnyCallback]) -> list[AnyCallback]:
    """The call-backs of the argument `callbacks`, which may be a single one."""
    if _has_hook(callbacks) or callable(callbacks):
        return [callbacks]  # type: ignore[list-item]
    if not isinstance(callbacks, Iterable):
        raise TypeError(f"callbacks: found {type(callbacks).__name__}, needed a call-back or a list of them, each {_NEEDED}")
    return list(callbacks)


def _has_hook(callback: object) -> bool:
    return any(callable(getattr(callback, hook, None)) for hook in HOOKS)


def _checked(place: int, callback: object) -> object:
    where = f"callbacks[{place}]"
    if isinstance(callback, type):
        raise TypeError(f"{where}: found the class {callback.__name__}, needed an object: {callback.__name__}(...)")
    if isinstance(callback, Callback):
        _expect_hooks(where, type(callback))
    if _has_hook(callback):
        return callback
    if callable(callback):
        return _Function(callback)
    raise TypeError(f"{where}: found {type(callback).__name__}, needed {_NEEDED}")


def _expect_hooks(where: str, kind: type[Callback]) -> None:
    """Refuses functions of a call-back that are named as a hook and are none: their user waits in vain for their call."""
    for name in dir(kind):
        if name.startswith("on_") and name not in HOOKS and callable(getattr(kind, name)):
            (nearest,) = difflib.get_close_matches(name, HOOKS, n=1, cutoff=0)
            raise TypeError(
                f"{where}: {kind.__name__}.{name} is no hook and would never be called: did you mean `{nearest}`? The hooks are "
                f"{', '.join(HOOKS)}; give other functions names that do not begin with `on_`"
            )
