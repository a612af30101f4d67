"""Runs as read from disk."""

from __future__ import annotations

import html
import json
import os
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from meshfold import _meshfold
from meshfold._chosen import chosen
from meshfold._comparison import Comparison, Value, choices, listed, one_of, wording
from meshfold._errors import MeshfoldWarning, ResultsError
from meshfold._meshfold import Figure, Recorded, Stack, Table


@dataclass(frozen=True, repr=False)
class Overlay:
    """The graph over which the clients of a run exchange models.

    Attributes:
        nodes: number of nodes.
        edges: `[E, 2]` integers, the two ends of each edge; from sender to receiver if `directed`.
        directed: whether models go one way.
        lambda_: the second-largest modulus of the eigenvalues of the mixing matrix, or None if it is not known. Where overlays take turns,
            λ per exchange: the root of that of a period. Where they change otherwise, λ of the overlay in round 1.
        summary: all that `overlay.json` says.
    """

    nodes: int
    edges: NDArray[np.int64]
    directed: bool
    lambda_: float | None
    summary: dict[str, Any]

    def __repr__(self) -> str:
        kind = "directed edges" if self.directed else "edges"
        known = "" if self.lambda_ is None else f", λ = {self.lambda_:.4f}"
        return f"<Overlay of {self.nodes} nodes and {len(self.edges)} {kind}{known}>"


@dataclass(frozen=True, repr=False)
class Partition:
    """What each client holds.

    Attributes:
        examples: `[N]`, training examples of each client.
        labels: `[N, C]`, examples of each client and label; None for texts.
        tokens: `[N]`, tokens of each client; None for examples with labels.
        label_names: `[C]`, what the labels are called; None where they are numbers.
        owners: `[N]`, the owner's name for each client's examples, None for a client with examples of several owners; None if the
            dataset names no owners.
    """

    examples: NDArray[np.int64]
    labels: NDArray[np.int64] | None
    tokens: NDArray[np.int64] | None
    label_names: list[str] | None = None
    owners: list[str | None] | None = None

    def __repr__(self) -> str:
        fewest, most = (int(self.examples.min()), int(self.examples.max())) if len(self.examples) else (0, 0)
        return f"<Partition of {int(self.examples.sum())} examples among {len(self.examples)} clients, {fewest} to {most} each>"


