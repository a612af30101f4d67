"""Overlays that are made in Python."""

from __future__ import annotations

import inspect
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from meshfold import _arrays, _digests, _renewal
from meshfold._meshfold import Part


#: The rows, the columns and the values of the entries of a mixing matrix.
_Weights = tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.float64]]


class _Graph(NamedTuple):
    """What links nodes."""

    #: How many nodes there are, if that is known.
    nodes: int | None
    #: `[E, 2]`, from sender to receiver if edges go one way.
    edges: NDArray[np.uint32]
    #: The weights that it brings, if it does.
    weights: _Weights | None

    def is_same(self, other: _Graph) -> bool:
        """Whether edges and weights are those of the other one."""
        mine, its = self._arrays(), other._arrays()
        return all(np.array_equal(a, b) for a, b in zip(mine, its, strict=True))

    def _arrays(self) -> list[NDArray[Any]]:
        return [self.edges, *(self.weights or ())]


def overlay(
    graph: Any,
    *,
    changes: bool = True,
    period: int | None = None,
    weights: bool = False,
    directed: bool | None = None,
    label: str | None = None,
    expected_edges: float | None = None,
    version: str | None = None,
) -> Part:
    """An overlay for `topology`, from a graph or from a function.

    Args:
        graph: a networkx graph whose nodes are 0 to N - 1, a matrix of NumPy or SciPy whose entries off the diagonal are the edges, an
            array of edges `[E, 2]` of whole numbers, or a function that returns one of these. A function of `(round, nodes)`, with rounds
            counted from 1, makes an overlay for each round. Parameters with these names may stand in any order; with other names, the first
            one is the round and the second one the number of nodes. It must always return the same graph for the same round: it is called
            for the first round when the experiment is planned and again when the run begins, and a run that continues from a checkpoint
            calls it once more. It may have two further parameters: `label_counts` is how many training examples of each label each node
            holds, `[N, C]`; `generator` is a NumPy generator, another one for each seed and round. Others need defaults, which are used.
        changes: if false, all rounds have the same overlay, and the function is one of `(nodes)`, with the same further parameters. The
            overlay must be connected; if it is directed, from every node to every other.
        period: after how many rounds the graphs of a function repeat, so that it is called for the rounds 1 to `period` alone. λ of the
            period is then known, as for `periodic`.
        weights: if true, the graph, or what the function returns, is a mixing matrix `W` `[N, N]`, and the overlay brings these weights:
            they hold where neither the configuration names any nor the method has its own, as `push_sum` does. Row `i` has the weights that
            node `i` gives to models, and sums to one to nine digits, or to six in single precision; `W[i, j]` other than zero makes an
            edge, by which `j` sends to `i`. `W` must be symmetric, or `directed`.
        directed: whether models go one way. On a directed overlay an edge `(a, b)` of a graph or an array means that `a` sends to `b`, and so
            does the entry of row `a` and column `b` of a matrix, as in `networkx.to_numpy_array`. What is not directed is taken both ways.
            If absent, a `DiGraph` of networkx is directed, and so is a mixing matrix that is not symmetric; everything else is not: a
            matrix must then be symmetric. For a function that returns directed graphs it must be true.
        label: what the overlay is called in tables and figures; `graph` with a digest if absent.
        expected_edges: about how many edges the overlays of a function have, from which memory is planned; two for each node if absent.
        version: distinguishes overlays with the same label, as part of the id of a run. If absent, it is a digest of the graph, or of
            the function's code and of all that this refers to, except libraries. Give one if the function depends on anything else.

    Raises:
        ValueError: if the graph cannot be used; the message names the node or row at fault. If a function has other parameters.
        TypeError: if it is not clear which parameter of a function is the round and which one the number of nodes.
    """
    version = _digests.version_of(version, "overlay")
    if not isinstance(weights, bool):
        raise TypeError("overlay: `weights` says whether the graph is a mixing matrix, True or False: give the matrix in place of the graph")
    period = _period(period, changes)
    if callable(graph) and not hasattr(graph, "edges"):
        function, places = graph, ("round", "nodes") if changes else ("nodes",)
        wants, by_name = _wants(function, places)
        digest = version or _digests.of_values(graph)
        name = label or f"{getattr(graph, '__name__', 'graph')}-{digest[:6]}"
        one_way = directed is True
        digest += " fixed" * (not changes) + " directed" * one_way + " weights" * weights + ("" if period is None else f" period {period}")
        # By their places alone it would make another overlay.
        digest += " by name" * by_name

        def edges(
            round: int, nodes: int, label_counts: NDArray[np.int64] | None, seed: int | None
        ) -> tuple[NDArray[np.uint32], _Weights | None]:
            more: dict[str, Any] = {}
            if "label_counts" in wants:
                more["label_counts"] = label_counts
            if "generator" in wants:
                more["generator"] = np.random.default_rng(seed)
            given = {"round": round, "nodes": nodes} if changes else {"nodes": nodes}
            graph = function(**given, **more) if by_name else function(*given.values(), **more)
            if not one_way and _is_directed(graph):
                raise ValueError("the function returned a directed graph: give `mf.overlay` the argument `directed=True`")
            found = _weighed(graph, one_way) if weights else _Graph(*_edges(graph, nodes, one_way), None)
            if found.nodes is not None and found.nodes != nodes:
                of_round = f"round {round}: " if changes else ""
                raise ValueError(f"{of_round}the graph has {found.nodes} nodes, but {nodes} are needed")
            if round == 1:
                labels = None if label_counts is None else label_counts.tobytes()
                _expect_same(found, first.setdefault((nodes, labels, seed), found))
            return found.edges, found.weights

        first: dict[tuple[int, bytes | None, int | None], _Graph] = {}

        expected = None if expected_edges is None else float(expected_edges)
        needs = ("label_counts" in wants, "generator" in wants)
        part = Part.overlay_by(name, digest, edges, expected, changes, period, one_way, weights, *needs)
        if version is not None:
            return part
        again = lambda: overlay(  # noqa: E731
            function, changes=changes, period=period, weights=weights, directed=directed, label=label, expected_edges=expected
        )
        return _renewal.renewable(part, edges, lambda: [function], again)
    if not changes:
        raise ValueError("overlay: `changes` is for functions: a graph is the same in all rounds")
    if period is not None:
        raise ValueError("overlay: `period` is for functions: a graph is the same in all rounds")
    if weights:
        return _of_matrix(graph, directed, label, version)
    one_way = _is_directed(graph) if directed is None else directed
    if _is_directed(graph) and not one_way:
        raise ValueError("overlay: found a directed graph and `directed=False`: leave that out, or give `graph.to_undirected()`")
    count, found = _edges(graph, None, one_way)
    nodes = count if count is not None else int(found.max(initial=0)) + 1
    digest = version or _digests.of_arrays(found, np.array([nodes])) + " directed" * one_way
    return Part.overlay(label or f"graph-{digest[:6]}", digest, nodes, found, one_way, None)


