"""Trackers get every record of every run exactly once."""

from __future__ import annotations

import json
import struct
import sys
import threading
from pathlib import Path
from typing import Any

import meshfold as mf
import pytest
from conftest import Halt, halt_at, required
from meshfold.callbacks._figures import figures

Experiment = dict[str, Any]
#: What makes an experiment one run that fails.
BROKEN = {"sweep": None, "algorithm.dsgd.learning_rate": 3e38}
#: What a tracker has of a run: values by metric and step.
Values = dict[str, dict[int, float]]


def recorded(folder: Path) -> Values:
    values: Values = {}
    for line in (folder / "metrics.jsonl").read_text().splitlines():
        record = json.loads(line)
        for name, figure in figures(record).items():
            values.setdefault(name, {})[record["round"]] = figure
    return values


def comparable(values: Values) -> Values:
    """Without the time, which a run that was interrupted takes twice."""
    return {name: points for name, points in values.items() if name != "wall_seconds"}


def long(experiment: Experiment) -> Experiment:
    return {**experiment, "rounds": 6000, "checkpoint": {"every": 500}, "evaluate": {"every": 600}, "sweep": None}


class MLflowStore:
    """MLflow in a file of SQLite."""

    def __init__(self) -> None:
        mlflow = required("mlflow")
        self.uri = f"sqlite:///{Path('mlflow.db').absolute()}"
        self.client = mlflow.MlflowClient(self.uri)

    def callback(self) -> mf.callbacks.Callback:
        return mf.callbacks.MLflow(tracking_uri=self.uri)

    def runs(self, experiment: str) -> list[Any]:
        found = self.client.get_experiment_by_name(experiment)
        assert found is not None
        runs: list[Any] = self.client.search_runs([found.experiment_id])
        return runs

    def values(self, run: Any) -> Values:
        values: Values = {}
        for name in run.data.metrics:
            history = self.client.get_metric_history(run.info.run_id, name)
            values[name] = {metric.step: metric.value for metric in history}
            assert len(values[name]) == len(history), "no point twice"
        return values


@pytest.fixture(scope="module")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """An empty store: MLflow takes seconds to make one."""
    mlflow = required("mlflow")
    path = tmp_path_factory.mktemp("mlflow") / "mlflow.db"
    mlflow.MlflowClient(f"sqlite:///{path}").search_experiments()
    return path.read_bytes()


@pytest.fixture
def store(migrated: bytes) -> MLflowStore:
    Path("mlflow.db").write_bytes(migrated)
    return MLflowStore()


def test_mlflow_has_every_record_and_setting(experiment: Experiment, store: MLflowStore) -> None:
    runs = mf.run(experiment, callbacks=[store.callback()], at_once=4)
    tracked = {run.info.run_name: run for run in store.runs("small")}
    assert sorted(tracked) == sorted(run.label for run in runs)
    for run in runs:
        theirs = tracked[run.label]
        assert store.values(theirs) == recorded(run.folder)
        assert theirs.info.status == "FINISHED"
        assert theirs.data.tags["meshfold.id"] == run.id
        assert theirs.data.params["seed"] == str(run.settings["seed"])
        assert theirs.data.params["topology"].split()[0] in run.label
        assert theirs.data.params["algorithm.dsgd.learning_rate"] == "0.1"


def test_a_resumed_run_goes_on_in_its_mlflow_run(experiment: Experiment, store: MLflowStore) -> None:
    with pytest.raises(Halt):
        mf.run(long(experiment), callbacks=[store.callback(), halt_at(600)])
    (half,) = store.runs("small")
    assert half.info.status == "KILLED"
    (run,) = mf.run(long(experiment), callbacks=[store.callback()])
    (whole,) = store.runs("small")
    assert (whole.info.run_id, whole.info.status) == (half.info.run_id, "FINISHED")
    assert comparable(store.values(whole)) == comparable(recorded(run.folder))


def test_a_run_that_was_begun_without_its_tracker_is_whole_there(experiment: Experiment, store: MLflowStore) -> None:
    with pytest.raises(Halt):
        mf.run(long(experiment), callbacks=[halt_at(600)])
    (run,) = mf.run(long(experiment), callbacks=[store.callback()])
    (tracked,) = store.runs("small")
    assert store.values(tracked) == recorded(run.folder)


