"""What stacks compute over the neighbours of each row, against loops of NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from acting import ACTS, Experiment, act, bits
from numpy.typing import NDArray

import meshfold as mf

#: Row 0 has one edge, row 1 two, row 2 five, two of them from one row, row 3 all ten; others have none.
EDGES = np.array(
    [(9, 0), (2, 1), (1, 1), (4, 2), (0, 2), (4, 2), (8, 2), (3, 2), *((row, 3) for row in range(10))]
)
INTO = [[9], [2, 1], [4, 0, 4, 8, 3], list(range(10))]


def with_models(experiment: Experiment, look: Callable[[mf.Stack, NDArray[np.float64], mf.Round], None]) -> None:
    """Calls `look` with trained models and what they are in double precision."""

    def do(models: mf.Stack, round: mf.Round) -> None:
        round.train(models)
        look(models, models.numpy().astype(float), round)

    act({**experiment, "model": {"mlp": {"hidden": [20]}}}, do)


def test_weighted_sums(experiment: Experiment) -> None:
    weights = np.linspace(-1.0, 2.0, len(EDGES))

    def look(models: mf.Stack, rows: NDArray[np.float64], round: mf.Round) -> None:
        wanted = np.zeros((6, rows.shape[1]))
        for (row, to), weight in zip(EDGES, weights, strict=True):
            wanted[to] += weight * rows[row]
        found = models.weighted_sums(EDGES, weights, rows=6)
        assert found.shape == (6, rows.shape[1])
        np.testing.assert_allclose(found.numpy(), wanted, atol=2e-6)
        turned = np.argsort(EDGES[:, 1] % 2, kind="stable")     # edges that stand there twice keep their order
        assert bits(models.weighted_sums(EDGES[turned], weights[turned], rows=6).numpy()) == bits(found.numpy())
        np.testing.assert_allclose(models.weighted_sums([(3, 0)], 2).numpy()[0], 2 * rows[3], atol=1e-6)
        assert (models.weighted_sums([(3, 0)], 2).numpy()[1:] == 0).all()
        mixed = models.weighted_sums(*round.mixing.entries())
        assert bits(mixed.numpy()) == bits(models.mix(round.mixing).numpy())

    with_models(experiment, look)


def test_entries_are_the_weights_other_than_zero(experiment: Experiment) -> None:
    def look(models: mf.Stack, rows: NDArray[np.float64], round: mf.Round) -> None:
        edges, weights = round.mixing.entries()
        dense = np.zeros((10, 10))
        dense[edges[:, 1], edges[:, 0]] = weights
        assert (dense == round.mixing.numpy()).all() and (weights != 0).all()
        assert (np.diff(edges[:, 1].astype(int)) >= 0).all()

    with_models({**experiment, "topology": "complete"}, look)
    with_models(experiment, look)


def test_trimmed_means_medians_and_deviations(experiment: Experiment) -> None:
    trim = np.array([0, 0, 1, 4])

    def look(models: mf.Stack, rows: NDArray[np.float64], round: mf.Round) -> None:
        lists = [rows[sources] for sources in INTO]
        sorts = [np.sort(numbers, axis=0)[left_out : len(numbers) - left_out] for numbers, left_out in zip(lists, trim, strict=True)]
        trimmed = models.trimmed_means(EDGES, trim, rows=4)
        np.testing.assert_allclose(trimmed.numpy(), [numbers.mean(axis=0) for numbers in sorts], atol=1e-6)
        medians = models.medians(EDGES, rows=4).numpy()
        np.testing.assert_allclose(medians, [np.median(numbers, axis=0) for numbers in lists], atol=1e-6)
        spreads = [numbers.std(axis=0, ddof=1) if len(numbers) > 1 else 0 * rows[0] for numbers in lists]
        np.testing.assert_allclose(models.deviations(EDGES, rows=4).numpy(), spreads, atol=1e-6)
        all_to_all = [(row, to) for to in range(10) for row in range(10)]
        np.testing.assert_allclose(models.trimmed_means(all_to_all, 3).numpy()[7], np.sort(rows, axis=0)[3:7].mean(axis=0), atol=1e-6)

    with_models(experiment, look)


def test_distances_of_pairs_of_rows(experiment: Experiment) -> None:
    def look(models: mf.Stack, rows: NDArray[np.float64], round: mf.Round) -> None:
        pairs = np.array([(0, 1), (9, 9), (5, 2), (0, 1)])
        np.testing.assert_allclose(models.distances(pairs), np.linalg.norm(rows[pairs[:, 0]] - rows[pairs[:, 1]], axis=1), rtol=1e-6)
        mean = models.mean()
        apart = models.distances([(row, 0) for row in range(10)], mean)
        np.testing.assert_allclose(apart, np.linalg.norm(rows - rows.mean(axis=0), axis=1), rtol=1e-5)
        assert models.distances([]).shape == (0,)

    with_models(experiment, look)


@pytest.mark.parametrize("threads", [1, 2])
def test_bits_do_not_depend_on_threads(experiment: Experiment, threads: int) -> None:
    seen: list[bytes] = []

    def do(models: mf.Stack, round: mf.Round) -> None:
        round.train(models)
        lists = [models.medians(EDGES, rows=4), models.deviations(EDGES, rows=4), models.weighted_sums(EDGES, 0.3, rows=4)]
        seen.append(b"".join(bits(stack.numpy()) for stack in lists) + bits(models.distances(EDGES[:5])))

    algorithm = {"own": {"name": "acting", "batch_size": 20, "learning_rate": 0.1}}
    base = {**experiment, "model": {"mlp": {"hidden": [20]}}, "algorithm": algorithm, "sweep": None, "rounds": 1}
    ACTS.append(do)
    try:
        for count in (threads, 3):
            mf.run(base, threads=count, progress=False, again=True)
    finally:
        ACTS.pop()
    assert len(seen) == 2 and seen[0] == seen[1]


def test_the_geometric_median_takes_a_few_lines(experiment: Experiment) -> None:
    """RFA's smoothed Weiszfeld algorithm."""

    def look(models: mf.Stack, rows: NDArray[np.float64], round: mf.Round) -> None:
        edges = np.array([(row, to) for to, sources in enumerate(INTO) for row in sources])
        to = edges[:, 1]
        median = models.medians(edges, rows=4)
        for _ in range(4):
            weights = 1 / np.maximum(1e-6, models.distances(edges, median))
            median = models.weighted_sums(edges, weights / np.bincount(to, weights)[to], rows=4)
        numbers = rows[INTO[3]]
        wanted = np.median(numbers, axis=0)
        for _ in range(4):
            weights = 1 / np.maximum(1e-6, np.linalg.norm(numbers - wanted, axis=1))
            wanted = weights @ numbers / weights.sum()
        np.testing.assert_allclose(median.numpy()[3], wanted, atol=1e-5)

    with_models(experiment, look)


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda m: m.weighted_sums([(10, 0)], 1.0), ValueError, r"weighted_sums: `edges` has \[10, 0\] at 0: row 10 does not exist, needed 0 to 9"),
        (lambda m: m.weighted_sums([(0, 1), (0, 4)], 1.0, rows=4), ValueError, r"has \[0, 4\] at 1: row 4 does not exist, needed 0 to 3"),
        (lambda m: m.weighted_sums([(0, -1)], 1.0), ValueError, "row -1 does not exist"),
        (lambda m: m.weighted_sums([(0, 1)], [1.0, 2.0]), ValueError, r"`weights` is of shape \[2\], needed \[1\]"),
        (lambda m: m.weighted_sums([(0, 1)], float("nan")), ValueError, r"`weights` is nan at \[0\], needed finite numbers"),
        (lambda m: m.weighted_sums([0, 1], 1.0), ValueError, r"needed whole numbers \[E, 2\]"),
        (lambda m: m.medians([(0, 1)], rows=2), ValueError, "medians: row 0 is made of 0 rows, needed at least one"),
        (lambda m: m.deviations([(0, 1)], rows=2), ValueError, "deviations: row 0 is made of 0 rows"),
        (lambda m: m.trimmed_means([(0, 0), (1, 0)], 1, rows=1), ValueError, "row 0 is made of 2 rows, of which 1 are left out at each end"),
        (lambda m: m.trimmed_means([(0, 0)], -1, rows=1), ValueError, "`trim` has a number below 0"),
        (lambda m: m.trimmed_means([(0, 0)], [0, 0], rows=1), ValueError, "`trim` has 2 numbers, needed one for all rows, or one for each of 1"),
        (lambda m: m.trimmed_means([(0, 0)], 0.5, rows=1), TypeError, "`trim` needs whole numbers"),
        (lambda m: m.distances([(0, 3)], m.gather([1, 2])), ValueError, r"distances: `pairs` has \[0, 3\] at 0: row 3 does not exist, needed 0 to 1"),
    ],
)
def test_wrong_arguments_are_told(experiment: Experiment, call: Any, kind: type[Exception], words: str) -> None:
    def do(models: mf.Stack, round: mf.Round) -> None:
        with pytest.raises(kind, match=words):
            call(models)

    act(experiment, do)
