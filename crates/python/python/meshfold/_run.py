"""Carries out experiments."""

from __future__ import annotations

import atexit
import json
import operator
import os
import warnings
from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any, SupportsIndex

from meshfold import _interruption, _late, _meshfold, _own
from meshfold._errors import MeshfoldError, MeshfoldWarning, RunFailed
from meshfold._meshfold import Table
from meshfold._parts import Collector
from meshfold._progress import Progress
from meshfold._run_info import RunInfo
from meshfold._runs import Runs
from meshfold.callbacks import OnRecord
from meshfold.callbacks._callback import AnyCallback, Dispatcher, listed

# When the interpreter ends, threads of runs must no longer call Python.
atexit.register(_meshfold.end)


def run(
    experiment: str | PathLike[str] | Mapping[str, Any],
    *,
    set: Mapping[str, Any] | None = None,
    results: str | PathLike[str] = "runs",
    data: str | PathLike[str] | None = None,
    device: str = "cpu",
    threads: int | None = None,
    cpu: str | None = None,
    at_once: int | None = None,
    again: bool = False,
    part: str | None = None,
    only: str | Sequence[str] | None = None,
    progress: bool | None = None,
    on_record: OnRecord | None = None,
    callbacks: AnyCallback | Sequence[AnyCallback] = (),
) -> Runs:
    """Carries out all runs of an experiment and returns them.

        import meshfold as mf

        runs = mf.run({
            "name": "first",
            "dataset": {"glyphs": {"train": 1000, "test": 200}},        # drawn by meshfold; or "mnist", arrays, ...
            "partition": {"classes": {"clients": 20, "per_client": 2}},
            "topology": "ring",
            "model": "logistic",
            "algorithm": {"dsgd": {"batch_size": 20, "learning_rate": 0.1}},
            "rounds": 30,
            "sweep": {"grid": {"topology": ["ring", "complete"], "seed": [1, 2]}},
        })
        print(runs)                                     # a line for each run; in a notebook `runs` is the report
        runs.metrics().to_polars()                      # all evaluations of all runs

    Runs that Python or the program has already finished are skipped. Runs that were interrupted continue from their checkpoint.
    Ctrl-C ends the runs after the current round, with a checkpoint if the experiment keeps any, and raises `KeyboardInterrupt`;
    the same call continues them. From Python 3.11 on, notes of the exception say after which rounds.

    Args:
        experiment: a YAML file, or a dict of the same structure. In a dict, and in `set`, you may use a networkx graph, or what
            `overlay`, `weights`, `partition`, `dataset`, `learning_rate` or `model` returns, as the value of the matching key. Paths become text;
            ranges and arrays of numbers become lists. Methods of your own are named: `{"own": {"name": "choco", ...}}`.
        set: values that replace those of the experiment, by their dotted paths: `{"algorithm.dsgd.learning_rate": 0.1}`.
        results: the folder of all results; the folder of a run is `results/NAME/ID`.
        data: the folder of the datasets; if absent, `MESHFOLD_DATA`, or else the platform's folder.
        device: `cpu`, `wgpu`, `wgpu:INDEX`, `cuda`, `cuda:INDEX` or `auto`.
        threads: threads of the processor; all cores if absent.
        cpu: the instruction set to use: `amx-bf16`, `avx512-bf16`, `avx512`, `avx2`, `neon` or `portable`; the widest if absent. Two
            machines compute the same bits with the same set.
        at_once: how many runs are carried out at the same time; as many as cores and memory allow if absent.
        again: whether finished runs are run again.
        part: carries out one of several parts of about equal work, such as `"3/16"`, from `"1/16"` to `"16/16"`. Other processes,
            on any machine that sees `results`, take the others. Only the runs of the part are returned; `read` returns all.
        only: carries out only the runs with these ids, or with ids that begin so.
        progress: whether a progress bar is shown; in terminals and notebooks if absent.
        on_record: called as `on_record(run, record)` for each new record. If it raises an exception, all runs end after their
            current round, and `run` raises it again.
        callbacks: functions like `on_record`, and objects with the hooks of `meshfold.callbacks.Callback`, such as
            `meshfold.callbacks.TensorBoard()`; a list, or a single one. All are called on this thread.

    Returns:
        The runs, in the order of the sweep.

    Raises:
        ConfigError: if the experiment has a mistake; then no run was begun.
        DataError, DeviceError: if a dataset or a device is missing.
        ValueError: if `threads` or `at_once` is below 1, `part` is not valid, or an id of `only` matches no run or several.
        RunFailed: if runs failed; the others were carried out.
    """
    session = _Session([*listed(callbacks), *([] if on_record is None else [on_record])], progress)
    request = _request(
        experiment,
        set=set,
        data=data,
        device=device,
        threads=threads,
        cpu=cpu,
        # The working folder may have changed when the results are read.
        results=os.path.abspath(fspath(results)),
        at_once=_count("at_once", at_once, "as many as cores and memory allow"),
        again=again,
        awaited=session.is_awaited,
        part=None if part is None else _text("part", part, "a part such as '3/16'"),
        only=None if only is None else [_text("only", id, "ids of runs") for id in ([only] if isinstance(only, str) else only)],
    )
    try:
        with _late.heard():
            unwritten = _meshfold.run(request, session.planned, session.happened)
    except KeyboardInterrupt as interruption:
        session.interrupted(interruption)
        raise
    finally:
        session.close()
    runs = session.result()
    if unwritten is not None:
        warnings.warn(f"the runs are done, but what compares them could not be written: {unwritten}", MeshfoldWarning, stacklevel=2)
    return runs


