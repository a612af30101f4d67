"""TensorBoard."""

from __future__ import annotations

import json
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from meshfold._meshfold import EventLog, EventLogs
from meshfold._run_info import RunInfo
from meshfold.callbacks._tracker import TrackedRun, Tracker


class TensorBoard(Tracker):
    """Writes event files for TensorBoard, as `meshfold run --tensorboard` does; the package tensorboard is only needed to look at them.

    Each run becomes a TensorBoard run, `DIR/NAME/LABEL`, with all figures of its records as scalars by round and its settings as
    hyperparameters. A run that is resumed or restarted gets a new file. A run that was finished before gets a file if it has none.

    Args:
        dir: the folder for `tensorboard --logdir`; if absent, the folder `tensorboard` in that of all results.
    """

    def __init__(self, dir: str | PathLike[str] | None = None) -> None:
        super().__init__()
        self._dir = None if dir is None else Path(fspath(dir))
        self._logs: dict[Path, EventLogs] = {}

    def _place(self) -> str:
        return "tensorboard"

    def _folder(self, run: RunInfo) -> EventLogs:
        dir = self._dir or run.folder.parent.parent / "tensorboard"
        if dir not in self._logs:
            self._logs[dir] = EventLogs(dir)
        return self._logs[dir]

    def _begin(self, run: RunInfo, known: str | None) -> TrackedRun:
        settings = json.dumps(run.settings)
        return _EventFile(self._folder(run).begin(run.folder, run.label, settings))

    def on_end(self, run: RunInfo) -> None:
        super().on_end(run)
        if run.ending == "skipped":
            with self._lock:
                try:
                    if not self._folder(run).has(run.folder):
                        self._begin(run, None)
                except Exception as error:
                    self._warn(run, error)


class _EventFile:
    #: None, because the file is found by the name of the run.
    id = None
    #: None, because the file itself skips records that it has.
    last = None

    def __init__(self, log: EventLog) -> None:
        self._log = log

    def log(self, record: dict[str, Any]) -> None:
        self._log.append(json.dumps(record))

    def end(self, run: RunInfo) -> None:
        self._log.end(run.ending or "")
