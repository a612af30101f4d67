"""Call-backs are called for everything, one after the other, even if one of them fails."""

from __future__ import annotations

import json
import pickle
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import meshfold as mf
import pytest
from meshfold.callbacks._figures import figure, figures, settings, varied

Experiment = dict[str, Any]


class Log(mf.callbacks.Callback):
    """Notes what it hears, and on which thread."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, Any]] = []
        self.ends: dict[str, mf.RunInfo] = {}
        self.threads: set[int] = set()
        self.is_busy = False

    def note(self, hook: str, about: Any) -> None:
        assert not self.is_busy, "two hooks at the same time"
        self.is_busy = True
        self.threads.add(threading.get_ident())
        self.heard.append((hook, about))
        self.is_busy = False

    def on_plan(self, runs: Sequence[mf.RunInfo]) -> None:
        self.note("plan", [run.label for run in runs])

    def on_start(self, run: mf.RunInfo) -> None:
        self.note("start", run.label)

    def on_record(self, run: mf.RunInfo, record: dict[str, Any]) -> None:
        self.note("record", (run.label, record["round"]))

    def on_end(self, run: mf.RunInfo) -> None:
        self.note("end", run.label)
        self.ends[run.label] = run


def test_every_hook_is_called_in_order_on_the_calling_thread(experiment: Experiment) -> None:
    log = Log()
    runs = mf.run(experiment, callbacks=[log], at_once=4)
    labels = [run.label for run in runs]
    assert log.heard[0] == ("plan", labels)
    for run in runs:
        about_run = [(hook, about) for hook, about in log.heard[1:] if run.label in (about, about[0])]
        records = [("record", (run.label, round)) for round in range(6)]
        assert about_run == [("start", run.label), *records, ("end", run.label)]
        info = log.ends[run.label]
        assert (info.ending, info.error, info.resumed_from) == ("finished", None, None)
        assert info.folder == run.folder and info.config == run.config and info.settings == run.settings
        assert [record["round"] for record in info.records()] == list(range(6))
    assert log.threads == {threading.get_ident()}


def test_finished_runs_only_end(experiment: Experiment) -> None:
    mf.run(experiment)
    log = Log()
    mf.run(experiment, callbacks=[log])
    assert [hook for hook, _ in log.heard] == ["plan", *["end"] * 4]
    assert {run.ending for run in log.ends.values()} == {"skipped"}


def test_functions_and_objects_with_some_hooks_are_call_backs(experiment: Experiment) -> None:
    class Ends:
        def __init__(self) -> None:
            self.ended = 0

        def on_end(self, run: mf.RunInfo) -> None:
            self.ended += 1

    ends, rounds = Ends(), list[int]()
    callbacks: list[Any] = [ends, lambda run, record: rounds.append(record["round"])]
    mf.run(experiment, callbacks=callbacks, on_record=lambda run, record: rounds.append(-1))
    assert ends.ended == 4
    assert len(rounds) == 2 * 24 and rounds.count(-1) == 24


@pytest.mark.parametrize(
    ("callback", "told"),
    [(Log, r"callbacks\[0\]: found the class Log, needed an object"), (3, r"callbacks\[0\]: found int, needed")],
)
def test_what_is_no_call_back_is_refused(experiment: Experiment, callback: Any, told: str) -> None:
    with pytest.raises(TypeError, match=told):
        mf.run(experiment, callbacks=[callback])
    assert not Path("runs").exists()


def test_a_single_call_back_needs_no_list(experiment: Experiment) -> None:
    log, rounds = Log(), list[int]()
    runs = mf.run(experiment, callbacks=log)
    assert [hook for hook, _ in log.heard].count("end") == len(runs) == 4
    mf.run(experiment, callbacks=lambda run, record: rounds.append(record["round"]), again=True)
    assert len(rounds) == 24
    with pytest.raises(TypeError, match="callbacks: found int, needed a call-back or a list of them, each a function on_record"):
        mf.run(experiment, callbacks=3)  # type: ignore[arg-type]


def test_a_misspelt_hook_is_refused(experiment: Experiment) -> None:
    class Misspelt(Log):
        def on_recrod(self, run: mf.RunInfo, record: dict[str, Any]) -> None:
            pass

    class Careful(Log):
        only_when = on_time = None

        def _on_later(self) -> None:
            pass

    words = r"callbacks\[1\]: Misspelt.on_recrod is no hook and would never be called: did you mean `on_record`\?"
    with pytest.raises(TypeError, match=words):
        mf.run(experiment, callbacks=[Log(), Misspelt()])
    assert not Path("runs").exists()
    mf.run(experiment, callbacks=[Careful()])


class Fault(Exception):
    """What a call-back raises."""


class Broken(mf.callbacks.Callback):
    """Raises at a hook, each time."""

    def __init__(self, hook: str) -> None:
        self.hook = hook
        self.raised = 0

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("on_") and name == self.hook:
            return self.fail
        return super().__getattribute__(name)

    def fail(self, *_: Any) -> None:
        self.raised += 1
        raise Fault(f"at {self.hook}, time {self.raised}")


def test_the_others_hear_of_the_rest_after_an_exception(experiment: Experiment) -> None:
    experiment.update(rounds=100_000, checkpoint={"every": 10}, evaluate={"every": 100})
    log, broken = Log(), Broken("on_record")
    with pytest.raises(Fault, match="at on_record, time 1"):
        mf.run(experiment, callbacks=[broken, log])
    assert broken.raised == 1
    begun = [about for hook, about in log.heard if hook == "start"]
    assert begun and all(log.ends[label].ending == "interrupted" for label in begun)
    for run in mf.read("runs/small"):
        written = [record["round"] for record in log.ends[run_label(log, run.id)].records()]
        heard = [about[1] for hook, about in log.heard if hook == "record" and about[0] == run_label(log, run.id)]
        assert heard == written, "what was written is told, to the last record"


def run_label(log: Log, id: str) -> str:
    return next(run.label for run in log.ends.values() if run.id == id)


def test_an_exception_at_the_end_of_a_run_is_raised_and_later_ones_are_warnings(experiment: Experiment) -> None:
    broken = Broken("on_end")
    with pytest.warns(mf.MeshfoldWarning, match="call-back Broken: Fault"), pytest.raises(Fault, match="time 1"):
        mf.run(experiment, callbacks=[broken], at_once=4)


def test_a_plan_that_a_call_back_refuses_begins_no_run(experiment: Experiment) -> None:
    with pytest.raises(Fault):
        mf.run(experiment, callbacks=[Broken("on_plan")])
    assert not Path("runs").exists()


def test_a_resumed_run_says_from_where(experiment: Experiment) -> None:
    experiment.update(rounds=3000, checkpoint={"every": 500}, evaluate={"every": 10}, sweep=None)

    def stop(run: mf.RunInfo, record: dict[str, Any]) -> None:
        if record["round"] == 20:
            raise Fault

    with pytest.raises(Fault):
        mf.run(experiment, callbacks=[stop])
    log = Log()
    mf.run(experiment, callbacks=[log])
    (info,) = log.ends.values()
    rounds = [about[1] for hook, about in log.heard if hook == "record"]
    assert info.resumed_from is not None and info.resumed_from >= 20
    assert rounds[0] > info.resumed_from and rounds[-1] == 3000


def test_figures_and_settings_are_flat() -> None:
    record = {"round": 3, "train_loss": None, "test_accuracy": {"mean": 0.5, "std": 0.0}, "alive": 2}
    assert figures(record) == {"test_accuracy/mean": 0.5, "test_accuracy/std": 0.0, "alive": 2}
    config = {"topology": {"regular": {"degree": 3}}, "seed": 1, "network": None}
    assert settings(config, {}) == {"topology.regular.degree": 3, "seed": 1}
    sweep = {"topology": {"regular": {"degree": 3}}}
    assert settings(config, sweep) == {"topology": "regular degree=3", "seed": 1}
    assert varied({"model": {"mlp": {"hidden": [200]}}, "seed": 2}) == {"model": "mlp hidden=[200]", "seed": 2}


def test_an_object_with_one_hook_is_a_call_back(experiment: Experiment) -> None:
    class Ends:
        def __init__(self) -> None:
            self.endings: list[str | None] = []

        def on_end(self, run: mf.RunInfo) -> None:
            self.endings.append(run.ending)

    ends = Ends()
    mf.run(experiment, callbacks=[ends, lambda run, record: None], progress=False)
    assert ends.endings == ["finished"] * 4


class Ending(mf.callbacks.Callback):
    """Ends the runs of one overlay at a record, slowly."""

    def __init__(self, topology: str, round: int, awaited: bool) -> None:
        self.topology = topology
        self.round = round
        self.awaited = awaited

    def on_record(self, run: mf.RunInfo, record: dict[str, Any]) -> None:
        if f"topology={self.topology}" in run.label and record["round"] >= self.round:
            time.sleep(0.02)
            run.stop()


def rounds_of(run: mf.Run) -> list[int]:
    lines = (Path(run.folder) / "metrics.jsonl").read_text().splitlines()
    return [json.loads(line)["round"] for line in lines]


def timeless(run: mf.Run) -> list[dict[str, Any]]:
    lines = (Path(run.folder) / "metrics.jsonl").read_text().splitlines()
    return [{key: value for key, value in json.loads(line).items() if "seconds" not in key} for line in lines]


def test_a_hook_ends_its_run_and_no_other(experiment: Experiment) -> None:
    experiment.update(rounds=60, checkpoint={}, evaluate={"every": 2})
    log = Log()
    runs = mf.run(experiment, callbacks=[log, Ending("ring", 4, awaited=True)], at_once=4)
    assert len(runs) == 4
    for run in runs:
        is_ended = "topology=ring" in run.label
        assert rounds_of(run) == list(range(0, 6 if is_ended else 62, 2)), "the round of the record, and none more"
        assert run.is_finished is not is_ended
        assert log.ends[run.label].ending == ("interrupted" if is_ended else "finished")
        assert log.ends[run.label].error is None
    whole = mf.run(experiment, results="whole")
    again = mf.run(experiment, callbacks=[log])
    assert [log.ends[run.label].resumed_from for run in again if "topology=ring" in run.label] == [4, 4]
    assert [timeless(run) for run in again] == [timeless(run) for run in whole]


def test_a_run_that_waits_for_no_hook_ends_soon(experiment: Experiment) -> None:
    experiment.update(rounds=100_000, evaluate={"every": 100}, sweep={"grid": {"topology": ["ring", "complete"]}})
    callbacks = [Ending("ring", 200, awaited=False), Ending("complete", 500, awaited=False)]
    runs = mf.run(experiment, callbacks=callbacks)
    for run in runs:
        assert not run.is_finished
        assert (200 if "topology=ring" in run.label else 500) <= rounds_of(run)[-1] < 100_000


def test_an_exception_ends_runs_that_wait(experiment: Experiment) -> None:
    experiment.update(rounds=100_000)
    broken = Broken("on_record")
    with pytest.raises(Fault, match="at on_record, time 1"):
        mf.run(experiment, callbacks=[mf.callbacks.EarlyStopping(patience=1_000_000), broken], at_once=4)


def test_a_run_without_progress_is_ended_at_the_same_round_again(experiment: Experiment) -> None:
    experiment.update(rounds=1000, checkpoint={})
    log = Log()

    def stopping(patience: int) -> list[Any]:
        return [mf.callbacks.EarlyStopping("test_accuracy", patience=patience, min_delta=1.0), log]

    assert [rounds_of(run) for run in mf.run(experiment, callbacks=stopping(3))] == [[0, 1, 2, 3]] * 4
    # The records of before count, so that nothing is left to do.
    assert [rounds_of(run) for run in mf.run(experiment, callbacks=stopping(3))] == [[0, 1, 2, 3]] * 4
    assert {run.resumed_from for run in log.ends.values()} == {3}
    assert [rounds_of(run) for run in mf.run(experiment, callbacks=stopping(5))] == [[0, 1, 2, 3, 4, 5]] * 4


def test_tables_count_runs_that_were_ended_if_they_are_asked_to(experiment: Experiment) -> None:
    experiment.update(rounds=1000, dataset={"glyphs": {"train": 600, "validation": 100, "test": 100}})
    stopping = mf.callbacks.EarlyStopping("validation_accuracy.mean", patience=3, min_delta=0.2)
    runs = mf.run(experiment, callbacks=[stopping], progress=False)
    assert runs.table("topology").to_polars()["n"].to_list() == [0, 0]
    records = runs.metrics().to_polars()
    best = records.sort(["validation_accuracy", "round"], descending=[True, False]).group_by("run", maintain_order=True).first()
    expected = best.select("topology", "test_accuracy").group_by("topology").mean()
    table = runs.table("topology", unfinished=True, at={"best": "validation_accuracy"})
    found = dict(zip(table.to_polars()["topology"], table.to_polars()["mean"], strict=True))
    for row in expected.iter_rows(named=True):
        assert found[row["topology"]] == pytest.approx(row["test_accuracy"])
    assert any("not finished, but counted: seed 1 (to round" in note for note in table.notes)


@pytest.mark.parametrize(("rounds", "last"), [(5, 3), (2, 2)])
def test_a_figure_that_no_record_has_is_told_once(experiment: Experiment, rounds: int, last: int) -> None:
    experiment.update(rounds=rounds)
    with pytest.warns(mf.MeshfoldWarning) as caught:
        mf.run(experiment, callbacks=[mf.callbacks.EarlyStopping("own.nothing", patience=2)], progress=False)
    (warning,) = (str(warning.message) for warning in caught)
    assert f"no record up to round {last} has the figure `own.nothing`, and without it no run ends early" in warning
    assert "test_accuracy.mean" in warning


def ended_after(stopping: mf.callbacks.EarlyStopping, figures: list[float | None]) -> int | None:
    """The place of the figure at which `stopping` ends a run."""
    ended: list[int] = []
    info = mf.RunInfo(id="1", label="one", name="test", rounds=9, settings={}, config={}, folder=Path())
    for place, value in enumerate(figures):
        run = info._stopped_by(lambda place=place: ended.append(place))
        stopping.on_record(run, {"round": place, "own": {"gap": value}, "test_accuracy": {"mean": value}})
    return ended[0] if ended else None


def test_what_improves_is_told_by_the_figure() -> None:
    early = mf.callbacks.EarlyStopping
    rising: list[float | None] = [0.1, 0.2, 0.3, 0.4]
    assert ended_after(early(patience=1), rising) is None
    assert ended_after(early("own.gap", patience=2), rising) == 2, "less is better of all but accuracies"
    assert ended_after(early("own.gap", patience=2, mode="max"), rising) is None
    assert ended_after(early(patience=2, min_delta=0.15), [0.1, 0.2, 0.3, 0.4]) is None, "since the best before it"
    assert ended_after(early(patience=2, min_delta=0.15), [0.1, 0.2, 0.2, 0.4]) == 2
    assert ended_after(early("own.gap", patience=2, mode="max"), [0.5, None, 0.4, None, None, 0.5, 0.6]) == 5, "what is not measured does not count"
    assert ended_after(early("own.gap", limit=0.25), rising) == 2
    assert ended_after(early(limit=0.25), [0.3, 0.26, 0.24]) == 2


@pytest.mark.parametrize(
    "arguments", [{}, {"patience": 0}, {"patience": 1.5}, {"patience": True}, {"patience": 1, "mode": "most"}, {"limit": 1, "min_delta": -1}]
)
def test_early_stopping_says_what_it_needs(arguments: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="EarlyStopping: .*needed"):
        mf.callbacks.EarlyStopping(**arguments)


def test_a_figure_that_no_record_has_is_named(experiment: Experiment) -> None:
    with pytest.raises(ValueError, match="EarlyStopping: there is no figure test_acuracy, but .*test_accuracy.mean"):
        mf.run(experiment, callbacks=[mf.callbacks.EarlyStopping("test_acuracy", patience=1)])
    record = {"round": 0, "test_accuracy": {"mean": 0.5}, "train_loss": None}
    assert figure(record, "test_accuracy", "A") == figure(record, "test_accuracy.mean", "A") == 0.5
    # A method may record a figure in some rounds alone.
    assert figure(record, "own.gap", "A") is figure(record, "train_loss", "A") is None


def test_a_copy_of_what_is_known_of_a_run_cannot_end_it(experiment: Experiment) -> None:
    log = Log()
    mf.run({**experiment, "sweep": None}, callbacks=[log])
    (info,) = log.ends.values()
    info.stop()
    copy = pickle.loads(pickle.dumps(info))
    assert copy == info
    with pytest.raises(RuntimeError, match="is not carried out by a call of meshfold.run here"):
        copy.stop()


def test_the_bar_counts_runs_that_a_hook_has_ended(experiment: Experiment, capsys: pytest.CaptureFixture[str]) -> None:
    mf.run({**experiment, "rounds": 60}, callbacks=[Ending("ring", 2, awaited=True)], progress=True)
    assert "4 of 4 runs: 100%" in capsys.readouterr().err
