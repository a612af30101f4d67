"""Overlays that are functions in Python."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
from acting import Experiment
from numpy.typing import NDArray
from test_own_methods import records_of, with_algorithm

import meshfold as mf


def cliques(nodes: int, label_counts: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Every node with the next that holds most of another label, in a ring besides."""
    most = label_counts.argmax(axis=1)
    ring = [(node, (node + 1) % nodes) for node in range(nodes)]
    return ring + [(a, b) for a in range(nodes) for b in range(a) if most[a] != most[b] and (a + b) % 3 == 0]


def test_an_overlay_may_go_by_the_labels_of_its_nodes(experiment: Experiment) -> None:
    several = {
        **experiment,
        "topology": mf.overlay(cliques, changes=False),
        "sweep": {"grid": {"seed": [1, 2]}},
        "rounds": 2,
    }
    runs = mf.run(several, progress=False)
    found = []
    for run in runs:
        held, overlay = run.partition, run.overlay
        assert held is not None and held.labels is not None and overlay is not None
        wanted = cliques(10, held.labels.astype(np.int64))
        edges = {tuple(sorted(edge)) for edge in overlay.edges.tolist()}
        assert edges == {tuple(sorted(edge)) for edge in wanted}
        found.append(edges)
    assert found[0] != found[1], "the seeds deal other labels"


def test_overlays_of_each_round_may_go_by_labels_too(experiment: Experiment) -> None:
    seen: list[Any] = []

    def each(round: int, nodes: int, label_counts: NDArray[np.int64]) -> list[tuple[int, int]]:
        seen.append((round, label_counts.sum(), label_counts.shape))
        return [(node, (node + round) % nodes) for node in range(nodes)]

    records_of({**with_algorithm(experiment, "my_dsgd"), "topology": mf.overlay(each, version="1"), "rounds": 3})
    assert {round for round, _, _ in seen} == {1, 2, 3}
    assert all(total == 600 and shape == (10, 10) for _, total, shape in seen)


def test_an_overlay_may_be_drawn_by_the_seed(experiment: Experiment) -> None:
    def drawn(nodes: int, generator: np.random.Generator) -> list[tuple[int, int]]:
        return [(node, int(generator.integers(node))) for node in range(1, nodes)]

    def of_round(round: int, nodes: int, generator: np.random.Generator) -> list[tuple[int, int]]:
        return drawn(nodes, generator)

    def edges(part: mf.Part, **more: Any) -> list[list[list[int]]]:
        runs = mf.run({**experiment, "topology": part, "sweep": {"grid": {"seed": [1, 2]}}, "rounds": 2, **more}, progress=False, again=True)
        return [run.overlay.edges.tolist() for run in runs if run.overlay is not None]

    fixed = mf.overlay(drawn, changes=False)
    first, second = edges(fixed)
    assert first != second and [first, second] == edges(fixed)
    # The seed of the overlay alone decides.
    same = edges(fixed, seeds={"topology": 5})
    assert same[0] == same[1]
    first, second = edges(mf.overlay(of_round))
    assert first != second


@pytest.mark.parametrize(
    ("function", "changes"),
    [
        (lambda nodes, seed: [], False),
        (lambda nodes: [], True),
        (lambda round, nodes: [], False),
        (lambda round, nodes, more: [], True),
    ],
)
def test_an_overlay_of_other_parameters_is_refused(function: Any, changes: bool) -> None:
    called = "is called with round, nodes, and" if changes else "is called with nodes, and"
    with pytest.raises(ValueError, match=f"{called} by name with `label_counts` and `generator` if it has these parameters"):
        mf.overlay(function, changes=changes)


def ring_of(nodes: int) -> list[tuple[int, int]]:
    return [(node, (node + 1) % nodes) for node in range(nodes)]