def plan(
    experiment: str | PathLike[str] | Mapping[str, Any],
    *,
    set: Mapping[str, Any] | None = None,
    data: str | PathLike[str] | None = None,
    device: str = "cpu",
    threads: int | None = None,
    cpu: str | None = None,
) -> Table:
    """What the runs of an experiment would be like: checks everything that can be checked before, and carries out nothing.

        mf.plan("first.yaml").to_polars()

    The table has a row for each run: its id, the settings that the sweep varies, `rounds`, `clients`, `rows`, `parameters`,
    `memory_bytes`, `local_steps_per_round`, `bytes_per_round`, `multiply_adds` and `lambda`. `multiply_adds` is a rough count for all
    rounds, with the judging of the models. Messages outside the overlay, such as those of `epidemic_learning`, are not in `bytes_per_round`:
    docs/published.md says of which methods a plan does not tell everything. What `run` would warn of is warned of.

    Args:
        experiment: as for `run`.
        set: as for `run`.
        data: as for `run`.
        device: as for `run`.
        threads: as for `run`.
        cpu: as for `run`.

    Raises:
        ConfigError: if the experiment has a mistake.
        DataError, DeviceError: if a dataset or a device is missing.
    """
    table, told = _meshfold.plan(_request(experiment, set=set, data=data, device=device, threads=threads, cpu=cpu))
    for warning in told:
        warnings.warn(warning, MeshfoldWarning, stacklevel=2)
    return table


def _request(
    experiment: str | PathLike[str] | Mapping[str, Any],
    *,
    set: Mapping[str, Any] | None,
    data: str | PathLike[str] | None,
    device: str,
    threads: int | None,
    cpu: str | None,
    results: str = "runs",
    at_once: int | None = None,
    again: bool = False,
    awaited: bool = False,
    part: str | None = None,
    only: list[str] | None = None,
) -> dict[str, Any]:
    """What the compiled part is asked for."""
    collector = Collector()
    source = _source(experiment, collector)
    overrides = [f"{path}={json.dumps(collector.plain(value, path))}" for path, value in (set or {}).items()]
    return {
        **source,
        "overrides": overrides,
        "data": None if data is None else fspath(data),
        "device": _text("device", device, "a device such as 'cpu'"),
        "threads": _count("threads", threads, "all cores"),
        "cpu": None if cpu is None else _text("cpu", cpu, "an instruction set such as 'avx2'"),
        "results": results,
        "at_once": at_once,
        "again": again,
        "awaited": awaited,
        "part": part,
        "only": only,
        "own": _own.classes("\n".join([_words(source), *overrides])),
        "parts": collector.parts,
    }


def _source(
    experiment: str | PathLike[str] | Mapping[str, Any], collector: Collector
) -> dict[str, str | None]:
    """The path and the text of an experiment; the collector gets its parts."""
    if isinstance(experiment, Mapping):
        # YAML reads JSON.
        text = json.dumps(collector.plain(experiment), indent=2)
        return {"path": "experiment", "text": text}
    if isinstance(experiment, (str, PathLike)):
        return {"path": fspath(experiment), "text": None}
    raise TypeError(
        f"experiment: found {type(experiment).__name__}, needed the path of a YAML file or a dict"
    )