class Run:
    """One run. Everything is read from its folder."""

    def __init__(self, recorded: Recorded, place: int) -> None:
        self._recorded = recorded
        self._place = place
        self._about: dict[str, Any] = json.loads(recorded.about(place))

    @property
    def id(self) -> str:
        """The id, a hash of the configuration: the same id is the same run."""
        return str(self._about["id"])

    @property
    def name(self) -> str:
        """What the experiment is called."""
        return str(self._about["name"])

    @property
    def folder(self) -> Path:
        """Where its files lie."""
        return Path(self._recorded.folder(self._place))

    @property
    def is_finished(self) -> bool:
        """Whether it went through all its rounds."""
        return bool(self._about["is_finished"])

    @property
    def failure(self) -> str | None:
        """Why it failed, if it did."""
        failure: str | None = self._about["failure"]
        return failure

    @property
    def config(self) -> dict[str, Any]:
        """Every setting of the run, as `config.yaml` has it."""
        config: dict[str, Any] = self._about["config"]
        return config

    @property
    def settings(self) -> dict[str, Any]:
        """The settings that the sweep varies, by their dotted paths; empty before the run has ended."""
        return dict((self.summary or {}).get("settings") or {})

    @property
    def summary(self) -> dict[str, Any] | None:
        """What `summary.json` says, once the run has ended."""
        summary: dict[str, Any] | None = self._about["summary"]
        return summary

    @property
    def label(self) -> str:
        """The settings that distinguish the run in its sweep, such as `topology=ring, seed=2`; its name if there is no sweep."""
        return str((self.summary or {}).get("label") or self.name)

    @property
    def overlay(self) -> Overlay | None:
        """The overlay; None if the method uses none."""
        summary = self._about["overlay"]
        edges = self._recorded.edges(self._place)
        if summary is None or edges is None:
            return None
        ends = np.frombuffer(edges, dtype="<u8").reshape(-1, 2).astype(np.int64)
        return Overlay(
            nodes=summary["nodes"],
            edges=ends,
            directed=bool(summary.get("directed", False)),
            lambda_=self._about["lambda"],
            summary=summary,
        )

    @property
    def partition(self) -> Partition | None:
        """What each client holds; None if the run has not written it yet."""
        text = self._recorded.partition(self._place)
        if text is None:
            return None
        held = json.loads(text)
        names = held["names"]
        called: dict[str, Any] = {
            "label_names": names.get("labels"),
            "owners": names.get("clients"),
        }
        if "labels" in held:
            labels = np.array(held["labels"], dtype=np.int64).T
            return Partition(examples=labels.sum(axis=1), labels=labels, tokens=None, **called)
        examples = np.array(held["examples"], dtype=np.int64)
        tokens = np.array(held["tokens"], dtype=np.int64)
        return Partition(examples=examples, labels=None, tokens=tokens, **called)

    def models(self) -> Stack:
        """The trained models, `[R, P]`: a row for each row of `clients`, in the same order.

        They are those of the last round if the run is finished, and otherwise those of its last checkpoint. The run must have kept
        them: `mf.run(..., set={"checkpoint.keep": True})`. `models().by_layer()` has the parameters by name, `[R, inputs, outputs]`
        for built-in models, `models().mean()` the mean model.

        Raises:
            ResultsError: if the run kept no models.
        """
        return self._recorded.models(self._place)

    def state(self) -> dict[str, Any]:
        """What a method in Python kept in its attributes, by their names: stacks, arrays and numbers, its keys among them.

        They are those after the last round if the run is finished, and otherwise those of its last checkpoint. The run must have kept them:
        `mf.run(..., set={"checkpoint.keep": True})`. A method that is built in has none.

        Raises:
            ResultsError: if the run kept no checkpoint.
        """
        from meshfold._kept import read

        return read(*self._recorded.state(self._place))

    def metrics(self) -> Table:
        """A row for each evaluation: see `Runs.metrics`."""
        return self._recorded.metrics([self._place])

    def clients(self) -> Table:
        """A row for each client at each evaluation: see `Runs.clients`."""
        return self._recorded.clients([self._place])

    def __reduce__(self) -> tuple[Any, ...]:
        return _run_in, (fspath(self.folder),)

    def __repr__(self) -> str:
        state = "finished" if self.is_finished else "failed" if self.failure else "not finished"
        return f"<Run {self.id} {self.label}: {state}>"