def test_calls_on_two_threads_share_a_tracker(experiment: Experiment, store: MLflowStore) -> None:
    callback = store.callback()

    def work(seed: int) -> None:
        mf.run(experiment, set={"sweep": None, "seed": seed}, callbacks=[callback], progress=False)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in (1, 2, 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    folders = {run.id: run.folder for run in mf.read("runs/small")}
    tracked = store.runs("small")
    assert len(tracked) == len(folders) == 3
    for run in tracked:
        assert store.values(run) == recorded(folders[run.data.tags["meshfold.id"]])


def test_a_failed_run_says_why(experiment: Experiment, store: MLflowStore) -> None:
    with pytest.raises(mf.RunFailed):
        mf.run(experiment, set=BROKEN, callbacks=[store.callback()])
    (tracked,) = store.runs("small")
    assert tracked.info.status == "FAILED"
    assert "infinite or NaN" in tracked.data.tags["meshfold.error"]


def test_a_tracker_that_breaks_later_costs_no_run(experiment: Experiment, store: MLflowStore) -> None:
    callback = store.callback()

    class Gone(mf.callbacks.Callback):
        def on_record(self, run: mf.RunInfo, record: dict[str, Any]) -> None:
            if record["round"] == 2:
                Path("mlflow.db").unlink(missing_ok=True)
                store.client._tracking_client.store.engine.dispose()

    with pytest.warns(mf.MeshfoldWarning, match="MLflow: topology="):
        runs = mf.run(experiment, callbacks=[callback, Gone()], at_once=1)
    assert all(run.is_finished for run in runs)


def history(file: Path) -> tuple[Any, Values, int | None]:
    """What a file of Weights & Biases says of its run: blocks of LevelDB's log with messages of protobuf in them."""
    from wandb.proto import wandb_internal_pb2 as messages

    data = file.read_bytes()
    assert data[:4] == b":W&B"
    block, place, record = 32768, 7, b""
    about: Any = None
    values: Values = {}
    exit_code: int | None = None
    while place + 7 <= len(data):
        if block - place % block < 7:
            place += block - place % block
            continue
        length, kind = struct.unpack_from("<HB", data, place + 4)
        record += data[place + 7 : place + 7 + length]
        place += 7 + length
        if kind not in (1, 4):
            continue
        message, record = messages.Record.FromString(record), b""
        if message.HasField("run"):
            about = about or message.run
        elif message.HasField("history"):
            for item in message.history.item:
                name = item.key or "/".join(item.nested_key)
                if not name.startswith("_"):
                    points = values.setdefault(name, {})
                    assert message.history.step.num not in points, "no point twice"
                    points[message.history.step.num] = json.loads(item.value_json)
        elif message.HasField("exit"):
            exit_code = message.exit.exit_code
    return about, values, exit_code


def wandb_files(wandb: Any) -> list[Path]:
    # Its own process may write yet.
    wandb.teardown()
    return sorted(Path("wandb").glob("offline-run-*/run-*.wandb"))


def test_weights_and_biases_has_every_record_and_setting(experiment: Experiment, wandb: Any) -> None:
    callback = mf.callbacks.WandB("study", mode="offline", tags=["a"], config={"machine": "b"})
    runs = mf.run(experiment, callbacks=[callback], at_once=4)
    files = wandb_files(wandb)
    assert len(files) == 4
    by_label = {run.label: run for run in runs}
    for file in files:
        about, values, exit_code = history(file)
        run = by_label.pop(about.display_name)
        assert (about.project, about.run_group, list(about.tags)) == ("study", "small", ["a"])
        assert values == recorded(run.folder)
        assert exit_code == 0
        config = {item.key: json.loads(item.value_json) for item in about.config.update}
        assert config["seed"] == run.settings["seed"] and config["machine"] == "b"
        assert config["sweep"]["topology"].split()[0] in run.label
        assert config["algorithm"]["dsgd"]["learning_rate"] == 0.1


def test_a_resumed_run_has_the_same_id_at_weights_and_biases(experiment: Experiment, wandb: Any) -> None:
    callback = mf.callbacks.WandB("study", mode="offline")
    with pytest.raises(Halt):
        mf.run(long(experiment), callbacks=[callback, halt_at(600)])
    (first,) = wandb_files(wandb)
    assert history(first)[2] == 255
    (run,) = mf.run(long(experiment), callbacks=[callback])
    _, second = sorted(wandb_files(wandb), key=lambda file: file.stat().st_mtime)
    about, values, exit_code = history(second)
    assert about.run_id == history(first)[0].run_id
    assert values == recorded(run.folder) and exit_code == 0


def test_a_failed_run_has_failed_at_weights_and_biases(experiment: Experiment, wandb: Any) -> None:
    with pytest.raises(mf.RunFailed):
        mf.run(experiment, set=BROKEN, callbacks=[mf.callbacks.WandB("study", mode="offline")])
    (file,) = wandb_files(wandb)
    assert history(file)[2] == 1


def test_what_differs_for_each_run_is_refused(wandb: Any) -> None:
    with pytest.raises(TypeError, match="WandB: id is different for each run"):
        mf.callbacks.WandB("study", id="a")


def aim_runs(repo: str) -> dict[str, Any]:
    """The runs in a repository of Aim by their names. `aim up` makes an index of them, which is read elsewhere."""
    from aim import Repo, Run

    options = {"repo": repo, "system_tracking_interval": None, "capture_terminal_logs": False}
    hashes = Repo.from_path(repo).list_all_runs()
    opened = [Run(run_hash=hash, **options) for hash in hashes]
    return {str(run.name): run for run in opened}


def aim_values(run: Any) -> dict[str, list[float]]:
    """The values of each metric, sorted: Aim keeps a hash of each step."""
    values = {}
    for metric in run.metrics():
        part = metric.context.to_dict().get("part")
        values[f"{metric.name}/{part}" if part else metric.name] = sorted(metric.values.sparse_list()[1])
    return values


def sorted_values(folder: Path) -> dict[str, list[float]]:
    return {name: sorted(map(float, points.values())) for name, points in recorded(folder).items()}


def test_aim_has_every_record_and_setting(experiment: Experiment) -> None:
    required("aim")
    runs = mf.run(experiment, callbacks=[mf.callbacks.Aim("aim")], at_once=4)
    tracked = aim_runs("aim")
    assert sorted(tracked) == sorted(run.label for run in runs)
    for run in runs:
        theirs = tracked[run.label]
        assert aim_values(theirs) == sorted_values(run.folder)
        assert theirs.experiment == "small" and theirs["ending"] == "finished"
        assert theirs["sweep"]["seed"] == run.settings["seed"]
        assert theirs["config"]["algorithm"]["dsgd"]["learning_rate"] == 0.1


def test_a_failed_run_has_failed_at_aim(experiment: Experiment) -> None:
    required("aim")
    with pytest.raises(mf.RunFailed):
        mf.run(experiment, set=BROKEN, callbacks=[mf.callbacks.Aim("aim")])
    (tracked,) = aim_runs("aim").values()
    assert tracked["ending"] == "failed" and "infinite or NaN" in tracked["error"]


def test_a_resumed_run_goes_on_in_its_aim_run(experiment: Experiment) -> None:
    required("aim")
    with pytest.raises(Halt):
        mf.run(long(experiment), callbacks=[mf.callbacks.Aim("aim"), halt_at(600)])
    (run,) = mf.run(long(experiment), callbacks=[mf.callbacks.Aim("aim")])
    (tracked,) = aim_runs("aim").values()
    ours, theirs = sorted_values(run.folder), aim_values(tracked)
    ours.pop("wall_seconds"), theirs.pop("wall_seconds")
    assert theirs == ours


def test_a_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:

    for module, callback in [("wandb", "WandB"), ("mlflow", "MLflow"), ("aim", "Aim"), ("optuna", "OptunaPruning")]:
        monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(ImportError, match=f"callbacks.{callback} needs the package {module}.*: pip install {module}"):
            getattr(mf.callbacks, callback)(*[None] * (callback == "OptunaPruning"))
