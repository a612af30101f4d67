"""Overlays that bring mixing weights of their own, and overlays of functions that repeat."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from acting import Experiment
from numpy.typing import NDArray
from test_own_methods import records_of

import meshfold as mf


@pytest.fixture(name="alone")
def one_run(experiment: Experiment) -> Experiment:
    """One of the runs."""
    return {key: value for key, value in experiment.items() if key != "sweep"}


def lazy_ring(round: int, nodes: int) -> NDArray[np.float64]:
    """A ring whose weights grow with the round."""
    share = 0.1 * round
    shifts = np.eye(nodes)[(np.arange(nodes) + 1) % nodes]
    matrix: NDArray[np.float64] = (1 - 2 * share) * np.eye(nodes) + share * (shifts + shifts.T)
    return matrix


def one_way(round: int, nodes: int) -> NDArray[np.float64]:
    """Node i hears the one `round` places further on."""
    matrix: NDArray[np.float64] = 0.75 * np.eye(nodes) + 0.25 * np.eye(nodes)[(np.arange(nodes) + round) % nodes]
    return matrix


def test_a_matrix_is_an_overlay_with_its_weights(alone: Experiment) -> None:
    matrix = lazy_ring(3, 10)
    brought = records_of({**alone, "topology": mf.overlay(matrix, weights=True)})
    apart = records_of({**alone, "topology": "ring", "weights": mf.weights(matrix)})
    assert brought == apart
    usual = records_of({**alone, "topology": "ring"})
    assert brought != usual
    replaced = {**alone, "topology": mf.overlay(matrix, weights=True), "weights": "metropolis_hastings"}
    assert records_of(replaced) == usual


def test_each_round_has_the_matrix_of_the_function(alone: Experiment) -> None:
    seen: list[Any] = []

    class WatchingWeights(mf.Method):
        """Mixes, and keeps the weights that it has seen."""

        def round(self, models: mf.Stack, round: mf.Round) -> None:
            models.mix(round.mixing)
            assert round.mixing is not None
            seen.append(round.mixing.numpy())

    for function, directed in [(lazy_ring, False), (one_way, True)]:
        seen.clear()
        topology = mf.overlay(function, weights=True, directed=directed)
        methods = {"own": {"name": "watching_weights", "batch_size": 10, "learning_rate": 0.1}}
        mf.run({**alone, "topology": topology, "algorithm": methods, "rounds": 3}, progress=False)
        for number, found in enumerate(seen, start=1):
            np.testing.assert_allclose(found, function(number, 10), atol=1e-7)
        assert len(seen) == 3


def test_a_period_is_that_of_the_function(alone: Experiment) -> None:
    asked: set[int] = set()

    def hypercube(round: int, nodes: int) -> NDArray[np.float64]:
        asked.add(round)
        matrix: NDArray[np.float64] = 0.5 * np.eye(nodes) + 0.5 * np.eye(nodes)[np.arange(nodes) ^ 2 ** (round - 1)]
        return matrix

    several = {
        **alone,
        "partition": {"iid": {"clients": 8}},
        "topology": mf.overlay(hypercube, weights=True, period=3, version="1"),
        "rounds": 7,
    }
    assert mf.plan(several).to_polars()["lambda"].to_list() == [0.0]
    [run] = mf.run(several, progress=False)
    assert asked == {1, 2, 3}
    overlay = run.overlay
    assert overlay is not None and len(overlay.edges) == 4


def test_a_matrix_that_is_not_symmetric_goes_one_way(alone: Experiment) -> None:
    matrix = one_way(1, 10)
    brought = records_of({**alone, "topology": mf.overlay(matrix, weights=True)})
    arcs = [((node + 1) % 10, node) for node in range(10)]
    apart = {**alone, "topology": mf.overlay(arcs, directed=True), "weights": mf.weights(matrix)}
    assert brought == records_of(apart)


def test_single_precision_is_precise_enough(alone: Experiment) -> None:
    third = np.full(3, 1 / 3, np.float32)
    single = np.zeros((10, 10), np.float32)
    for node in range(10):
        single[node, [node, (node + 1) % 10, node - 1]] = third
    assert abs(float(single.astype(np.float64).sum(axis=1)[0]) - 1) > 1e-9
    brought = records_of({**alone, "topology": mf.overlay(single, weights=True)})
    apart = records_of({**alone, "topology": "ring", "weights": mf.weights(single)})
    assert brought == apart
    with pytest.raises(mf.ConfigError, match="row 0 sums to 1.1"):
        mf.plan({**alone, "topology": mf.overlay(single * np.float32(1.1), weights=True)})


def test_a_mistake_in_a_later_round_of_a_period_names_it(alone: Experiment) -> None:
    def grows(round: int, nodes: int) -> NDArray[np.float64]:
        return (1.0 if round < 3 else 1.2) * lazy_ring(1, nodes)

    with pytest.raises(mf.ConfigError, match=r"round 3: .*row 0 sums to 1\.2"):
        mf.plan({**alone, "topology": mf.overlay(grows, weights=True, period=np.int64(4))})  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="give the matrix in place of the graph"):
        mf.overlay("ring", weights=lazy_ring(1, 4))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda: mf.overlay(one_way(1, 4), weights=True, directed=False), "is not symmetric: say `directed=True`"),
        (lambda: mf.overlay(np.ones((3, 4)), weights=True), "found 3 rows and 4 columns"),
        (lambda: mf.overlay(lazy_ring(1, 4), period=2), "`period` is for functions"),
        (lambda: mf.overlay(lazy_ring, period=0), "found the period 0, needed a number of rounds, 1 or more"),
        (lambda: mf.overlay(lambda nodes: lazy_ring(1, nodes), changes=False, period=2), "has no period"),
    ],
)
def test_what_is_no_overlay_is_refused(made: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said.replace("(", r"\(")):
        made()


def test_mistakes_of_matrices_are_told_when_the_experiment_is_planned(alone: Experiment) -> None:
    def heavy(round: int, nodes: int) -> NDArray[np.float64]:
        return 1.1 * lazy_ring(round, nodes)

    for topology, said in [
        (mf.overlay(heavy, weights=True), "row 0 sums to 1.1"),
        (mf.overlay(one_way, weights=True), "is not symmetric: say `directed=True`"),
        (mf.overlay(lambda round, nodes: lazy_ring(round, 4), weights=True), "round 1: the graph has 4 nodes, but 10 are needed"),
    ]:
        with pytest.raises(mf.ConfigError, match=said):
            mf.plan({**alone, "topology": topology})
