"""Arrays that are no parts, and labels that nobody can learn, are told."""

from __future__ import annotations

import copy
import pickle
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


def data(x: Any) -> list[str]:
    """What a dataset of the features `x` warns of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        mf.dataset(x, np.arange(6) % 2, x, np.arange(6) % 2)
    assert all(warning.category is mf.MeshfoldWarning and warning.filename == __file__ for warning in caught)
    return [str(warning.message) for warning in caught]


def test_features_beyond_a_usual_scale_are_told() -> None:
    pixels = np.arange(24).reshape(6, 4) * 10
    (words,) = data(pixels)
    assert words.startswith("dataset: the features of x and x_test are whole numbers from 0 to 230, and are taken as they are")
    (words,) = data(-pixels.astype(np.float32))
    assert words.startswith("dataset: the features of x and x_test are numbers from -230 to 0")
    for usual in (pixels.astype(np.uint8), pixels / 230, pixels % 2, np.eye(6, 4, dtype=bool), np.full((6, 4), 50.0)):
        assert data(usual) == []


def test_numbers_of_two_kinds_are_not_called_whole() -> None:
    x, y = np.arange(24).reshape(6, 4), np.arange(6) % 2
    with pytest.warns(mf.MeshfoldWarning, match="features of x and x_test are numbers from -2.5 to 23"):
        mf.dataset(x, y, np.full((6, 4), -2.5), y)


def test_images_with_their_channels_last_are_told() -> None:
    (words,) = data(np.zeros((6, 8, 9, 3), np.uint8))
    assert words.startswith("dataset: x has images of 8 channels of 9 x 3; if these are 8 x 9 pixels of 3 channels")
    for usual in ((6, 3, 8, 8), (6, 1, 8, 3), (6, 8, 3), (6, 16, 2, 3)):
        assert data(np.zeros(usual, np.uint8)) == []


def test_labels_that_are_no_whole_numbers_are_told_what_a_regression_learns() -> None:
    x = np.zeros((6, 3), np.float32)
    words = "dataset: y is of type float64, needed whole numbers: labels are classes, counted from 0. A regression .*`{linear: {targets: value}}`"
    with pytest.raises(ValueError, match=words) as raised:
        mf.dataset(x, np.arange(6) / 2, x, np.arange(6) / 2)
    page = ', see docs/own.md, "Regression and several labels"'
    assert str(raised.value).endswith(page)
    with pytest.raises(ValueError, match=r"^dataset: y has the shape \(6, 4\), needed \[6\]: a label for each example") as raised:
        mf.dataset(x, np.zeros((6, 4)), x, np.zeros((6, 4)))
    assert str(raised.value).endswith(page)
    with pytest.raises(ValueError, match=r"dataset: owner has the shape \(5,\), needed \[6\]$"):
        mf.dataset(x, np.arange(6) % 2, x, np.arange(6) % 2, owner=np.arange(5))
    with pytest.raises(ValueError, match="dataset: owner is of type float64, needed whole numbers$"):
        mf.dataset(x, np.arange(6) % 2, x, np.arange(6) % 2, owner=np.arange(6) / 2)


def test_an_experiment_with_parts_can_be_copied_and_not_pickled(experiment: Experiment) -> None:
    part = mf.overlay(np.ones((10, 10)), label="mine")
    mine = {**experiment, "sweep": None, "topology": part}
    assert copy.deepcopy(mine)["topology"] is part and copy.copy(part) is part
    assert one(copy.deepcopy(mine)).is_finished
    with pytest.raises(TypeError, match="<overlay mine> cannot be pickled, as for another process: let that process make the part"):
        pickle.dumps(mine)
