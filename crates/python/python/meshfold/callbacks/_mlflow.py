"""MLflow."""

from __future__ import annotations

import time
from typing import Any

from meshfold._run_info import RunInfo
from meshfold.callbacks._figures import figures, settings
from meshfold.callbacks._requirement import required
from meshfold.callbacks._tracker import TrackedRun, Tracker

#: MLflow's status for each ending of a run; others are `FAILED`.
STATUS = {"finished": "FINISHED", "interrupted": "KILLED"}

#: The most parameters that MLflow takes in one request.
AT_ONCE = 100

#: The most characters in a parameter's value.
LONGEST = 6000


class MLflow(Tracker):
    """Logs runs to MLflow; needs the package mlflow, or mlflow-skinny.

    Each run becomes an MLflow run, named by its label, with its settings as parameters and its figures as metrics by round. A resumed
    run continues the same MLflow run.

    Args:
        experiment: the MLflow experiment; if absent, the one with the name of the run's experiment.
        tracking_uri: the server or the store, such as `sqlite:///mlflow.db`; if absent, MLflow's own setting.
    """

    def __init__(self, experiment: str | None = None, tracking_uri: str | None = None) -> None:
        super().__init__()
        self._mlflow = required("mlflow", "MLflow")
        self._experiment = experiment
        self._tracking_uri = tracking_uri
        # Unlike the functions of mlflow, a client has no active run.
        self._client = self._mlflow.MlflowClient(tracking_uri)

    def _place(self) -> str:
        return f"mlflow {self._tracking_uri or self._mlflow.get_tracking_uri()}"

    def _begin(self, run: RunInfo, known: str | None) -> TrackedRun:
        if known is not None and self._resumes(known):
            return _MLflowRun(self._client, known, self._last(known))
        tags = {"meshfold.id": run.id, "meshfold.folder": str(run.folder)}
        begun = self._client.create_run(self._experiment_of(run), run_name=run.label, tags=tags)
        id = begun.info.run_id
        parameter = self._mlflow.entities.Param
        parameters = [
            parameter(path, str(value)[:LONGEST]) for path, value in settings(run.config, run.settings).items()
        ]
        for place in range(0, len(parameters), AT_ONCE):
            self._client.log_batch(id, params=parameters[place : place + AT_ONCE])
        return _MLflowRun(self._client, id, None)

    def _experiment_of(self, run: RunInfo) -> str:
        name = self._experiment or run.name
        found = self._client.get_experiment_by_name(name)
        id: str = found.experiment_id if found is not None else self._client.create_experiment(name)
        return id

    def _resumes(self, id: str) -> bool:
        """Whether MLflow still has the run; if so, its status becomes `RUNNING`."""
        try:
            self._client.update_run(id, status="RUNNING")
        except self._mlflow.exceptions.MlflowException:
            return False
        return True

    def _last(self, id: str) -> int | None:
        steps = [metric.step for metric in self._client.get_metric_history(id, "wall_seconds")]
        return max(steps, default=None)


class _MLflowRun:
    def __init__(self, client: Any, id: str, last: int | None) -> None:
        self._client = client
        self.id: str | None = id
        self.last = last

    def log(self, record: dict[str, Any]) -> None:
        from mlflow.entities import Metric

        now = int(1000 * time.time())
        metrics = [Metric(name, figure, now, record["round"]) for name, figure in figures(record).items()]
        self._client.log_batch(self.id, metrics=metrics)
        self.last = record["round"]

    def end(self, run: RunInfo) -> None:
        if run.error is not None:
            self._client.set_tag(self.id, "meshfold.error", run.error)
        self._client.set_terminated(self.id, STATUS.get(run.ending or "", "FAILED"))
