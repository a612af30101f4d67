"""The base of call-backs that log to experiment trackers."""

from __future__ import annotations

import json
import os
import threading
import warnings
from pathlib import Path
from typing import Any, Protocol

from meshfold._errors import MeshfoldWarning
from meshfold._run_info import RunInfo
from meshfold.callbacks._callback import Callback

#: The file in the folder of a run with the run's id at each tracker.
NAMES = "trackers.json"

_names_lock = threading.Lock()


class TrackedRun(Protocol):
    """A run at its tracker."""

    @property
    def id(self) -> str | None:
        """The tracker's id for it, under which a resumed run finds it again."""

    @property
    def last(self) -> int | None:
        """The round of the last record that the tracker has of it."""

    def log(self, record: dict[str, Any]) -> None: ...

    def end(self, run: RunInfo) -> None: ...


class Tracker(Callback):
    """Each run of Meshfold becomes a run of the tracker. A resumed run continues it, and logs no record twice.

    Until a tracker has accepted its first run, its exceptions end the call, so that a mistake shows at once. Later they become
    warnings, so that no run is lost because a server cannot be reached.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._open: dict[str, TrackedRun] = {}
        self._has_worked = False

    def _place(self) -> str:
        """The key in `trackers.json` for the place where the tracker keeps its runs."""
        raise NotImplementedError

    def _begin(self, run: RunInfo, known: str | None) -> TrackedRun:
        """Opens the tracker's run with the id `known`, or a new one if that is None."""
        raise NotImplementedError

    def on_start(self, run: RunInfo) -> None:
        with self._lock:
            known = None if run.resumed_from is None else _names(run.folder).get(self._place())
            try:
                tracked = self._begin(run, known)
                self._open[run.id] = tracked
                for record in _earlier(run):
                    _log(tracked, record)
                if tracked.id is not None:
                    _remember(run.folder, self._place(), tracked.id)
            except Exception as error:
                self._open.pop(run.id, None)
                if not self._has_worked:
                    raise
                self._warn(run, error)
                return
            self._has_worked = True

    def on_record(self, run: RunInfo, record: dict[str, Any]) -> None:
        with self._lock:
            tracked = self._open.get(run.id)
            if tracked is None:
                return
            try:
                _log(tracked, record)
            except Exception as error:
                self._warn(run, error)

    def on_end(self, run: RunInfo) -> None:
        with self._lock:
            tracked = self._open.pop(run.id, None)
            if tracked is None:
                return
            try:
                tracked.end(run)
            except Exception as error:
                self._warn(run, error)

    def _warn(self, run: RunInfo, error: Exception) -> None:
        told = f"{type(self).__name__}: {run.label}: {type(error).__name__}: {error}"
        warnings.warn(told, MeshfoldWarning, stacklevel=3)


def _log(tracked: TrackedRun, record: dict[str, Any]) -> None:
    if tracked.last is None or record["round"] > tracked.last:
        tracked.log(record)


def _earlier(run: RunInfo) -> list[dict[str, Any]]:
    """The records that a resumed run already had."""
    if run.resumed_from is None:
        return []
    return [record for record in run.records() if record["round"] <= run.resumed_from]


def _names(folder: Path) -> dict[str, str]:
    try:
        names: dict[str, str] = json.loads((folder / NAMES).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return names


def _remember(folder: Path, place: str, id: str) -> None:
    """Stores a tracker's id for the run, so that a resumed run continues there."""
    with _names_lock:
        names = {**_names(folder), place: id}
        # Replaced in one step: a truncated file would lose the ids of all trackers.
        new = folder / f"{NAMES}.new"
        new.write_text(json.dumps(names, indent=2) + "\n", encoding="utf-8")
        os.replace(new, folder / NAMES)
