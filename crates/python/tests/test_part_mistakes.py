"""Arrays that are no parts, and labels that nobody can learn, are told."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from test_parts import one

import meshfold as mf

Experiment = dict[str, Any]


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("topology", np.ones((8, 8)), r"topology: found an array of shape \[8, 8\], needed `mf.overlay\(...\)` around it"),
        ("weights", np.eye(8), r"weights: found an array of shape \[8, 8\], needed `mf.weights\(...\)`"),
        ("weights", scipy.sparse.eye(8), r"weights: found an array of shape \[8, 8\], needed `mf.weights\(...\)`"),
        ("partition", [np.arange(4)], r"partition.0: found an array of shape \[4\], needed `mf.partition\(...\)`"),
        ("sweep", {"grid": {"topology": ["ring", np.ones((8, 8))]}}, r"sweep.grid.topology.1: .* needed `mf.overlay\(...\)`"),
    ],
)
def test_an_array_where_a_part_belongs_is_told_of_it(experiment: Experiment, key: str, value: Any, words: str) -> None:
    with pytest.raises(mf.ConfigError, match=words) as raised:
        mf.run({**experiment, key: value})
    assert raised.value.path.startswith(key)


def test_a_key_of_a_method_may_be_an_array_and_called_as_a_part(experiment: Experiment) -> None:
    class Weighted(mf.Method):
        weights: list[float]

        def round(self, models: mf.Stack, round: mf.Round) -> None:
            assert self.weights == [0.5, 0.5]

    own = {"own": {"name": "weighted", "weights": np.full(2, 0.5), "batch_size": 20, "learning_rate": 0.1}}
    assert one(experiment, algorithm=own).is_finished


def test_labels_that_no_training_example_has_are_told() -> None:
    x = np.zeros((6, 3), np.float32)
    with pytest.warns(mf.MeshfoldWarning, match="no training example has the labels 2, 3, which 3 of the 6 test examples have"):
        mf.dataset(x, np.array([0, 1, 1, 0, 1, 0]), x, np.array([0, 1, 3, 2, 3, 0]))
    with pytest.warns(mf.MeshfoldWarning, match="no training example has the label owl, which 1 of the 6 test"):
        mf.dataset(x, np.array(["cat", "dog"] * 3), x, np.array(["cat", "dog", "owl"] + ["cat"] * 3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mf.dataset(x, np.array([0, 1, 2, 0, 1, 0]), x, np.array([0, 1, 1, 0, 1, 0]))
