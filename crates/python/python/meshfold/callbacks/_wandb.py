"""Weights & Biases."""

from __future__ import annotations

from typing import Any

from meshfold._run_info import RunInfo
from meshfold.callbacks._figures import figures, varied
from meshfold.callbacks._requirement import required
from meshfold.callbacks._tracker import TrackedRun, Tracker

#: The exit code for Weights & Biases by the ending of a run; others are 1. Its own code after Ctrl-C is 255.
EXIT_CODES = {"finished": 0, "interrupted": 255}


class WandB(Tracker):
    """Logs runs to Weights & Biases; needs the package wandb.

    Each run becomes a run there, named by its label, in the group of its experiment, with its configuration as `config`. Below
    `config.sweep` are the settings that the sweep varies, each as one value. Figures are logged by round. A resumed run continues the
    same run. With `mode="offline"` Weights & Biases cannot resume: the run gets another folder with the same id and all its records.

    Args:
        project: the project.
        init: further arguments of `wandb.init`, such as `entity`, `mode`, `dir` and `tags`; `config` is merged into each run's.
    """

    def __init__(self, project: str | None = None, **init: Any) -> None:
        super().__init__()
        self._wandb = required("wandb", "WandB")
        self._project = project
        self._init = init
        for taken in ("id", "name", "resume", "reinit"):
            if taken in init:
                raise TypeError(f"WandB: {taken} is different for each run, so that it cannot be given here")

    def _place(self) -> str:
        return f"wandb {self._init.get('entity', '')}/{self._project or ''}"

    def _begin(self, run: RunInfo, known: str | None) -> TrackedRun:
        own = {
            "project": self._project,
            "group": run.name,
            "name": run.label,
            "id": known,
            "resume": None if known is None else "allow",
            # Several runs are open at once.
            "reinit": "create_new",
        }
        about = {"sweep": varied(run.settings), "meshfold_id": run.id}
        config = {**run.config, **about, **self._init.get("config", {})}
        return _WandBRun(self._wandb.init(**{**own, **self._init, "config": config}))


class _WandBRun:
    def __init__(self, run: Any) -> None:
        self._run = run
        self.id: str | None = run.id
        self.last: int | None = run.step - 1

    def log(self, record: dict[str, Any]) -> None:
        self._run.log(figures(record), step=record["round"], commit=True)
        self.last = record["round"]

    def end(self, run: RunInfo) -> None:
        self._run.finish(exit_code=EXIT_CODES.get(run.ending or "", 1))
