"""Aim."""

from __future__ import annotations

from os import PathLike, fspath
from typing import Any

from meshfold._run_info import RunInfo
from meshfold.callbacks._figures import varied
from meshfold.callbacks._requirement import required
from meshfold.callbacks._tracker import TrackedRun, Tracker


class Aim(Tracker):
    """Logs runs to Aim; needs the package aim.

    Each run becomes an Aim run, named by its label, in the Aim experiment with the name of the experiment. It has the configuration
    as `config` and the settings that the sweep varies as `sweep`. Figures are tracked by round; parts of a figure, such as mean and
    min, are contexts. A resumed run continues the same Aim run.

    Args:
        repo: the folder or the server of Aim's repository; `.aim` in the working folder if absent.
    """

    def __init__(self, repo: str | PathLike[str] | None = None) -> None:
        super().__init__()
        self._aim = required("aim", "Aim")
        self._repo = None if repo is None else fspath(repo)

    def _place(self) -> str:
        return f"aim {self._repo or ''}"

    def _begin(self, run: RunInfo, known: str | None) -> TrackedRun:
        begun = self._aim.Run(
            run_hash=known,
            repo=self._repo,
            experiment=run.name,
            # The machine's load and the printed text belong to all runs together.
            system_tracking_interval=None,
            capture_terminal_logs=False,
        )
        begun.name = run.label
        begun["config"] = run.config
        begun["sweep"] = varied(run.settings)
        begun["meshfold_id"] = run.id
        return _AimRun(begun)


class _AimRun:
    #: None, so that all records are logged: Aim replaces the value of a step that it already has.
    last: int | None = None

    def __init__(self, run: Any) -> None:
        self._run = run
        self.id: str | None = run.hash

    def log(self, record: dict[str, Any]) -> None:
        for name, figure in record.items():
            parts = figure if isinstance(figure, dict) else {None: figure}
            for part, number in parts.items():
                if name != "round" and number is not None:
                    context = {} if part is None else {"part": part}
                    self._run.track(number, name=name, step=record["round"], context=context)

    def end(self, run: RunInfo) -> None:
        self._run["ending"] = run.ending
        if run.error is not None:
            self._run["error"] = run.error
        self._run.close()
