"""Mistakes are reported as exceptions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import meshfold as mf
import meshfold.methods
import pytest
from meshfold import _own

Experiment = dict[str, Any]


def test_a_mistake_has_its_place(experiment: Experiment) -> None:
    text = "name: small\ntopology: rnig\nmodel: logistic\n"
    Path("wrong.yaml").write_text(text)
    with pytest.raises(mf.ConfigError) as caught:
        mf.run("wrong.yaml")
    errors = [caught.value, *caught.value.others]
    (error,) = [error for error in errors if error.path == "topology"]
    assert (error.file, error.line, error.column) == ("wrong.yaml", 2, 11)
    assert error.message == "topology: unknown choice `rnig`"
    assert error.help is not None and "did you mean `ring`?" in error.help
    assert "2 │ topology: rnig" in str(error)
    assert isinstance(error, ValueError)
    assert not Path("runs").exists()


def test_all_mistakes_are_told_at_once(experiment: Experiment) -> None:
    with pytest.raises(mf.ConfigError) as caught:
        mf.run(experiment, set={"rounds": "many", "evaluate.evry": 3})
    first, (second,) = caught.value, caught.value.others
    assert (first.path, first.file, first.line) == ("rounds", "--set", 1)
    assert second.message == "evaluate: unknown key `evry`"
    assert "evry" in str(first), "all are told"


def test_what_is_no_experiment_is_told_by_name() -> None:
    with pytest.raises(TypeError, match="experiment: found int, needed the path"):
        mf.run(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="what is no YAML"):
        mf.run({"name": object()})
    with pytest.raises(mf.ConfigError, match="nowhere.yaml"):
        mf.run("nowhere.yaml")


@pytest.mark.parametrize(
    ("arguments", "kind", "words"),
    [
        ({"at_once": 0}, ValueError, "at_once: found 0, needed a whole number above 0"),
        ({"threads": 0}, ValueError, "threads: found 0, needed a whole number above 0, or None for all cores"),
        ({"threads": -1}, ValueError, "threads: found -1"),
        ({"threads": "2"}, TypeError, "threads: found '2', needed a whole number above 0"),
        ({"part": 3}, TypeError, "part: found 3, needed text: a part such as '3/16'"),
        ({"only": [1]}, TypeError, "only: found 1, needed text: ids of runs"),
        ({"device": 0}, TypeError, "device: found 0, needed text"),
    ],
)
def test_arguments_that_cannot_be_are_told(
    experiment: Experiment, arguments: dict[str, Any], kind: type[Exception], words: str
) -> None:
    with pytest.raises(kind, match=words):
        mf.run(experiment, progress=False, **arguments)
    assert not Path("runs").exists()


def test_devices_and_data_that_are_missing(experiment: Experiment) -> None:
    with pytest.raises(mf.DeviceError, match="abacus"):
        mf.run(experiment, device="abacus")
    with pytest.raises(mf.DeviceError):
        mf.run(experiment, cpu="sse")
    with pytest.raises(mf.MeshfoldError, match="meshfold data fetch mnist"):
        mf.run(experiment, set={"dataset": "mnist"}, data="no-data")


def test_results_that_cannot_be_read() -> None:
    with pytest.raises(mf.ResultsError):
        mf.read("nothing")
    with pytest.raises(mf.ResultsError, match="needed at least one"):
        mf.read()


def test_results_that_cannot_be_written(experiment: Experiment) -> None:
    Path("taken").write_text("a file")
    with pytest.raises(mf.ResultsError, match="taken"):
        mf.run(experiment, results="taken")


def test_what_may_not_be_meant_is_a_warning(experiment: Experiment) -> None:
    methods = [
        {"dsgd": {"batch_size": 20, "learning_rate": 0.1}},
        {"alone": {"local": {"epochs": 5}, "batch_size": 20, "learning_rate": 0.1}},
    ]
    with pytest.warns(mf.MeshfoldWarning, match="local steps"):
        mf.run(experiment, set={"sweep": {"grid": {"algorithm": methods}}, "rounds": 1})


def test_a_page_that_cannot_be_written_hides_neither_runs_nor_failures(experiment: Experiment) -> None:
    Path("runs/small/report.html").mkdir(parents=True)
    with pytest.warns(mf.MeshfoldWarning, match="the runs are done, but what compares them could not be written: .*report.html"):
        runs = mf.run(experiment, progress=False)
    assert [run.is_finished for run in runs] == [True] * 4
    for run in runs:
        Path(f"other/small/{run.folder.name}").mkdir(parents=True)
        Path(f"other/small/{run.folder.name}/config.yaml").mkdir()
    with pytest.raises(mf.RunFailed) as raised:
        mf.run(experiment, results="other", progress=False)
    assert len(raised.value.failures) == 4


def test_what_a_published_method_refuses_has_no_traceback_and_what_it_gets_wrong_has_one() -> None:
    def told(slowdown: object, models: object) -> str:
        method = mf.methods.Swift()
        method.slowdown = slowdown  # type: ignore[assignment]
        try:
            method.start(models)  # type: ignore[arg-type]
        except Exception as error:
            return _own.traceback(error)
        return ""

    assert told([1.0, 2.0], [0] * 3) == "slowdown: found 2 numbers, needed one for each of 3 clients"
    assert told(None, [0] * 3).startswith("Traceback")


def test_a_traceback_shows_the_lines_of_the_user() -> None:
    def choose() -> None:
        json.loads("{]")

    try:
        choose()
    except ValueError as error:
        shown = _own.traceback(error)
    assert 'json.loads("{]")' in shown and shown.endswith("char 1)")
    # Of the lines of `json` only the one that raised the error.
    assert shown.count('File "') == shown.count("test_errors.py") + 1