@pytest.mark.parametrize(
    "wrap",
    [
        lambda seen: lambda round, nodes: seen(round, nodes),
        lambda seen: lambda nodes, round: seen(round, nodes),
        lambda seen: lambda nodes, generator, round, label_counts: seen(round, nodes),
        lambda seen: lambda label_counts, round, nodes: seen(round, nodes),
        lambda seen: lambda nodes, degree=4, round=1: seen(round, nodes),
        lambda seen: lambda t, count: seen(t, count),
        lambda seen: lambda t, nodes: seen(t, nodes),
        lambda seen: lambda *places: seen(*places),
        lambda seen: lambda **names: seen(**names),
        lambda seen: lambda nodes, **names: seen(names["round"], nodes),
        lambda seen: functools.partial(lambda degree, nodes, round: seen(round, nodes), 4),
        lambda seen: functools.wraps(ring_of_round)(lambda *places: seen(*places)),
    ],
)
def test_an_overlay_gets_round_and_nodes_by_their_names_or_in_this_order(experiment: Experiment, wrap: Any) -> None:
    calls: list[tuple[int, int]] = []

    def seen(round: int, nodes: int) -> list[tuple[int, int]]:
        calls.append((round, nodes))
        return ring_of(nodes)

    records_of({**with_algorithm(experiment, "dsgd"), "topology": mf.overlay(wrap(seen), version="1"), "rounds": 2})
    assert set(calls) == {(1, 10), (2, 10)}


def ring_of_round(round: int, nodes: int) -> list[tuple[int, int]]:
    return ring_of(nodes)


def nodes_first(nodes: int, round: int, /) -> list[tuple[int, int]]:
    return ring_of(nodes)


@pytest.mark.parametrize(
    ("function", "changes", "words"),
    [
        (lambda nodes, t: [], True, r"<lambda>\(nodes, t\): found `nodes` where it is given the round: it needs parameters called `round` and"),
        (lambda t, round: [], True, "found `round` where it is given the number of nodes: .*, in any order, or two of other names"),
        (lambda nodes, degree=4: [], True, "found `nodes` where it is given the round"),
        (lambda round, degree=4: [], True, "found `degree=4` where it is given the number of nodes"),
        (lambda t, degree=4: [], True, "found `degree=4` where it is given the number of nodes"),
        (lambda nodes, *more: [], True, "found `nodes` where it is given the round"),
        (nodes_first, True, r"nodes_first\(nodes.*found `nodes` where it is given the round"),
        (lambda round: [], False, "found `round` where it is given the number of nodes: with `changes=False` it needs a parameter called `nodes`"),
        (lambda degree=4: [], False, "found `degree=4` where it is given the number of nodes"),
    ],
)
def test_an_overlay_whose_parameters_are_not_clear_is_refused(function: Any, changes: bool, words: str) -> None:
    with pytest.raises(TypeError, match=words):
        mf.overlay(function, changes=changes)


def test_an_overlay_that_stays_is_asked_once_and_must_be_connected(experiment: Experiment) -> None:
    calls: list[int] = []

    def ring(nodes: int) -> list[tuple[int, int]]:
        calls.append(nodes)
        return [(node, (node + 1) % nodes) for node in range(nodes)]

    base = with_algorithm(experiment, "dsgd")
    mine = records_of({**base, "topology": mf.overlay(ring, changes=False, version="1"), "rounds": 4})
    assert calls == [10]
    assert mine == records_of({**base, "rounds": 4})
    apart = mf.overlay(lambda nodes: [(0, 1)], changes=False, version="1")
    with pytest.raises(mf.ConfigError, match="connected"):
        mf.run({**base, "topology": apart}, progress=False)
    with pytest.raises(ValueError, match="`changes` is for functions"):
        mf.overlay(np.ones((3, 3)), changes=False)


@pytest.mark.parametrize("changes", [True, False])
def test_an_overlay_that_is_drawn_anew_is_refused(experiment: Experiment, changes: bool) -> None:
    draws = np.random.default_rng(1)

    def drawn(*place: int) -> list[tuple[int, int]]:
        return [(node, int(draws.integers(node))) for node in range(1, place[-1])]

    anew = {**with_algorithm(experiment, "dsgd"), "topology": mf.overlay(drawn, changes=changes, version="1")}
    with pytest.raises((mf.ConfigError, mf.RunFailed), match="returned another graph for the same round"):
        for _ in range(2):
            mf.run(anew, progress=False, again=True)

    def seeded(*place: int) -> list[tuple[int, int]]:
        draws = np.random.default_rng(7)
        return [(node, int(draws.integers(node))) for node in range(1, place[-1])]

    fine = {**anew, "topology": mf.overlay(seeded, changes=changes, version="1")}
    assert len(mf.run(fine, progress=False, again=True)) == 1
