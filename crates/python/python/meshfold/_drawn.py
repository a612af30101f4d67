"""Figures of what is planned: partitions and overlays."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any

from meshfold import _meshfold
from meshfold._comparison import Value, wording
from meshfold._meshfold import Figure
from meshfold._run import _count, _request


def partition_figure(
    experiment: str | PathLike[str] | Mapping[str, Any],
    *,
    set: Mapping[str, Any] | None = None,
    data: str | PathLike[str] | None = None,
    names: Mapping[Value, str] | None = None,
    width: float = 85.0,
    height: float | None = None,
    font_size: float = 8.0,
) -> Figure:
    """Who holds how many training examples of which label, as a figure for print. It is what `meshfold partition -o FILE` draws.

        mf.partition_figure("first.yaml", set={"partition.dirichlet.alpha": 0.1}).save("partition.pdf")

    The columns are the clients, the rows the labels, and the area of a dot is a number of examples. Where there are too many clients or
    labels for dots, it is the length of a bar. Of a text, whose examples have no classes, each client has a bar. A sweep has a panel for each
    of its partitions, at most 12; those that differ in their seed alone have one.

    Args:
        experiment: as for `run`.
        set: as for `run`.
        data: as for `run`.
        names: words that stand for settings and values in titles: `{"alpha": "α"}`.
        width: width in millimetres; a column of a paper has about 85.
        height: height in millimetres; if absent .72 of the width, at most 90, and of several panels what their rows need.
        font_size: height of the letters in points.

    Raises:
        ConfigError: if the experiment has a mistake.
        DataError: if a dataset is missing.
        ValueError: if there are too many panels, or the letters leave no room.
    """
    return _meshfold.draw_partitions(_planned(experiment, set, data), wording(names), width, height, font_size)


def overlay_figure(
    experiment: str | PathLike[str] | Mapping[str, Any],
    *,
    rounds: int = 1,
    set: Mapping[str, Any] | None = None,
    data: str | PathLike[str] | None = None,
    names: Mapping[Value, str] | None = None,
    width: float = 85.0,
    font_size: float = 8.0,
) -> Figure:
    """The overlays of an experiment, nodes and links, as a figure for print. It is what `meshfold overlay -o FILE` draws.

        mf.overlay_figure("first.yaml", set={"topology": "one_peer"}, rounds=3).save("overlays.pdf")

    A sweep has a panel for each of its overlays, at most 12; those that differ in their seed alone have one. Cliques have colours, and links of
    a directed overlay are arrows from the sender to the receiver.

    Args:
        experiment: as for `run`.
        rounds: of an overlay that changes, draw so many rounds, from the first on.
        set: as for `run`.
        data: as for `run`.
        names: words that stand for settings and values in titles: `{"alpha": "α"}`.
        width: width in millimetres; a column of a paper has about 85. Each overlay has a square, which decides the height.
        font_size: height of the letters in points.

    Raises:
        ConfigError: if the experiment has a mistake.
        DataError: if a dataset is missing.
        ValueError: if there is no overlay, there are too many panels, or the letters leave no room.
    """
    rounds = _count("rounds", rounds, "one round") or 1
    return _meshfold.draw_overlays(_planned(experiment, set, data), wording(names), rounds, width, font_size)


def _planned(
    experiment: str | PathLike[str] | Mapping[str, Any], set: Mapping[str, Any] | None, data: str | PathLike[str] | None
) -> dict[str, Any]:
    return _request(experiment, set=set, data=data, device="cpu", threads=None, cpu=None)
