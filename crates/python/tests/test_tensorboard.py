"""TensorBoard reads what Meshfold writes."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import meshfold as mf
import numpy as np
import pytest
from conftest import Halt, halt_at, required
from meshfold.callbacks._figures import figures

required("tensorboard")

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator  # noqa: E402
from tensorboard.plugins.hparams import plugin_data_pb2  # noqa: E402

Experiment = dict[str, Any]


def accumulated(folder: Path) -> EventAccumulator:
    """All that TensorBoard knows of a run."""
    read = EventAccumulator(str(folder), size_guidance={"scalars": 0})
    read.Reload()
    return read


def expect_records(folder: Path, records: list[dict[str, Any]]) -> None:
    """TensorBoard has every figure of the records once, in single precision."""
    read = accumulated(folder)
    expected: dict[str, list[tuple[int, Any]]] = {}
    for record in records:
        for tag, figure in figures(record).items():
            expected.setdefault(tag, []).append((record["round"], np.float32(figure)))
    assert set(read.Tags()["scalars"]) == set(expected)
    for tag, points in expected.items():
        events = read.Scalars(tag)
        assert [(event.step, np.float32(event.value)) for event in events] == points, tag
        times = [event.wall_time for event in events]
        assert times == sorted(times)


def recorded(run: mf.Run) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run.folder / "metrics.jsonl").read_text().splitlines()]


def hyperparameters(folder: Path) -> tuple[dict[str, Any], int | None]:
    """The settings that the HParams page shows of a run, and how it ended."""
    read = accumulated(folder)
    told = read.PluginTagToContent("hparams")
    start = plugin_data_pb2.HParamsPluginData.FromString(told["_hparams_/session_start_info"])
    values = {
        key: getattr(value, value.WhichOneof("kind")) for key, value in start.session_start_info.hparams.items()
    }
    if "_hparams_/session_end_info" not in told:
        return values, None
    end = plugin_data_pb2.HParamsPluginData.FromString(told["_hparams_/session_end_info"])
    return values, end.session_end_info.status


@pytest.fixture
def varied(experiment: Experiment) -> Experiment:
    experiment["sweep"] = {"grid": {"topology": ["ring", {"regular": {"degree": 3}}], "seed": [1, 2]}}
    experiment["evaluate"] = {"train": True, "theory": ["dissimilarity"]}
    return experiment


def expect_sweep(runs: mf.Runs, folder: Path) -> None:
    assert sorted(path.name for path in folder.iterdir()) == sorted(run.label for run in runs)
    for run in runs:
        expect_records(folder / run.label, recorded(run))
        values, status = hyperparameters(folder / run.label)
        assert status == 1, "it ended well"
        assert values["seed"] == run.settings["seed"]
        assert values["topology"].startswith("ring" if "ring" in run.label else "regular degree=3")
        assert values["algorithm.dsgd.learning_rate"] == pytest.approx(0.1)
        assert not any(key.startswith("topology.") for key in values)


def test_the_program_writes_what_tensorboard_reads(varied: Experiment, program: str) -> None:
    Path("small.yaml").write_text(json.dumps(varied))
    subprocess.run([program, "run", "small.yaml", "--tensorboard", "-q"], check=True)
    expect_sweep(mf.read("runs/small"), Path("runs/tensorboard/small"))


def test_the_call_back_writes_the_same(varied: Experiment) -> None:
    runs = mf.run(varied, callbacks=[mf.callbacks.TensorBoard()])
    expect_sweep(runs, Path("runs/tensorboard/small"))


def test_finished_runs_are_written_later(varied: Experiment, program: str) -> None:
    runs = mf.run(varied)
    subprocess.run([program, "tensorboard", "runs/small", "--out", "later"], check=True)
    expect_sweep(runs, Path("later/small"))
    again = mf.run(varied, callbacks=[mf.callbacks.TensorBoard("skipped")])
    expect_sweep(again, Path("skipped/small"))


def test_the_configuration_is_a_text(experiment: Experiment) -> None:
    (run,) = mf.run(experiment, set={"sweep": None}, callbacks=[mf.callbacks.TensorBoard("logs")])
    read = accumulated(Path("logs/small") / run.label)
    (event,) = read.Tensors("config")
    text = event.tensor_proto.string_val[0].decode()
    assert text.replace("\n    ", "\n").removeprefix("    ") == (run.folder / "config.yaml").read_text()


def test_a_resumed_run_has_every_point_once_also_where_tensorboard_runs_on(experiment: Experiment) -> None:
    experiment.update(rounds=4000, checkpoint={"every": 500}, evaluate={"every": 40}, sweep=None)
    board = mf.callbacks.TensorBoard("logs")
    with pytest.raises(Halt):
        mf.run(experiment, callbacks=[board, halt_at(40)])
    folder = Path("logs/small/small")
    watching = accumulated(folder)
    assert watching.Scalars("alive")[0].step == 0
    assert hyperparameters(folder)[1] is None, "it may go on"
    (run,) = mf.run(experiment, callbacks=[mf.callbacks.TensorBoard("logs")])
    records = recorded(run)
    assert len(records) == 101
    expect_records(folder, records)
    watching.Reload()
    assert [event.step for event in watching.Scalars("alive")] == list(range(0, 4001, 40))
    earlier, file = sorted(folder.iterdir())
    assert earlier.stat().st_size == 0 < file.stat().st_size


def test_a_run_that_begins_again_has_its_new_points_alone(experiment: Experiment) -> None:
    one = {"sweep": None, "rounds": 3}
    mf.run(experiment, set=one, callbacks=[mf.callbacks.TensorBoard("logs")])
    (run,) = mf.run(experiment, set=one, again=True, callbacks=[mf.callbacks.TensorBoard("logs")])
    expect_records(Path("logs/small/small"), recorded(run))



def test_a_failed_run_is_told_as_failed(experiment: Experiment) -> None:
    broken = {"sweep": None, "algorithm.dsgd.learning_rate": 3e38}
    with pytest.raises(mf.RunFailed):
        mf.run(experiment, set=broken, callbacks=[mf.callbacks.TensorBoard("logs")])
    _, status = hyperparameters(Path("logs/small/small"))
    assert status == 2


def test_a_folder_that_cannot_be_written_to_is_told_at_the_first_run(experiment: Experiment) -> None:
    Path("file").write_text("")
    with pytest.raises(mf.ResultsError, match="file cannot be written"):
        mf.run(experiment, callbacks=[mf.callbacks.TensorBoard("file")])
