"""Tables and figures of runs, beside what the program makes of them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

import meshfold as mf

Experiment = dict[str, Any]


@pytest.fixture
def runs(experiment: Experiment) -> mf.Runs:
    """Two overlays, three seeds, and two learning rates of one of them."""
    several = {**experiment, "name": "several", "sweep": {"grid": {"topology": ["ring", "complete"], "seed": [1, 2, 3]}}}
    return mf.run(several, progress=False)


def said(program: str, *arguments: str) -> str:
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=True)
    return done.stdout


@pytest.mark.parametrize(
    ("options", "keywords"),
    [
        ([], {}),
        (["--metric", "test_loss"], {"metric": "test_loss"}),
        (["--metric", "test_accuracy.worst10"], {"metric": "test_accuracy.worst10"}),
        (["--metric", "test_accuracy,bytes_total"], {"metric": ["test_accuracy", "bytes_total"]}),
        (["--at", "round=3"], {"at": {"round": 3}}),
        (["--at", "target=0.3"], {"at": {"target": 0.3}}),
        (["--compare", "topology=ring"], {"compare": {"topology": "ring"}}),
        (["--across", "topology"], {"across": "topology"}),
        (["--summary", "median"], {"summary": "median"}),
        (["--summary", "median", "--at", "target=0.3"], {"summary": "median", "at": {"target": 0.3}}),
        (["--summary", "median", "--metric", "test_loss,bytes_total"], {"summary": "median", "metric": ["test_loss", "bytes_total"]}),
        (["--name", "ring=Ring & co", "--name", "topology=Overlay"], {"names": {"ring": "Ring & co", "topology": "Overlay"}}),
        (["--only", "topology=complete", "--only", "seed=1,3"], {"only": {"topology": "complete", "seed": [1, 3]}}),
    ],
)
def test_a_table_has_the_numbers_of_the_program(program: str, runs: mf.Runs, options: list[str], keywords: dict[str, Any]) -> None:
    table = runs.table("topology", **keywords)
    command = ["table", "runs/several", "--by", "topology", *options, "--format"]
    wanted = [json.loads(line) for line in said(program, *command, "json").splitlines()]
    assert table.to_polars().to_dicts() == wanted
    assert table.column_names == list(wanted[0]) and len(table) == len(wanted)
    assert table.to_markdown() == said(program, *command, "markdown")
    assert table.to_latex() == said(program, *command, "latex")
    assert repr(table) == table.to_markdown().rstrip("\n")
    named = said(program, *command, "latex", "--caption", "After $T$ rounds.", "--label", "tab:a")
    assert table.to_latex(caption="After $T$ rounds.", label="tab:a") == named


def test_of_several_settings_the_best_combination_is_taken(program: str, experiment: Experiment) -> None:
    grid = {"topology": ["ring", "complete"], "algorithm.*.learning_rate": [0.01, 0.2], "seed": [1, 2]}
    runs = mf.run({**experiment, "name": "tuned", "sweep": {"grid": grid}}, progress=False)
    pair = ["topology", "learning_rate"]
    (best,) = runs.table(best=pair).to_polars().to_dicts()
    every = runs.table(pair).to_polars().to_dicts()
    assert best == max(every, key=lambda row: row["mean"])
    assert runs.table(best=pair).to_markdown() == said(program, "table", "runs/tuned", "--best", ",".join(pair), "--format", "markdown")
    alone, listed = runs.table("topology", best="learning_rate"), runs.table("topology", best=["learning_rate"])
    assert alone.to_markdown() == listed.to_markdown()
    notes = runs.figure(best=pair).notes
    assert f"topology and learning_rate: {best['topology']}, {best['learning_rate']}" in notes
    with pytest.raises(ValueError, match="`learning_rate` is named twice among the settings of the rows"):
        runs.table(best=["learning_rate", "learning_rate"])


def test_a_table_of_some_runs_is_of_these(runs: mf.Runs) -> None:
    (row,) = runs[:3].table().to_polars().to_dicts()
    accuracies = [run.summary["last"]["test_accuracy"]["mean"] for run in runs[:3] if run.summary is not None]
    assert row["n"] == 3 and row["mean"] == pytest.approx(sum(accuracies) / 3)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda runs: runs.table("topolgy"), "no setting is called `topolgy` (did you mean `topology`?); the runs differ in:"),
        (lambda runs: runs.table(), "differ in topology"),
        (lambda runs: runs.table("topology", metric="acuracy"), "no figure is called `acuracy`"),
        (lambda runs: runs.table("topology", at={"rounds": 3}), "at: found rounds=3, needed round=, steps="),
        (lambda runs: runs.table("topology", only={"topology": "star"}), "star"),
        (lambda runs: runs.table("topology", across="seed"), "`across` seed: needed one setting, by which the rows are told apart"),
        (lambda runs: runs.table("topology", across="topology", at={"target": 0.3}), "leave out `at` target="),
        (lambda runs: runs.table("topology", metric="test_accuracy.p101"), "no figure is called `test_accuracy.p101`: of the clients"),
        (lambda runs: runs.figure("topology", x="hours"), "`x` hours: needed rounds, steps, epochs, examples, bytes, seconds, or a figure"),
        (lambda runs: runs.figure("topology", x="test_loss"), "what never decreases along a run"),
        (lambda runs: runs.figure("topology", band="all"), "band: found all, needed interval, sd, se, quantiles, range or None"),
        (lambda runs: runs.table("topology", summary="middle"), "summary: found middle, needed mean or median"),
        (lambda runs: runs.table("topology", summary="median", spread="sd"), "`spread` sd lies around a mean: a median has its quartiles"),
        (lambda runs: runs.table("topology", summary="median", compare={"topology": "ring"}), "it does not go with `summary` median"),
        (lambda runs: runs.figure("topology", summary="median", band="se"), "`band` se lies around a mean: a median has its quartiles"),
        (lambda runs: runs.figure("topology", log="z"), "log: found z, needed x or y"),
        (lambda runs: runs.figure("topology", y_limits=(1, 0)), "y_limits: found (1, 0), needed two numbers, the smaller one first"),
        (lambda runs: runs.figure("topology", y_limits=(2, 3)), "y limits 2,3: nothing is drawn there"),
        (lambda runs: runs.table("topology", names={"rign": "Ring"}), "`names` rign: it is no setting, figure or value that is shown"),
        (lambda runs: runs.figure("topology", at={"round": 3}), "`at` round=3: curves show the runs as a whole; it goes with `bars`, and"),
        (lambda runs: runs.figure("topology", bars=True, x="bytes"), "bars: found x, x_limits, or log or linear of x with bars"),
        (lambda runs: runs.figure("topology", bars=True, at={"target": 0.3}), "over a setting or the clients, are about one place: found target="),
        (lambda runs: runs.figure(x="topology"), "`x` topology: its values are to be numbers, and they are ring, complete; draw them by `bars`"),
        (lambda runs: runs.figure("topology", x="seed", band="range"), "`band` range: `bars`, and figures over a setting or the clients, show how the runs"),
        (lambda runs: runs.figure("topology", log="x", linear="x"), "log: found x in linear, too, needed one of them"),
        (lambda runs: runs.figure("topology", panels="seed"), "the curves are not told apart by `seed`"),
        (lambda runs: runs.figure("topology", width=20), "a page of 20 × 14 mm has no room for letters of 8.0 pt"),
        (lambda runs: runs.figure("topology", y="acuracy"), "acuracy"),
        (lambda runs: runs.table("topology, seed"), "by: found 'topology, seed', needed a list for several names: ['topology', 'seed']"),
        (lambda runs: runs.table(best="topology,seed"), "best: found 'topology,seed', needed a list for several names: ['topology', 'seed']"),
        (lambda runs: runs.figure("topology", log="x,y"), "log: found 'x,y', needed a list for several names: ['x', 'y']"),
        (lambda runs: runs.figure("topology").save("a.gif"), "save: found a.gif, needed a name that ends in .svg, .pdf or .png"),
        (lambda runs: runs.figure("topology").save("a.png", dpi=0), "an image of 0 × 0 pixels cannot be made"),
    ],
)
def test_names_and_numbers_that_stand_for_nothing_are_told(runs: mf.Runs, make: Any, words: str) -> None:
    with pytest.raises(ValueError) as raised:
        make(runs)
    assert words in str(raised.value)


def test_arguments_of_other_kinds_are_told(runs: mf.Runs) -> None:
    with pytest.raises(TypeError, match="compare: found 'ring', needed one entry, such as"):
        runs.table("topology", compare="ring")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="names: found"):
        runs.table("topology", names={"ring": 1})  # type: ignore[dict-item]
    with pytest.raises(TypeError, match="by: found"):
        runs.table([1])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="best: found"):
        runs.figure("topology", best=[1])  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("options", "keywords"),
    [
        ([], {}),
        (["--y", "test_accuracy.p10", "--x", "wall_seconds"], {"y": "test_accuracy.p10", "x": "wall_seconds"}),
        (["--y", "test_loss", "--log", "y", "--x", "bytes"], {"y": "test_loss", "log": "y", "x": "bytes"}),
        (["--bars", "--at", "round=3"], {"bars": True, "at": {"round": 3}}),
        (["--summary", "median"], {"summary": "median"}),
        (["--summary", "median", "--bars", "--y", "test_loss"], {"summary": "median", "bars": True, "y": "test_loss"}),
        (["--x", "seed", "--over", "rounds", "--linear", "x"], {"x": "seed", "over": "rounds", "linear": "x"}),
        (["--best", "seed", "--over", "rounds", "--on", "test_loss"], {"best": "seed", "over": "rounds", "on": "test_loss"}),
        (["--panels", "topology", "--name", "ring=Ring"], {"panels": "topology", "names": {"ring": "Ring"}}),
        (["--x", "share_of_clients", "--at", "round=3"], {"x": "share_of_clients", "at": {"round": 3}}),
        (["--band", "none", "--y-limits", "0,1", "--width", "120mm"], {"band": None, "y_limits": (0, 1), "width": 120}),
        (["--band", "quantiles", "--only", "topology=ring", "--font-size", "9pt"], {"band": "quantiles", "only": {"topology": "ring"}, "font_size": 9}),
    ],
)
def test_a_figure_has_the_bytes_of_the_program(program: str, runs: mf.Runs, options: list[str], keywords: dict[str, Any]) -> None:
    figure = runs.figure("topology", **keywords)
    for name in ("a.svg", "a.pdf", "a.png"):
        said(program, "figure", "runs/several", "--by", "topology", *options, "--dpi", "100", "-o", name)
        Path("mine").mkdir(exist_ok=True)
        figure.save(f"mine/{name}", dpi=100)
        assert Path("mine", name).read_bytes() == Path(name).read_bytes(), name
    assert figure.svg() == figure._repr_svg_() == Path("a.svg").read_text()


def test_what_a_reader_must_know_stands_beside(runs: mf.Runs, experiment: Experiment) -> None:
    assert runs.table("topology").notes == runs.figure("topology").notes == []
    single = runs[:1].figure("topology")
    assert repr(single) == "<Figure of 1 curve>"
    assert any("interval" in note or "band" in note for note in single.notes)
    with pytest.raises(OSError, match="nowhere"):
        single.save("nowhere/a.svg")


def test_errors_name_the_arguments_of_python(runs: mf.Runs) -> None:
    with pytest.raises(ValueError, match="name it in `by`, `over` or `best`"):
        runs.table()
    with pytest.raises(ValueError, match="`only` topology=star: no run has it"):
        runs.table("topology", only={"topology": "star"})
    with pytest.raises(ValueError, match="`panels` seed: the curves are not told apart by `seed`; name it in `by`, too"):
        runs.figure("topology", panels="seed")