def _words(source: Mapping[str, str | None]) -> str:
    """The text of an experiment; none if its file cannot be read, which is told later."""
    if source["text"] is not None:
        return source["text"]
    try:
        return Path(str(source["path"])).read_text(errors="replace")
    except OSError:
        return ""


def _count(name: str, value: SupportsIndex | None, otherwise: str) -> int | None:
    """`value`, if it is a whole number above 0 or None."""
    if value is None:
        return None
    needed = f"needed a whole number above 0, or None for {otherwise}"
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name}: found {value!r}, {needed}")
    count = operator.index(value)
    if count < 1:
        raise ValueError(f"{name}: found {count}, {needed}")
    return count


def _text(name: str, value: object, needed: str) -> str:
    """`value`, if it is text."""
    if not isinstance(value, str):
        raise TypeError(f"{name}: found {value!r}, needed text: {needed}")
    return value


class _Session:
    """Handles what happens while the runs of one call are carried out."""

    def __init__(self, callbacks: Sequence[AnyCallback], progress: bool | None) -> None:
        self._callbacks = Dispatcher(callbacks)
        self._asked = progress
        self._progress: Progress | None = None
        self._runs: list[RunInfo] = []
        self._folders: dict[int, Path] = {}
        self._failures: dict[str, str] = {}

    @property
    def is_awaited(self) -> bool:
        """Whether runs wait until call-backs have been called."""
        return self._callbacks.is_awaited

    def planned(self, runs: list[dict[str, Any]], told: list[str]) -> None:
        for warning in told:
            warnings.warn(warning, MeshfoldWarning, stacklevel=3)
        self._runs = [_info(run) for run in runs]
        self._callbacks.call("on_plan", list(self._runs))
        self._progress = Progress([run.rounds for run in self._runs], self._asked)

    def happened(self, run: int, kind: str, value: Any) -> None:
        if kind == "rounds" and self._progress is not None:
            self._progress.rounds(run, value)
        elif kind == "started":
            self._runs[run] = self._runs[run]._but(resumed_from=value)
            self._callbacks.call("on_start", self._runs[run])
        elif kind == "record":
            self._callbacks.call("on_record", self._runs[run], json.loads(value))
        elif kind == "ended":
            for warning in _late.take():
                warnings.warn(warning, MeshfoldWarning, stacklevel=3)
            self._ended(run, *value)
        elif kind == "warned":
            warnings.warn(value, MeshfoldWarning, stacklevel=3)
        elif kind == "stopping":
            self._callbacks.is_stopping = True

    def _ended(self, run: int, ending: str, error: str | None, folder: Path, notice: str | None) -> None:
        self._folders[run] = folder
        ended = self._runs[run]._but(ending=ending, error=error)
        self._runs[run] = ended
        if ending in ("failed", "damaged"):
            self._failures[ended.label] = error or ending
        elif error is not None:
            warnings.warn(f"{ended.label}: {error}", MeshfoldWarning, stacklevel=4)
        if notice is not None:
            warnings.warn(f"{ended.label}: {notice}", MeshfoldWarning, stacklevel=4)
        if self._progress is not None:
            # While the call goes on, only `run.stop()` interrupts a run, and then it is to do no more.
            self._progress.ended(run, ending == "failed" or (ending == "interrupted" and self._callbacks.is_stopping))
        self._callbacks.call("on_end", ended)

    def interrupted(self, interruption: KeyboardInterrupt) -> None:
        _interruption.tell_of(interruption, self._runs)

    def close(self) -> None:
        if self._progress is not None:
            self._progress.close()

    def result(self) -> Runs:
        folders = [fspath(self._folders[run]) for run in sorted(self._folders)]
        is_elsewhere = bool(folders) and all(run.ending == "elsewhere" for run in self._runs)
        if is_elsewhere:
            warnings.warn("other processes carry out all runs", MeshfoldWarning, stacklevel=3)
        try:
            runs = Runs(_meshfold.Recorded(folders))
        except MeshfoldError:
            # A part may have no runs, and what other processes have begun may have no records yet.
            if folders and not self._failures and not is_elsewhere:
                raise
            runs = Runs(_meshfold.Recorded.empty())
        if self._failures:
            raise RunFailed(self._failures, runs)
        return runs


def _info(run: dict[str, Any]) -> RunInfo:
    read = {key: json.loads(run[key]) for key in ("settings", "config")}
    stop = run.pop("stop")
    return RunInfo(**{**run, **read, "folder": Path(run["folder"])})._stopped_by(stop)
