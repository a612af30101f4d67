"""A `start` that changes the models that it is given is told that no client begins from them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from test_own_methods import Experiment, warned, with_algorithm

import meshfold as mf
from meshfold import _lost_start


class Starting(mf.Method):
    """Does something with the models that it is given."""

    way: str = "set"

    def start(self, models: mf.Stack) -> None:
        if self.way == "set":
            models.set(np.full(models.shape, 0.5))
        elif self.way == "scale":
            models *= 1.5
        elif self.way == "copy":
            self.kept = models.copy()
            self.kept *= 2.0
        elif self.way == "back again":
            models *= 2.0
            models *= 0.5

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        round.send(bytes=0)
        assert not (models.numpy() == 0.5).all()


@pytest.fixture(autouse=True)
def nobody_was_told() -> None:
    _lost_start._TOLD.clear()


@pytest.mark.parametrize("way", ["set", "scale"])
def test_changes_of_its_models_are_told_once(experiment: Experiment, way: str) -> None:
    (words,) = warned({**with_algorithm(experiment, "starting", way=way), "sweep": {"grid": {"seed": [1, 2]}}})
    assert words.startswith("the method `starting`: `start` has changed its `models`, which are a copy of the clients' models")
    assert "start: {models: {file: models.safetensors}}" in words
    assert warned({**with_algorithm(experiment, "starting", way=way), "seed": 3}) == []


@pytest.mark.parametrize("way", ["copy", "back again"])
def test_what_it_makes_of_them_is_not(experiment: Experiment, way: Any) -> None:
    assert warned(with_algorithm(experiment, "starting", way=way)) == []
