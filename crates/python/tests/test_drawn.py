"""Figures of partitions and overlays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import meshfold as mf
import numpy as np
import pytest


def test_a_partition_has_a_dot_for_each_label_of_a_client(experiment: dict[str, Any]) -> None:
    figure = mf.partition_figure({**experiment, "sweep": None, "partition": {"classes": {"clients": 10, "per_client": 2}}})
    assert repr(figure) == "<Figure of 1 partition>" and figure.notes == []
    # Two labels for each of ten clients, the ground of the page and the legend.
    assert figure.svg().count("<polygon") == 20 + 2


def test_a_sweep_has_a_panel_for_each_of_its_partitions(experiment: dict[str, Any]) -> None:
    skewed = {**experiment, "partition": {"dirichlet": {"clients": 10, "alpha": 1}}}
    sweep = {"grid": {"partition.dirichlet.alpha": [0.5, 5], "seed": [1, 2]}}
    figure = mf.partition_figure({**skewed, "sweep": sweep}, width=170, font_size=9)
    assert repr(figure) == "<Figure of 2 partitions>"
    assert figure.notes == ["not drawn, as only their seed differs: 2 more of the partitions"]
    assert "alpha=0.5" in figure.svg()
    named = mf.partition_figure({**skewed, "sweep": sweep}, names={"alpha": "α", 5: "nearly even"})
    assert "α=0.5" in named.svg() and "nearly even" in named.svg()
    with pytest.raises(ValueError, match="beta"):
        mf.partition_figure({**skewed, "sweep": sweep}, names={"beta": "β"})
    assert repr(mf.partition_figure(skewed, set={"sweep": None})) == "<Figure of 1 partition>"


def test_overlays_of_ones_own_are_drawn(experiment: dict[str, Any], tmp_path: Path) -> None:
    def turning(round: int, nodes: int) -> Any:
        return np.array([[node, (node + round) % nodes] for node in range(nodes)])

    drawn = {**experiment, "sweep": None, "topology": mf.overlay(turning, directed=True)}
    figure = mf.overlay_figure(drawn, rounds=3)
    assert repr(figure) == "<Figure of 3 overlays>"
    assert figure.svg().count("<polyline") == 30 and "round 3" in figure.svg()
    figure.save(tmp_path / "overlays.pdf")
    assert (tmp_path / "overlays.pdf").read_bytes().startswith(b"%PDF")


def test_what_cannot_be_drawn_is_told(experiment: dict[str, Any]) -> None:
    served = {**experiment, "topology": None, "sweep": None, "algorithm": {"fedavg": {"batch_size": 20, "learning_rate": 0.1}}}
    with pytest.raises(ValueError, match="found no overlay"):
        mf.overlay_figure(served)
    with pytest.raises(ValueError, match="rounds: found 0"):
        mf.overlay_figure(experiment, rounds=0)
    with pytest.raises(ValueError, match="no room for letters"):
        mf.partition_figure(experiment, width=10)
    with pytest.raises(mf.ConfigError, match="topology"):
        mf.overlay_figure(experiment, set={"topology": "rung"})
