"""Directed overlays that are made in Python."""

from __future__ import annotations

from typing import Any

import networkx
import numpy as np
import pytest
import scipy.sparse
from acting import Experiment
from numpy.typing import NDArray
from test_own_methods import records, with_algorithm

import meshfold as mf

#: A cycle with a way that is shorter: node 0 sends to 1 and to 4. It is not its own reverse.
ARCS = [(node, (node + 1) % 10) for node in range(10)] + [(0, 4), (7, 2)]
GRAPH = networkx.DiGraph(ARCS)


class PushSum(mf.Method):
    """Stochastic gradient push, as the built-in `push_sum`."""

    name = "my_push_sum"

    def start(self, models: mf.Stack) -> None:
        self.weights = np.ones(models.shape[0])

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        before = models.copy()
        round.train(models)
        models.add_scaled(before, (self.weights - 1).astype(np.float32))
        matrix = np.eye(round.clients)
        for sender, receiver in round.edges:
            matrix[receiver, sender] = 1
        matrix /= matrix.sum(axis=0)
        round.send(models)
        models.mix(matrix)
        # In the order of the engine, so that the bits are the same.
        self.weights = np.array([sum(share * weight for share, weight in zip(row, self.weights) if share) for row in matrix])
        models *= (1 / self.weights).astype(np.float32)


def one(experiment: Experiment, topology: Any, method: str = "dsgd", **more: Any) -> mf.Run:
    # Built-in methods make one local step, unless they are told otherwise.
    base = with_algorithm(experiment, method, local={"steps": 1})
    (run,) = mf.run({**base, "topology": topology, **more}, progress=False)
    assert run.is_finished
    return run


def one_peer(round: int, nodes: int) -> list[tuple[int, int]]:
    hop = 2 ** ((round - 1) % 4)
    return [(node, (node + hop) % nodes) for node in range(nodes)]


@pytest.mark.parametrize("method", ["dsgd", "push_sum", "gradient_tracking", "my_dsgd", "my_push_sum"])
def test_a_function_goes_the_way_of_the_built_in_overlay(experiment: Experiment, method: str) -> None:
    def reverse(round: int, nodes: int) -> list[tuple[int, int]]:
        return [(to, sender) for sender, to in one_peer(round, nodes)]

    def as_graph(round: int, nodes: int) -> networkx.DiGraph:
        graph = networkx.empty_graph(nodes, create_using=networkx.DiGraph)
        graph.add_edges_from(one_peer(round, nodes))
        return graph

    built_in = records(one(experiment, "one_peer", method).folder)
    for function in (one_peer, as_graph):
        assert records(one(experiment, mf.overlay(function, directed=True), method).folder) == built_in
    assert records(one(experiment, mf.overlay(reverse, directed=True), method).folder) != built_in


def test_graphs_of_all_kinds_say_who_sends_to_whom(experiment: Experiment) -> None:
    kinds = [
        GRAPH,
        mf.overlay(GRAPH),
        mf.overlay(networkx.to_numpy_array(GRAPH, nodelist=range(10)), directed=True),
        mf.overlay(scipy.sparse.csr_array(networkx.to_numpy_array(GRAPH, nodelist=range(10))), directed=True),
        mf.overlay(ARCS, directed=True),
    ]
    runs = [one(experiment, kind, "push_sum") for kind in kinds]
    assert len({run.id for run in runs}) == 1, "the digest is that of the edges"
    overlay = runs[0].overlay
    assert overlay is not None and overlay.directed and sorted(map(tuple, overlay.edges.tolist())) == sorted(ARCS)
    reverse = one(experiment, GRAPH.reverse(), "push_sum")
    both_ways = one(experiment, GRAPH.to_undirected(), "push_sum")
    as_directed = one(experiment, mf.overlay(GRAPH.to_undirected(), directed=True), "push_sum")
    assert len({runs[0].id, reverse.id, both_ways.id, as_directed.id}) == 4
    assert records(reverse.folder) != records(runs[0].folder)
    assert records(as_directed.folder) == records(both_ways.folder)


def test_a_method_sees_who_sends_to_whom(experiment: Experiment) -> None:
    seen: dict[str, Any] = {}

    class Hears(mf.Method):
        def round(self, models: mf.Stack, round: mf.Round) -> None:
            before = models.numpy().copy()
            models.mix(round.mixing)
            seen.update(weights=round.mixing.numpy(), edges=round.edges, directed=round.directed, before=before, after=models.numpy())
            round.send(models)

    run = one({**experiment, "start": "independent", "rounds": 1}, GRAPH, "hears", evaluate={"every": 1})
    weights, before, after = seen["weights"], seen["before"], seen["after"]
    assert seen["directed"] and sorted(map(tuple, seen["edges"].tolist())) == sorted(ARCS)
    assert weights[1, 0] == 0.5 and weights[0, 1] == 0, "node 1 hears node 0"
    assert np.flatnonzero(weights[4]).tolist() == [0, 3, 4]
    np.testing.assert_allclose(after[4], before[[0, 3, 4]].mean(axis=0), rtol=1e-5, atol=1e-7)
    assert records(run.folder)[-1]["bytes_total"] == len(ARCS) * 7850 * 4


def test_push_sum_in_python_has_the_bits_of_the_built_in_one(experiment: Experiment) -> None:
    more = {"failures": [{"edges": {"share": 0.2}, "redraw": "each_round"}], "network": {"links": {"fixed": {"bytes_per_second": 1e6}}}}
    assert records(one(experiment, GRAPH, "my_push_sum", **more).folder) == records(one(experiment, GRAPH, "push_sum", **more).folder)


