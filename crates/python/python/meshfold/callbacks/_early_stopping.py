"""Ends runs that no longer improve."""

from __future__ import annotations

import warnings
from typing import Any

from meshfold._errors import MeshfoldWarning
from meshfold._run_info import RunInfo
from meshfold.callbacks._callback import Callback
from meshfold.callbacks._figures import figure, figures

#: After so many records without the figure there is a warning, or at the end of the run.
_AWAITED = 3


class EarlyStopping(Callback):
    """Ends each run whose figure no longer improves, or is far off; the other runs go on.

        mf.run(experiment, callbacks=[mf.callbacks.EarlyStopping("test_accuracy.mean", patience=5, min_delta=0.001)])

    Runs wait for this call-back after each record, so that the round in which one ends does not depend on how fast anything is. A run
    that it has ended is interrupted: it keeps its records, and a checkpoint if the experiment keeps any. The same call ends it at once
    again; one with more patience, or without this call-back, continues it. Records that do not measure the figure do not count. If none of the
    first ones does, there is a warning.

    Args:
        metric: the figure of a record by its dotted path.
        patience: so many records in a row without an improvement end a run; None if none do.
        min_delta: by how much a figure must be better than the best before it to be an improvement.
        mode: `max` if more is better, `min` if less is; if absent, `max` for accuracies and `min` for all other figures.
        limit: a figure that is worse than this ends its run at once.
    """

    awaited = True

    def __init__(
        self,
        metric: str = "test_accuracy.mean",
        *,
        patience: int | None = None,
        min_delta: float = 0.0,
        mode: str | None = None,
        limit: float | None = None,
    ) -> None:
        if patience is None and limit is None:
            raise ValueError("EarlyStopping: needed `patience`, `limit` or both")
        if patience is not None and (isinstance(patience, bool) or not isinstance(patience, int) or patience < 1):
            raise ValueError(f"EarlyStopping: patience is {patience!r}, needed a whole number above 0, or None")
        if not min_delta >= 0:
            raise ValueError(f"EarlyStopping: min_delta is {min_delta!r}, needed 0 or more")
        if mode not in (None, "max", "min"):
            raise ValueError(f"EarlyStopping: mode is {mode!r}, needed 'max', 'min' or None")
        self._metric = metric
        self._patience = patience
        self._min_delta = min_delta
        is_accuracy = "accuracy" in metric and not metric.endswith(".std")
        #: What figures are multiplied by, so that more is better.
        self._sign = 1.0 if (mode or ("max" if is_accuracy else "min")) == "max" else -1.0
        self._limit = limit
        #: The best figure of each run, and how many records came after it, by the run's id.
        self._best: dict[str, tuple[float, int]] = {}
        #: The records of each run after round 0, as long as none has the figure.
        self._missing: dict[str, list[dict[str, Any]]] = {}
        self._has_warned = False

    def on_start(self, run: RunInfo) -> None:
        self._best.pop(run.id, None)
        self._missing[run.id] = []
        if run.resumed_from is not None:
            for record in run.records():
                if record["round"] <= run.resumed_from:
                    self.on_record(run, record)

    def on_record(self, run: RunInfo, record: dict[str, Any]) -> None:
        value = figure(record, self._metric, "EarlyStopping")
        if value is None:
            missing = self._missing.get(run.id)
            if missing is not None and record["round"] > 0:
                missing.append(record)
                if len(missing) == _AWAITED:
                    self._warn(run)
            return
        self._missing.pop(run.id, None)
        value *= self._sign
        best, since = self._best.get(run.id, (None, 0))
        is_better = best is None or value > best + self._min_delta
        since = 0 if is_better else since + 1
        self._best[run.id] = (value if is_better or best is None else best, since)
        is_off = self._limit is not None and value < self._sign * self._limit
        if is_off or (self._patience is not None and since >= self._patience):
            run.stop()

    def on_end(self, run: RunInfo) -> None:
        self._best.pop(run.id, None)
        if self._missing.get(run.id):
            self._warn(run)
        self._missing.pop(run.id, None)

    def _warn(self, run: RunInfo) -> None:
        """Warns, once, that no record has the figure."""
        missing = self._missing.pop(run.id)
        if self._has_warned:
            return
        self._has_warned = True
        found = sorted({name for record in missing for name in figures(record, ".")})
        warnings.warn(
            f"EarlyStopping: {run.label}: no record up to round {missing[-1]['round']} has the figure `{self._metric}`, and without it no run "
            f"ends early. The records have {', '.join(found)}",
            MeshfoldWarning,
            stacklevel=2,
        )
