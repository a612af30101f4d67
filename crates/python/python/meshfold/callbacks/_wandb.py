"""Weights & Biases."""

from __future__ import annotations

from typing import Any

from meshfold._run_info import RunInfo
from meshfold.callbacks._figures import figures, varied
from meshfold.callbacks._requirement import required
from meshfold.callbacks._tracker import TrackedRun, Tracker

#: Exit codes by which Weights & Biases tells how a run ended; it gives 255 after Ctrl-C itself.
EXIT_CODES = {"finished": 0, "interrupted": 255}


class WandB(Tracker):
    """Follows runs in Weights & Biases; needs the package wandb.

    Each run is a run there, named by its label, in the group of its experiment, with its configuration as `config`; what its sweep varies
    is below `sweep` once more, each a single value. Figures are logged by round. A resumed run goes on in the same run; with `mode="offline"`, where
    Weights & Biases resumes none, it has a folder of its own there under the same id, with all its records.

    Args:
        project: the project.
        init: what else `wandb.init` takes, such as `entity`, `mode`, `dir` and `tags`; `config` is added to that of each run.
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
            # Runs go on side by side.
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