def test_push_sum_tends_to_the_plain_mean_and_uniform_weights_do_not(experiment: Experiment) -> None:
    class Stays(mf.Method):
        def round(self, models: mf.Stack, round: mf.Round) -> None:
            round.send(bytes=0)

    still = {**experiment, "start": "independent", "rounds": 100, "checkpoint": {"every": 100, "keep": True}}

    def after(method: str) -> NDArray[np.float32]:
        algorithm = with_algorithm(still, method, learning_rate=0)["algorithm"]
        (run,) = mf.run({**still, "sweep": None, "algorithm": algorithm, "topology": GRAPH, "evaluate": {"every": 100}}, progress=False)
        return np.asarray(run.models().numpy())

    mean = after("stays").mean(axis=0)
    np.testing.assert_allclose(after("push_sum"), np.broadcast_to(mean, (10, len(mean))), atol=1e-6)
    mixed = after("dsgd")
    np.testing.assert_allclose(mixed, np.broadcast_to(mixed[0], mixed.shape), atol=1e-6)
    assert np.abs(mixed[0] - mean).max() > 1e-3


def uniform() -> NDArray[np.float64]:
    """Row `i` has the weights that node `i` gives to itself and to those that send to it."""
    matrix = np.eye(10) + networkx.to_numpy_array(GRAPH, nodelist=range(10)).T
    return np.asarray(matrix / matrix.sum(axis=1, keepdims=True))


def test_weights_of_a_directed_overlay_are_rows_that_sum_to_one(experiment: Experiment) -> None:
    usual = records(one(experiment, GRAPH).folder)
    assert records(one(experiment, GRAPH, weights=mf.weights(uniform())).folder) == usual
    own = uniform()
    own[4] = 0
    own[4, [0, 4]] = 0.3, 0.7
    assert records(one(experiment, GRAPH, weights=mf.weights(own)).folder) != usual
    failing: dict[str, Any] = {"failures": [{"edges": {"share": 0.2}, "redraw": "each_round"}]}
    assert one(experiment, GRAPH, weights=mf.weights(own), **failing).is_finished
    for wrong, words in [
        (uniform().T / uniform().T.sum(axis=1, keepdims=True), "row 0 has a weight for node 1, which does not send to it"),
        (2 * uniform(), "row 0 sums to 2"),
    ]:
        with pytest.raises(mf.ConfigError, match=words):
            one(experiment, GRAPH, weights=mf.weights(wrong))


def test_what_needs_links_both_ways_is_refused_as_on_built_in_overlays(experiment: Experiment) -> None:
    walks = {"walkers": 2, "hops": 3}
    for method, keys, words in [
        ("d2", {}, "an overlay whose links go both ways"),
        ("dfedrw", walks, "an overlay whose links go both ways, as its walks do"),
        ("d_cliques", {}, "needs a topology with cliques"),
    ]:
        for topology in ("one_peer", mf.overlay(GRAPH), mf.overlay(one_peer, directed=True)):
            refused = {**with_algorithm(experiment, method, **keys), "topology": topology}
            with pytest.raises(mf.ConfigError, match=words):
                mf.run(refused, progress=False)
    for topology in ("one_peer", GRAPH):
        with pytest.raises(mf.ConfigError, match="these weights need undirected edges, the overlay is directed"):
            one(experiment, topology, weights="metropolis_hastings")


def test_a_way_must_lead_from_every_node_to_every_other(experiment: Experiment) -> None:
    chain = networkx.path_graph(10, create_using=networkx.DiGraph)
    with pytest.raises(mf.ConfigError, match="nothing that node 1 sends can reach node 0"):
        one(experiment, chain)
    with pytest.raises(mf.ConfigError, match="connect"):
        one(experiment, networkx.empty_graph(10, create_using=networkx.DiGraph))

    def parts_of_a_chain(round: int, nodes: int) -> list[tuple[int, int]]:
        return [(node, node + 1) for node in range(nodes - 1) if node % 2 == round % 2]

    def parts_of_a_cycle(round: int, nodes: int) -> list[tuple[int, int]]:
        return [(node, (node + 1) % nodes) for node in range(nodes) if node % 2 == round % 2]

    with pytest.warns(mf.MeshfoldWarning, match="do not connect the clients.*no path there and back links client 1 with client 0"):
        one(experiment, mf.overlay(parts_of_a_chain, directed=True))
    with pytest.warns(mf.MeshfoldWarning, match="the first 2 rounds together do"):
        one(experiment, mf.overlay(parts_of_a_cycle, directed=True))


def test_what_is_directed_must_say_so(experiment: Experiment) -> None:
    with pytest.raises(mf.ConfigError, match="the function returned a directed graph: give `mf.overlay` the argument `directed=True`"):
        one(experiment, mf.overlay(lambda round, nodes: GRAPH, label="mine"))
    for graph, directed, words in [
        (GRAPH, False, "found a directed graph and `directed=False`"),
        (networkx.to_numpy_array(GRAPH), None, "if 0 is to send to 1 and not the other way round, say `directed=True`"),
        ([[0, 1], [2, 0]], True, "may be a matrix of two nodes or two edges"),
        (np.array([[0, 1], [1, 3], [3, -1]]), True, "edge 3--1 names a node that does not exist"),
    ]:
        with pytest.raises(ValueError, match=words):
            mf.overlay(graph, directed=directed)


def test_a_version_tells_directed_functions_apart() -> None:
    parts = [mf.overlay(one_peer, version="1"), mf.overlay(one_peer, version="1", directed=True)]
    assert len({part.version for part in parts}) == 2