def _of_matrix(matrix: Any, directed: bool | None, label: str | None, version: str | None) -> Part:
    """The overlay of a mixing matrix, whose weights it brings."""
    count, edges, entries = _weighed(matrix, directed)
    assert count is not None and entries is not None
    one_way = not _is_symmetric(*entries) if directed is None else directed
    digest = version or _digests.of_arrays(*entries, np.array([count])) + " weights" + " directed" * one_way
    return Part.overlay(label or f"graph-{digest[:6]}", digest, count, edges, one_way, entries)


def _period(period: Any, changes: bool) -> int | None:
    """The rounds of a period, if there is one.

    Raises:
        ValueError: if it is no number of rounds, or the overlay does not change.
    """
    if period is None:
        return None
    if isinstance(period, bool) or not isinstance(period, (int, np.integer)) or period < 1:
        raise ValueError(f"overlay: found the period {period!r}, needed a number of rounds, 1 or more")
    if not changes:
        raise ValueError("overlay: found a `period` and `changes=False`: an overlay that stays has no period; leave one of them out")
    return int(period)


def _weighed(matrix: Any, one_way: bool | None) -> _Graph:
    """The graph of a mixing matrix. It must be symmetric unless it goes `one_way`, or may do so (None)."""
    if hasattr(matrix, "edges"):
        raise ValueError("overlay: found a graph and `weights=True`, needed a mixing matrix [N, N], such as one of NumPy")
    shape, rows, columns, values = _arrays.mixing(matrix, "overlay")
    if one_way is False and not _is_symmetric(rows, columns, values):
        raise ValueError("overlay: the mixing matrix is not symmetric: say `directed=True` if models are to go one way over some edges")
    linked = (rows != columns) & (values != 0)
    pairs = np.stack([columns[linked], rows[linked]], axis=1).astype(np.int64)
    one_way = not _is_symmetric(rows, columns, values) if one_way is None else one_way
    return _Graph(shape[0], _checked(pairs, shape[0], one_way), (rows, columns, values))