class Runs(Sequence[Run]):
    """Runs, in the order of their sweep."""

    def __init__(self, recorded: Recorded, places: Sequence[int] | None = None) -> None:
        self._recorded = recorded
        self._places = list(range(len(recorded)) if places is None else places)

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, index: int) -> Run: ...
    @overload
    def __getitem__(self, index: slice) -> Runs: ...
    def __getitem__(self, index: int | slice) -> Run | Runs:
        if isinstance(index, slice):
            return Runs(self._recorded, self._places[index])
        return Run(self._recorded, self._places[index])

    def __iter__(self) -> Iterator[Run]:
        return (Run(self._recorded, place) for place in self._places)

    def only(self, settings: Mapping[str, Any] | None = None, /, **more: Any) -> Runs:
        """The runs with these values, in the same order: `runs.only(topology="ring", seed=range(1, 4))`.

        Settings go by their names at the end of their dotted paths. Whole paths need a dict: `runs.only({"algorithm.dsgd.learning_rate": 0.1})`.
        A name that is a whole path means that path alone: `seed` is the seed of the run, and not the one of its dataset. Parts and methods with
        settings of their own go by their names, `topology="regular"`. A list means any of its values.

        Raises:
            ValueError: if no run has a setting of such a name.

        Warns:
            MeshfoldWarning: if no run is left, with the values that there are.
        """
        places = chosen([run.config for run in self], {**(settings or {}), **more})
        return Runs(self._recorded, [self._places[place] for place in places])

    @property
    def left_out(self) -> list[str]:
        """One sentence about each run that could not be read."""
        return self._recorded.left_out

    def metrics(self) -> Table:
        """A table with a row for each evaluation of each run.

        Its columns are `run` (the id), the settings in which the runs differ by their dotted paths, those that several methods have by
        their last keys, too (`learning_rate`), `clients`, `parameters`, and the figures of `metrics.jsonl`, such as `round`,
        `test_accuracy` (the mean over the models; `.min`, `.max` and `.std` beside it), `train_loss` and `bytes_total`. Counts are whole
        numbers, other figures are not. `descriptions` says what each means.
        """
        return self._recorded.metrics(self._places)

    def clients(self) -> Table:
        """A table with a row for each client at each evaluation of each run.

        Its columns are `run`, the settings in which the runs differ, `round`, `row`, `kind`, `examples`, `accuracy`, `loss`, and what
        `evaluate.clients` asked for. `metrics` can be joined to it on `run` and `round`.
        """
        return self._recorded.clients(self._places)

    def table(
        self,
        by: str | Sequence[str] = (),
        *,
        metric: str | Sequence[str] = "test_accuracy",
        over: str = "seed",
        only: Mapping[str, Value | Sequence[Value]] | None = None,
        at: Mapping[str, float | str] | None = None,
        unfinished: bool = False,
        best: str | Sequence[str] | None = None,
        on: str | None = None,
        compare: Mapping[str, Value] | None = None,
        across: str | None = None,
        summary: Literal["mean", "median"] = "mean",
        spread: Literal["interval", "sd", "se"] = "interval",
        names: Mapping[Value, str] | None = None,
    ) -> Comparison:
        """A table with a row for each setting: mean, deviation and 95 % interval over its runs. It is what `meshfold table` prints.

        Settings go by their dotted paths, such as `algorithm.dsgd.learning_rate`, or by the end of them, such as `learning_rate`.

        Args:
            by: the settings that tell the rows apart.
            metric: the figure to show, by its name in `metrics.jsonl`; `own.NAME` is one that a method recorded. `test_accuracy.p10` is
                the 10 % quantile of the clients, `test_accuracy.worst10` the mean of the worst 10 % of them. `rounds_to=0.9` is what it
                takes until the test accuracy first reaches 0.9, and so are `steps_to=`, `examples_to=`, `bytes_to=` and `seconds_to=`. A list of figures shows
                them side by side; data frames then have `test_accuracy_n`, `test_accuracy_mean` and so on for each of them.
            over: the setting whose values repeat a row.
            only: take only runs with these values: `{"topology": ["ring", "complete"]}`.
            at: where to judge a run: `{"round": 100}`, or `steps`, `examples`, `bytes` or `seconds`, on the straight line between two
                evaluations; `{"last": 5}`, by the mean of the last five evaluations; `{"best": "validation_accuracy"}`, at the evaluation at
                which this figure is best; or `{"target": 0.95}`, to show when the metric first reached it. At the last evaluation if
                absent.
            unfinished: take runs that are not finished, such as those that early stopping ended, with the evaluations that they have.
            best: take for each row the best value of this setting, such as `learning_rate`; or, of a list of settings,
                `["learning_rate", "momentum"]`, the best combination of their values. A setting that a method lacks is null there.
            on: the figure that says which value is best, or `validation`; that of the validation examples if the runs have any, else
                `metric`, if absent.
            compare: compare each row with the one that has this value, over the same seeds: `{"algorithm": "dsgd"}`. Data frames have
                the p-value, and beside it `p_value_holm`, corrected by Holm's method for all comparisons of the table, as printed.
            across: print the values of this setting of `by` side by side, each with its mean or median, also in Markdown and LaTeX. With
                `compare` a star marks what differs significantly. Data frames keep a row for each setting.
            summary: `median` in place of the mean, with the lower and the upper quartile in brackets. Of what it takes to reach a target,
                runs that never reach it are larger than all others. Data frames have `median`, `q1` and `q3`, null where they lie among
                such runs. Without `compare`, whose tests are of means.
            spread: what is printed behind ±, beside a mean: half of the 95 % interval, the standard deviation `sd`, or the standard error
                `se`.
            names: words that stand for settings, values and figures, also in Markdown and LaTeX: `{"dfedavg": "DFedAvg"}`. Data frames
                keep the names.

        Raises:
            ValueError: if a name stands for nothing; the message has those that there are. If runs of one row differ in another
                setting.
        """
        request = {
            "by": listed(by, "by"),
            "over": over,
            "only": choices(only),
            "best": [] if best is None else listed(best, "best"),
            "on": on,
            "at": None if at is None else "=".join(one_of(at, "at", '{"round": 100}') or ()),
            "unfinished": unfinished,
            "metric": listed(metric, "metric"),
            "compare": one_of(compare, "compare", '{"algorithm": "dsgd"}'),
            "across": across,
            "summary": summary,
            "spread": spread,
            "names": wording(names),
        }
        return Comparison(*_meshfold.compare(self._recorded, self._places, request))

    def figure(
        self,
        by: str | Sequence[str] = (),
        *,
        y: str = "test_accuracy",
        x: str = "rounds",
        over: str = "seed",
        only: Mapping[str, Value | Sequence[Value]] | None = None,
        summary: Literal["mean", "median"] = "mean",
        band: str | None = "interval",
        log: str | Sequence[str] = (),
        linear: str | Sequence[str] = (),
        x_limits: tuple[float, float] | None = None,
        y_limits: tuple[float, float] | None = None,
        width: float = 85.0,
        height: float | None = None,
        font_size: float = 8.0,
        panels: str | None = None,
        names: Mapping[Value, str] | None = None,
        bars: bool = False,
        at: Mapping[str, float | str] | None = None,
        unfinished: bool = False,
        best: str | Sequence[str] | None = None,
        on: str | None = None,
    ) -> Figure:
        """Curves of a figure, each the mean or median over repeated runs with a band around it, or bars. It is what `meshfold figure` draws.

        `runs.figure("topology").save("accuracy.pdf")` writes it; a notebook shows it. `runs.figure("algorithm", x="alpha")` draws the last
        accuracy of each method over the values of a setting, with error bars.

        Args:
            by: the settings that tell the curves apart: the first by colour, the others by dashes.
            y: the figure to draw, as `metric` of `table`.
            x: what measures how far a run is: `rounds`, `steps`, `epochs`, `examples`, `bytes`, `seconds`, or a figure that never
                decreases, such as `wall_seconds`. Or a setting whose values are numbers, such as `alpha`: each curve then has a point for
                each of them, the mean where `at` says, with its 95 % interval as an error bar. Or a figure of the overlays: `lambda`,
                `gap`, `mean_degree`, `diameter`, `mean_distance` or `clustering`, with a point for each overlay. Or
                `share_of_clients`: each curve then shows the clients where `at` says, from the least value of `y` to the largest.
            over: the setting whose values repeat a curve.
            only: draw only runs with these values: `{"topology": ["ring", "complete"]}`.
            summary: `median` in place of the mean over repeated runs.
            band: `interval`, the 95 % interval of the mean, or the quartiles around a median; `sd` and `se`, the standard deviation of the
                runs and the standard error of the mean, not around a median; `quantiles`, 5 % and 95 % of the clients; `range`, their
                least and largest; or None. Over a setting or the clients not `quantiles` or `range`.
            log: the axes that are logarithmic, `x` and `y`.
            linear: the axes that are linear. Over a setting `x` is logarithmic otherwise if the largest value is 20 times the smallest or
                more.
            x_limits: where the horizontal axis begins and ends.
            y_limits: where the vertical axis begins and ends; accuracies as fractions.
            width: width in millimetres; a column of a paper has about 85.
            height: height in millimetres; if absent .72 of the width, at most 90, and with `panels` what their rows need.
            font_size: height of the letters in points.
            panels: draw a panel for each value of this setting of `by`, at most 12.
            names: words that stand for settings, values and figures in legend, axes and panels: `{"dfedavg": "DFedAvg"}`.
            bars: draw bars and no curves: a group for each value of the first setting of `by`, a colour for each of the
                others.
            at: where bars, and curves over a setting or the clients, judge a run: `{"round": 100}`, or `steps`, `examples`, `bytes` or `seconds`;
                `{"last": 5}`, by the mean of the last five evaluations; or `{"best": "validation_accuracy"}`, at the evaluation at which
                this figure is best. At the last evaluation if absent.
            unfinished: there, take runs that are not finished with the evaluations that they have.
            best: the setting of which each curve, bar or point over a setting has the best value, such as `learning_rate`; or a list of
                settings, of which each has the best combination of values.
            on: the figure that says which value is best at the last evaluation, or `validation`; if absent that of the validation
                examples if the runs have any, else `y`.

        Raises:
            ValueError: if a name stands for nothing, the page is too small or the limits leave nothing to draw.
        """
        for key, name in (("x", x), ("y", y)):
            if not isinstance(name, str):
                raise TypeError(f"{key} is {name!r}, needed one name, such as \"test_accuracy\": draw a figure for each")
        request = {
            "by": listed(by, "by"),
            "over": over,
            "only": choices(only),
            "best": [] if best is None else listed(best, "best"),
            "on": on,
            "x": x,
            "y": y,
            "summary": summary,
            "band": band,
            "log": listed(log, "log"),
            "linear": listed(linear, "linear"),
            "x_limits": None if x_limits is None else list(x_limits),
            "y_limits": None if y_limits is None else list(y_limits),
            "width": width,
            "height": height,
            "font_size": font_size,
            "panels": panels,
            "names": wording(names),
            "bars": bars,
            "at": None if at is None else "=".join(one_of(at, "at", '{"round": 100}') or ()),
            "unfinished": unfinished,
        }
        return _meshfold.plot(self._recorded, self._places, request)

    def report(self, path: str | PathLike[str] = "report.html") -> Path:
        """Writes a report that compares the runs, as one HTML file that needs no network. Returns its path."""
        self._recorded.report(self._places, fspath(path))
        return Path(path)

    def _repr_html_(self) -> str:
        """The report, for notebooks."""
        with tempfile.TemporaryDirectory() as folder:
            page = self.report(Path(folder) / "report.html").read_text(encoding="utf-8")
        source = html.escape(page, quote=True)
        return f'<iframe srcdoc="{source}" style="width:100%;height:640px;border:0"></iframe>'

    def __reduce__(self) -> tuple[Any, ...]:
        return _runs_in, ([fspath(self._recorded.folder(place)) for place in self._places],)

    def __repr__(self) -> str:
        lines = [f"{len(self)} run{'' if len(self) == 1 else 's'}"]
        lines += [f"  {_line(run)}" for run in self[:20]]
        if len(self) > 20:
            lines.append(f"  and {len(self) - 20} more")
        return "\n".join(lines)


