"""Arguments that stacks and rounds cannot take are told by their names, and what to write instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from acting import act
from test_own_methods import Experiment, with_algorithm

import meshfold as mf

Call = Callable[[mf.Stack, mf.Round], Any]


def imul(models: mf.Stack, by: Any) -> None:
    models *= by


def itruediv(models: mf.Stack, by: Any) -> None:
    models /= by


P = 7850


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda m, r: imul(m, m), TypeError, "found a stack, needed a number, or one for each of 10 rows: products of stacks"),
        (lambda m, r: itruediv(m, m.copy()), TypeError, "found a stack, needed a number"),
        (lambda m, r: m * m, TypeError, "found a stack, needed a number"),
        (lambda m, r: m.mix(m), TypeError, "mix: found a stack, needed weights: those of the round, `models.mix"),
        (lambda m, r: m.set([m]), ValueError, rf"set: the array is of shape \[1, 10, {P}\], needed \[10, {P}\]"),
        (lambda m, r: m.set({"dense0.weight": m}), ValueError, r"set: the layer `dense0.weight` is of shape"),
        (lambda m, r: m.add_scaled(np.zeros(m.shape)), TypeError, "add_scaled: `other` is an array of shape .*, needed a stack.*stack.set"),
        (lambda m, r: m.add_scaled("a"), TypeError, "add_scaled: `other` is of type str, needed a stack, such as `models.copy\\(\\)`$"),
        (lambda m, r: m.scatter([0], np.zeros((1, P))), TypeError, "scatter: `source` is an array of shape .*, needed a stack"),
        (lambda m, r: m.distances([[0, 1]], np.zeros(3)), TypeError, "distances: `other` is an array of shape"),
        (lambda m, r: r.train(np.zeros(m.shape)), TypeError, "train: `models` is an array of shape .*, needed a stack"),
        (lambda m, r: r.train(m, correction=np.zeros(m.shape)), TypeError, "train: `correction` is an array of shape .*, needed a stack"),
        (lambda m, r: r.train(m, velocity=0.9), TypeError, "train: `velocity` is of type float, needed a stack"),
        (lambda m, r: r.train(m, anchor=[1.0], mu=1), TypeError, "train: `anchor` is of type list, needed a stack"),
        (lambda m, r: r.gradients(None), TypeError, "gradients: `models` is of type NoneType, needed a stack"),
        (lambda m, r: r.evaluate(np.zeros(m.shape)), TypeError, "evaluate: `models` is an array"),
        (lambda m, r: r.quantize(np.zeros(m.shape), 4), TypeError, "quantize: `stack` is an array"),
        (lambda m, r: r.send(np.zeros(m.shape)), TypeError, "send: `stack` is an array"),
        (lambda m, r: m + 1, TypeError, rf"found the number 1, needed a stack or an array \[10, {P}\]: `models.set\(np.asarray\(models\) \+ 1\)`"),
        (lambda m, r: 0.5 - m, TypeError, "found the number 0.5, needed a stack or an array"),
        (lambda m, r: m + np.ones(3, int), ValueError, rf"\+: the array is of shape \[3\], needed \[10, {P}\]"),
        (lambda m, r: m + np.zeros((9, P)), ValueError, rf"\+: the array is of shape \[9, {P}\], needed \[10, {P}\]"),
        (lambda m, r: m + m.gather([0]), ValueError, rf"one stack is \[10, {P}\], the other \[1, {P}\]"),
        (lambda m, r: r.mixing @ m, TypeError, r"no product of weights and a stack: `models.mix\(round.mixing\)`"),
        (lambda m, r: r.mixing @ np.ones(10), TypeError, r"no product of weights and an array: `round.mixing.numpy\(\)`"),
        (lambda m, r: np.ones(10) @ r.mixing, TypeError, r"no product of weights and an array: `round.mixing.numpy\(\)`"),
        (lambda m, r: r.mixing[0], TypeError, r"mixing weights have no items: `round.mixing.numpy\(\)`"),
        (lambda m, r: r.train(m, anchor=m.copy()), ValueError, "train: found `anchor` and no `mu`, needed both"),
        (lambda m, r: r.train(m, anchor=m.copy(), mu=-0.1), ValueError, "train: found a `mu` of -0.1, needed a finite number of at least 0"),
        (lambda m, r: r.train(m, anchor=m.copy(), mu=float("nan")), ValueError, "train: found a `mu` of NaN"),
        (lambda m, r: r.train(m, mu=float("inf")), ValueError, "train: found a `mu` of inf"),
    ],
)
def test_arguments_that_cannot_be_are_told(experiment: Experiment, call: Call, error: type[Exception], words: str) -> None:
    def do(models: mf.Stack, round: mf.Round) -> None:
        before = models.numpy().copy()
        with pytest.raises(error, match=words):
            call(models, round)
        assert (models.numpy() == before).all()

    act(experiment, do)


def test_mixing_weights_are_an_array_to_numpy(experiment: Experiment) -> None:
    def do(models: mf.Stack, round: mf.Round) -> None:
        weights = np.asarray(round.mixing)
        assert weights.dtype == np.float64 and (weights == round.mixing.numpy()).all()
        assert np.asarray(round.mixing, dtype=np.float32).dtype == np.float32
        assert (models.copy().mix(np.asarray(round.mixing)).numpy() == models.copy().mix(round.mixing).numpy()).all()

    act(experiment, do)


@pytest.mark.parametrize("operation", [lambda weights: 0.5 * weights, lambda weights: 1 - weights, lambda weights: len(weights)])
def test_other_operations_of_mixing_weights_are_told_the_matrix(experiment: Experiment, operation: Any) -> None:
    def do(models: mf.Stack, round: mf.Round) -> None:
        operation(round.mixing)

    with pytest.raises(mf.RunFailed, match=r"`round.mixing.numpy\(\)` is the matrix of the weights"):
        act(experiment, do)


def test_a_layer_may_be_set_to_what_is_read_of_the_stack_itself(experiment: Experiment) -> None:
    def do(models: mf.Stack, round: mf.Round) -> None:
        layers = models.by_layer()
        twice = {name: 2 * layer for name, layer in layers.items()}
        models.set(twice)
        for name, layer in models.by_layer().items():
            assert (layer == 2 * layers[name]).all()

    act(experiment, do)


def test_counts_and_indices_can_be_subtracted(experiment: Experiment) -> None:
    def do(models: mf.Stack, round: mf.Round) -> None:
        arrays = [round.label_counts, round.shard_sizes, round.local_steps, round.edges, round.mixing.entries()[0]]
        for array in arrays:
            assert array.dtype == np.int64 and (array - array.max() - 1).max() == -1
        counts = round.label_counts
        assert np.abs(counts[0] - counts[5]).sum() < counts.sum()
        assert (models.numpy()[round.edges[:, 0]] == models.gather(round.edges[:, 0]).numpy()).all()
        with pytest.raises(ValueError, match="train: `steps` has -2 for row 0, needed whole numbers from 0 to 2147483647"):
            round.train(models, steps=round.local_steps - 5)
        with pytest.raises(ValueError, match="train: `steps` has 4294967295 for row 3"):
            round.train(models, steps=[1, 1, 1, 2**32 - 1, 1, 1, 1, 1, 1, 1])
        round.train(models, steps=round.local_steps - 2)

    assert act(experiment, do, keys={"local": {"steps": 3}})[-1]["local_steps"] == 10


class Counting(mf.Method):
    """Sees before the first round how many examples clients have."""

    def start(self, models: mf.Stack, about: mf.Start) -> None:
        assert about.shard_sizes.dtype == np.int64 and (about.shard_sizes - 100 < 0).all()

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        round.send(bytes=0)


def test_functions_and_start_see_signed_numbers(experiment: Experiment) -> None:
    seen: list[np.dtype[Any]] = []

    def ring(nodes: int, label_counts: Any) -> Any:
        seen.append(label_counts.dtype)
        return [(node, (node + 1) % nodes) for node in range(nodes)]

    def deal(labels: Any, classes: int, generator: Any) -> Any:
        seen.append(labels.dtype)
        return np.array_split(np.argsort(labels - 5, kind="stable"), 10)

    more = {"topology": mf.overlay(ring, changes=False, version="1"), "partition": mf.partition(deal, count=10, version="1")}
    mf.run({**with_algorithm(experiment, "counting"), **more}, progress=False)
    assert set(seen) == {np.dtype(np.int64)}