def _is_symmetric(rows: NDArray[np.uint32], columns: NDArray[np.uint32], values: NDArray[np.float64]) -> bool:
    """Whether the matrix of these entries is its own transpose, up to rounding."""
    ways = (np.lexsort((columns, rows)), np.lexsort((rows, columns)))
    (here, there), (across, back), (weight, other) = (
        (first[ways[0]], second[ways[1]]) for first, second in ((rows, columns), (columns, rows), (values, values))
    )
    return bool(np.array_equal(here, there) and np.array_equal(across, back) and np.allclose(weight, other, rtol=1e-9, atol=0.0))


def _is_directed(graph: Any) -> bool:
    """Whether this is a directed graph of networkx."""
    return hasattr(graph, "edges") and hasattr(graph, "is_directed") and bool(graph.is_directed())


def _expect_same(found: _Graph, before: _Graph) -> None:
    """Refuses a function that draws its graph anew: a run would not be repeatable, nor go on from a checkpoint."""
    if not found.is_same(before):
        raise ValueError(
            "the function returned another graph for the same round than before: draw from its parameter `generator`, or from one made in it, "
            "such as `np.random.default_rng([7, round])`"
        )


def _wants(function: Any, places: tuple[str, ...]) -> tuple[set[str], bool]:
    """Which of `label_counts` and `generator` the function has as parameters, and whether it gets `places` by name, else in their order.

    Raises:
        ValueError: if it has other parameters, or no room for `places`.
        TypeError: if it is not clear which parameter stands for which of `places`.
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return set(), False
    told = f"overlay: {getattr(function, '__name__', 'the function')}{signature}"
    wants = {"label_counts", "generator"} & set(signature.parameters)
    more = dict.fromkeys(wants)
    in_order, by_name = _binds(signature, *places, **more), _binds(signature, **dict.fromkeys(places), **more)
    if not in_order and not by_name:
        raise ValueError(
            f"{told} is called with {', '.join(places)}, and by name with `label_counts` and `generator` if it has these parameters"
        )
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    first = [each for each in signature.parameters.values() if each.kind in positional][: len(places)]
    # A decorator may take no names, though it shows those of its function.
    if in_order and [each.name for each in first] == list(places):
        return wants, False
    if by_name and (not in_order or set(places) <= set(signature.parameters)):
        return wants, True
    for each, place in zip(first, places):
        is_other = each.name in ("round", "nodes") or each.default is not each.empty
        if each.name != place and is_other:
            raise TypeError(f"{told}: found `{each.replace(annotation=each.empty)}` where it is given {_GIVEN[place]}: {_NEEDED[len(places)]}")
    return wants, False


#: What stands in the places of a function, and what parameters it needs for one or for both.
_GIVEN = {"round": "the round", "nodes": "the number of nodes"}
_NEEDED = {
    1: "with `changes=False` it needs a parameter called `nodes`, or first one of another name, without a default",
    2: "it needs parameters called `round` and `nodes`, in any order, or two of other names, without defaults: first the round, then the "
    "number of nodes",
}


def _binds(signature: inspect.Signature, *places: Any, **names: Any) -> bool:
    """Whether a function with these parameters can be called so."""
    try:
        signature.bind(*places, **names)
    except TypeError:
        return False
    return True


def _edges(graph: Any, nodes: int | None, one_way: bool) -> tuple[int | None, NDArray[np.uint32]]:
    """The number of nodes, or None if the graph does not say it, and its edges `[E, 2]`, from sender to receiver if they go `one_way`."""
    if hasattr(graph, "edges") and hasattr(graph, "number_of_nodes"):
        return _edges_of_networkx(graph, one_way)
    if hasattr(graph, "tocoo"):
        entries = graph.tocoo()
        return _edges_of_matrix(entries.shape, entries.row, entries.col, entries.data, one_way)
    array = _arrays.plain(graph, "overlay: the graph")
    if array.shape == (2, 2) and array.dtype.kind in "iu":
        return _of_two_rows(array, nodes, one_way)
    if array.ndim == 2 and array.shape[1] == 2 and array.dtype.kind in "iu":
        return None, _checked(array, nodes, one_way)
    if array.ndim == 2 and array.shape[0] == array.shape[1]:
        return _edges_of_array(array, one_way)
    if array.size == 0:
        return None, np.empty((0, 2), np.uint32)
    raise ValueError(
        f"overlay: found an array of shape {array.shape}, needed edges [E, 2] of whole numbers or a square matrix"
    )


def _of_two_rows(array: NDArray[Any], nodes: int | None, one_way: bool) -> tuple[int | None, NDArray[np.uint32]]:
    """A matrix of two nodes, or two edges."""
    (first, between), (also, last) = array.tolist()
    may_be_matrix = (one_way or between == also) if nodes is None else nodes == 2
    # Users list no loops and no edge twice.
    are_two = first != between and also != last and {first, between} != {also, last}
    may_be_edges = nodes != 2 and are_two and array.min() >= 0
    if may_be_matrix and may_be_edges:
        raise ValueError(
            f"overlay: {array.tolist()} may be a matrix of two nodes or two edges: give the matrix as floats, or a graph of networkx"
        )
    if may_be_matrix:
        return _edges_of_array(array, one_way)
    return None, _checked(array, nodes, one_way)


def _checked(edges: NDArray[Any], nodes: int | None, one_way: bool) -> NDArray[np.uint32]:
    """`edges` `[E, 2]`, sorted and each once, after a check that all ends are nodes."""
    most = 2**32 if nodes is None else nodes
    wrong = np.flatnonzero((edges.min(axis=1) < 0) | (edges.max(axis=1) >= most))
    if wrong.size > 0:
        first, second = edges[wrong[0]]
        raise ValueError(f"overlay: edge {first}-{second} names a node that does not exist")
    ordered = edges if one_way else np.sort(edges, axis=1)
    return np.ascontiguousarray(np.unique(ordered, axis=0).astype(np.uint32))


def _edges_of_networkx(graph: Any, one_way: bool) -> tuple[int, NDArray[np.uint32]]:
    count = graph.number_of_nodes()
    if set(graph.nodes) != set(range(count)):
        raise ValueError(
            f"overlay: the nodes must be the numbers 0 to {count - 1}: networkx.convert_node_labels_to_integers makes them so"
        )
    pairs = np.array([(a, b) for a, b in graph.edges() if a != b], np.int64).reshape(-1, 2)
    if one_way and not graph.is_directed():
        pairs = np.concatenate([pairs, pairs[:, ::-1]])
    return count, _checked(pairs, count, one_way)


def _edges_of_array(matrix: NDArray[Any], one_way: bool) -> tuple[int, NDArray[np.uint32]]:
    rows, columns = np.nonzero(matrix)
    return _edges_of_matrix(matrix.shape, rows, columns, matrix[rows, columns], one_way)


def _edges_of_matrix(
    shape: tuple[int, ...], rows: Any, columns: Any, values: Any, one_way: bool
) -> tuple[int, NDArray[np.uint32]]:
    if shape[0] != shape[1]:
        raise ValueError(f"overlay: found a matrix of {shape[0]} rows and {shape[1]} columns, needed a square one")
    # It is unclear whether a NaN or an infinity means an edge.
    values = np.asarray(values)
    wrong = np.flatnonzero(~np.isfinite(values)) if values.dtype.kind in "fc" else np.array([])
    if wrong.size > 0:
        at = wrong[0]
        raise ValueError(f"overlay: row {rows[at]}, column {columns[at]} is {values[at]}, needed finite numbers")
    linked = (values != 0) & (np.asarray(rows) != np.asarray(columns))
    pairs = np.stack([np.asarray(rows)[linked], np.asarray(columns)[linked]], axis=1).astype(np.int64)
    if not one_way:
        _expect_symmetric(pairs)
    return shape[0], _checked(pairs, shape[0], one_way)


def _expect_symmetric(pairs: NDArray[np.int64]) -> None:
    there = {(int(a), int(b)) for a, b in pairs}
    for a, b in sorted(there):
        if (b, a) not in there:
            raise ValueError(
                f"overlay: row {a} links column {b}, but row {b} does not link column {a}: if {a} is to send to {b} and not the other way "
                "round, say `directed=True`"
            )