def _runs_in(folders: list[str]) -> Runs:
    """The runs in these folders, in this order, as they are on disk now."""
    if not folders:
        return Runs(Recorded.empty())
    recorded = Recorded(folders)
    places = {fspath(recorded.folder(place)): place for place in range(len(recorded))}
    if any(folder not in places for folder in folders):
        raise ResultsError("runs cannot be read any more: " + "; ".join(recorded.left_out))
    return Runs(recorded, [places[folder] for folder in folders])


def _run_in(folder: str) -> Run:
    return _runs_in([folder])[0]


def _line(run: Run) -> str:
    last = (run.summary or {}).get("last") or {}
    accuracy = (last.get("test_accuracy") or {}).get("mean")
    shown = "" if accuracy is None else f", accuracy {100 * accuracy:.1f} %"
    state = "finished" if run.is_finished else "failed" if run.failure else "not finished"
    return f"{run.id}  {run.label}: {state}{shown}"


def read(*folders: str | PathLike[str]) -> Runs:
    """Reads runs that were carried out before, by Python or by the program.

    Args:
        folders: folders of runs, such as `runs/quickstart/1f3a…`, or folders that hold them, such as `runs/quickstart`.

    Raises:
        ResultsError: if no run is found, or none can be read. If only some cannot be read, a warning and `Runs.left_out` name each.
    """
    if not folders:
        raise ResultsError("found no folder, needed at least one, such as read('runs/quickstart')")
    # The working folder may have changed when more is read.
    runs = Runs(Recorded([os.path.abspath(fspath(folder)) for folder in folders]))
    for sentence in runs.left_out:
        warnings.warn(sentence, MeshfoldWarning, stacklevel=2)
    return runs
