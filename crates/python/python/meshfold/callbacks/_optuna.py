"""Optuna."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from meshfold._run_info import RunInfo
from meshfold.callbacks._callback import Callback
from meshfold.callbacks._figures import figure
from meshfold.callbacks._requirement import required


class OptunaPruning(Callback):
    """Reports the records of a trial to Optuna, and ends its runs when the trial should be pruned; needs the package optuna.

    To prune, the runs end after their current round, with a checkpoint if the experiment keeps any, and `meshfold.run` raises
    `optuna.TrialPruned`, which an objective passes on. If a call has several runs, such as one for each seed, their mean is
    reported, for each round of which all have a record.

    Args:
        trial: the trial, as the objective gets it.
        metric: the figure of a record by its dotted path.
    """

    def __init__(self, trial: Any, metric: str = "test_accuracy.mean") -> None:
        self._optuna = required("optuna", "OptunaPruning")
        self._trial = trial
        self._metric = metric
        self._runs: list[str] = []
        self._values: dict[int, dict[str, float]] = {}
        self._is_pruned = False

    def on_plan(self, runs: Sequence[RunInfo]) -> None:
        self._runs = [run.id for run in runs]
        self._values.clear()

    def on_start(self, run: RunInfo) -> None:
        if run.resumed_from is not None:
            self._report_all(run, run.resumed_from)

    def on_record(self, run: RunInfo, record: dict[str, Any]) -> None:
        value = figure(record, self._metric, "OptunaPruning")
        # Nothing is reported after the decision to prune.
        if value is None or self._is_pruned:
            return
        values = self._values.setdefault(record["round"], {})
        values[run.id] = value
        if len(values) < len(set(self._runs)):
            return
        # Summed in the order of the runs, so that the bits do not depend on which was faster.
        total = sum(values[id] for id in dict.fromkeys(self._runs))
        self._trial.report(total / len(values), step=record["round"])
        if self._trial.should_prune():
            self._is_pruned = True
            raise self._optuna.TrialPruned(f"pruned after round {record['round']}")

    def on_end(self, run: RunInfo) -> None:
        if run.ending == "skipped":
            self._report_all(run, run.rounds)

    def _report_all(self, run: RunInfo, until: int) -> None:
        for record in run.records():
            if record["round"] <= until:
                self.on_record(run, record)
