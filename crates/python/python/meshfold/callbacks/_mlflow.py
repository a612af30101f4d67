"""MLflow."""

from __future__ import annotations

import time
from typing import Any

from meshfold._run_info import RunInfo
from meshfold.callbacks._figures import figures, settings
from meshfold.callbacks._requirement import required
from meshfold.callbacks._tracker import TrackedRun, Tracker

#: How MLflow says that a run ended.
STATUS = {"finished": "FINISHED", "interrupted": "KILLED"}

#: Most parameters of one request.
AT_ONCE = 100

#: Most characters of a parameter's value.
LONGEST = 6000


class MLflow(Tracker):
    """Follows runs in MLflow; needs the package mlflow, or mlflow-skinny.

    Each run is a run there, named by its label, in the MLflow experiment of its experiment's name, with its settings as parameters.
    Figures are metrics by round. A resumed run goes on in the same run.

    Args:
        experiment: the MLflow experiment; by the name of each run's experiment if absent.
        tracking_uri: the server or the store, such as `sqlite:///mlflow.db`; as MLflow is set up if absent.
    """

    def __init__(self, experiment: str | None = None, tracking_uri: str | None = None) -> None:
        super().__init__()
        self._mlflow = required("mlflow", "MLflow")
        self._experiment = experiment
        self._tracking_uri = tracking_uri
        # Other than the functions of mlflow, a client knows of no run that is the active one.
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
        """Whether the run is there still; then it goes on."""
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
