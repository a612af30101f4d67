"""Overlays, weights, partitions and datasets that are made in Python."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pandas
import pytest
import scipy.sparse
from acting import act

import meshfold as mf
from meshfold._arrays import numbers

Experiment = dict[str, Any]


def one(experiment: Experiment, **parts: Any) -> mf.Run:
    (run,) = mf.run({**experiment, "sweep": None, **parts}, progress=False)
    assert run.is_finished
    return run


def figures(run: mf.Run) -> list[list[Any]]:
    table = run_table(run)
    names = ["round", "test_accuracy", "consensus_distance", "bytes_total"]
    return [table[name].to_list() for name in names]


def run_table(run: mf.Run) -> Any:
    return mf.read(run.folder).metrics().to_polars()


def test_overlays_of_all_kinds_are_the_ring(experiment: Experiment) -> None:
    built_in = figures(one(experiment, topology="ring"))
    ring = networkx.cycle_graph(10)
    edges = np.array([[node, (node + 1) % 10] for node in range(10)])
    kinds = [
        ring,
        mf.overlay(ring),
        mf.overlay(networkx.to_numpy_array(ring)),
        mf.overlay(networkx.to_scipy_sparse_array(ring)),
        mf.overlay(edges),
    ]
    ids = set()
    for kind in kinds:
        run = one(experiment, topology=kind)
        ids.add(run.id)
        assert figures(run) == built_in
    assert len(ids) == 1, "the digest is that of the edges"


def test_an_overlay_may_be_a_function_of_the_round(experiment: Experiment) -> None:
    def matching(round: int, nodes: int) -> networkx.Graph:
        graph = networkx.empty_graph(nodes)
        offset = round % 2
        graph.add_edges_from((node, (node + 1) % nodes) for node in range(offset, nodes, 2))
        return graph

    run = one(experiment, topology=mf.overlay(matching, label="matchings"), rounds=4)
    assert figures(run)[-1][-1] == 4 * 10 * 7850 * 4

    def broken(round: int, nodes: int) -> networkx.Graph:
        if round > 2:
            raise RuntimeError("no more graphs")
        return networkx.cycle_graph(nodes)

    with pytest.raises(mf.RunFailed, match="(?s)in round 3: broken-.*no more graphs"):
        one(experiment, topology=mf.overlay(broken), rounds=4)

    def to_itself(round: int, nodes: int) -> Any:
        return np.array([[4, 4]]) if round == 2 else networkx.cycle_graph(nodes)

    with pytest.raises(mf.RunFailed, match="in round 2: loops: .*4"):
        one(experiment, topology=mf.overlay(to_itself, label="loops"), rounds=4)


def test_graphs_that_cannot_be_used_are_told(experiment: Experiment) -> None:
    for graph, words in [
        (networkx.relabel_nodes(networkx.cycle_graph(3), {0: "a"}), "the nodes must be the numbers 0 to 2"),
        (np.array([[0, 1, 0], [0, 0, 0], [0, 0, 0]]), "row 0 links column 1, but row 1 does not"),
        (np.zeros((2, 3)), "needed edges"),
        (np.array([[0, 1], [1, 2], [2, -1]]), "edge 2--1 names a node that does not exist"),
    ]:
        with pytest.raises(ValueError, match=words):
            mf.overlay(graph)
    with pytest.raises(mf.ConfigError, match="10 are needed"):
        one(experiment, topology=networkx.cycle_graph(9))
    with pytest.raises(mf.ConfigError, match="connect"):
        one(experiment, topology=networkx.empty_graph(10))


def ring_weights() -> np.ndarray[Any, Any]:
    matrix = np.zeros((10, 10))
    for node in range(10):
        matrix[node, [node - 1, node, (node + 1) % 10]] = 1 / 3
    return matrix


def test_weights_are_a_matrix(experiment: Experiment) -> None:
    built_in = figures(one(experiment, topology="ring"))
    for matrix in (ring_weights(), scipy.sparse.csr_array(ring_weights())):
        assert figures(one(experiment, topology="ring", weights=mf.weights(matrix))) == built_in
    heavy = ring_weights()
    heavy[4, 4] += 0.1
    with pytest.raises(mf.ConfigError, match="row 4 sums to 1.1"):
        one(experiment, topology="ring", weights=mf.weights(heavy))
    far = ring_weights()
    far[0, 5] = far[5, 0] = 0.1
    far[0, 0] -= 0.1
    far[5, 5] -= 0.1
    with pytest.raises(mf.ConfigError, match="row 0 has a weight for node 5"):
        one(experiment, topology="ring", weights=mf.weights(far))
    uneven = ring_weights()
    uneven[0, 1] += 0.1
    uneven[0, 0] -= 0.1
    with pytest.raises(mf.ConfigError, match="do not balance"):
        one(experiment, topology="ring", weights=mf.weights(uneven))
    missing = ring_weights()
    missing[2, 3] = np.nan
    with pytest.raises(ValueError, match="row 2, column 3 is nan"):
        mf.weights(missing)


def test_partitions_are_lists_or_a_function(experiment: Experiment) -> None:
    lists = [np.arange(client, 600, 10) for client in range(10)]
    run = one(experiment, partition=mf.partition(lists, label="turns"))
    assert run.partition is not None

    def by_label(labels: Any, classes: int, generator: np.random.Generator) -> list[Any]:
        assert classes == 10 and len(labels) == 600
        order = generator.permutation(len(labels))
        return [order[labels[order] == label] for label in range(classes)]

    first = one(experiment, partition=mf.partition(by_label))
    assert figures(first) != figures(run)
    with pytest.raises(mf.ConfigError, match="example 0 is given twice"):
        one(experiment, partition=mf.partition([[0, 1], [0, 2]]))
    with pytest.raises(mf.ConfigError, match="client 1 is given example 600 of 600"):
        one(experiment, partition=mf.partition([[0, 1], [600]]), topology="complete")
    with pytest.raises(ValueError, match=r"client 1: found an array of shape \[1\] and type float64, needed a list of whole numbers"):
        mf.partition([[0], [0.5]])


def test_data_are_arrays(experiment: Experiment) -> None:
    draws = np.random.default_rng(1)
    y = np.arange(400) % 4
    x = (np.eye(4)[y] + 0.1 * draws.standard_normal((400, 4))).astype(np.float32)
    arrays = mf.dataset(x, y, x[:100], y[:100], label="corners")
    run = one(experiment, dataset=arrays, partition={"iid": {"clients": 10}}, rounds=30)
    assert figures(run)[1][-1] > 0.9
    images = (255 * draws.random((200, 3, 8, 8))).astype(np.uint8)
    coloured = mf.dataset(images, np.arange(200) % 2, images, np.arange(200) % 2)
    one(experiment, dataset=coloured, partition={"iid": {"clients": 10}})
    owned = mf.dataset(x, y, x, y, owner=np.arange(400) // 40)
    assert owned.name != arrays.name
    for arguments, words in [
        ((x, y[:-1], x, y), r"y has the shape \(399,\), needed \[400\]"),
        ((x, y, x[:, :3], y), "x_test is"),
        ((x, y - 1, x, y), "whole numbers from 0"),
        ((np.full_like(x, np.nan), y, x, y), "example 0 of x has a feature that is not finite"),
        ((x[0], y, x, y), r"x has the shape \(4,\)"),
        ((x.astype(str), y, x, y), "needed bytes or numbers"),
    ]:
        with pytest.raises(ValueError, match=words):
            mf.dataset(*arguments)


def test_parts_may_be_swept(experiment: Experiment) -> None:
    graphs = [networkx.cycle_graph(10), networkx.complete_graph(10)]
    runs = mf.run({**experiment, "sweep": {"grid": {"topology": graphs}}}, progress=False)
    assert len({run.id for run in runs}) == 2
    assert all(run.label.startswith("topology=graph-") for run in runs)


class OnGpu:
    """An array that is not in the memory of the processor."""

    device = "cuda:0"


@pytest.mark.parametrize(
    ("made", "name"),
    [
        (lambda x, y, gpu: mf.dataset(gpu, y, x, y), "dataset: x"),
        (lambda x, y, gpu: mf.dataset(x, y, x, gpu), "dataset: y_test"),
        (lambda x, y, gpu: mf.partition([[0], gpu]), "partition: client 1"),
        (lambda x, y, gpu: mf.weights(gpu), "weights: the matrix"),
        (lambda x, y, gpu: mf.overlay(gpu), "overlay: the graph"),
        (lambda x, y, gpu: numbers(gpu, "the step"), "the step"),
    ],
)
def test_arrays_on_another_device_are_told_by_their_names(made: Any, name: str) -> None:
    x, y = np.zeros((4, 2), np.float32), np.zeros(4, int)
    with pytest.raises(ValueError, match=f"{name} is on the device cuda:0, needed the processor"):
        made(x, y, OnGpu())


def test_numbers_that_are_not_finite_are_told_with_their_place() -> None:
    with pytest.raises(ValueError, match=r"the step is nan at \[1, 0\], needed finite numbers"):
        numbers(np.array([[0.0], [np.nan]]), "the step")


def clouds(shift: float = 0.0) -> tuple[Any, Any]:
    y = np.arange(400) % 4
    return (np.eye(4)[y] + shift + 0.1 * np.random.default_rng(1).standard_normal((400, 4))).astype(np.float32), y


def test_owners_of_arrays_become_clients(experiment: Experiment) -> None:
    x, y = clouds()
    owner = np.repeat([3, 7, 9], [100, 250, 50])
    data = mf.dataset(x, y, x[:100], y[:100], owner=owner)
    writers = one(experiment, dataset=data, partition="by_writer", topology="ring")
    lists = mf.partition([np.flatnonzero(owner == each) for each in (3, 7, 9)])
    held = writers.partition
    assert held is not None and held.examples.tolist() == [100, 250, 50]
    assert figures(writers) == figures(one(experiment, dataset=data, partition=lists, topology="ring"))
    named = mf.dataset(x, y, x[:100], y[:100], owner=owner, owner_test=np.repeat([3, 9], 50))
    assert figures(one(experiment, dataset=named, partition="by_writer", topology="ring")) == figures(writers)
    two = one(experiment, dataset=data, partition={"by_writer": {"clients": 2}}, topology="complete")
    assert two.partition is not None and sorted(two.partition.examples.tolist())[1] >= 250
    with pytest.raises(mf.ConfigError, match="writer"):
        one(experiment, dataset=mf.dataset(x, y, x, y), partition="by_writer", topology="ring")
    with pytest.raises(ValueError, match="owner_test is given, but not owner"):
        mf.dataset(x, y, x, y, owner_test=y)


def test_clients_are_judged_on_the_test_examples_of_their_owners(experiment: Experiment) -> None:
    x, y = clouds()
    owner, owner_test = np.repeat([3, 7, 9, 4], 100), np.array([9] * 30 + [3] * 20 + [5] * 10 + [4, 3] * 20)
    data = mf.dataset(x, y, x[:100], y[:100], owner=owner, owner_test=owner_test)
    mine: Experiment = {"partition": "by_writer", "topology": "ring", "model": "logistic", "evaluate": {"local_test": "owners"}}
    run = one(experiment, dataset=data, **mine)
    held = run.partition
    assert held is not None and held.examples.tolist() == [100] * 4, "nothing is taken out of training"
    clients = run.clients().to_pandas()
    last = clients[clients["round"] == clients["round"].max()].sort_values("row")
    sizes = last["local_test_examples"].to_numpy()
    assert sizes.tolist() == [40, 20, 0, 30], "of the owners 3, 4, 7 and 9"
    accuracies = last["local_test_accuracy"].to_numpy()
    assert np.isnan(accuracies).tolist() == [False, False, True, False]
    metrics = run.metrics().to_pandas().iloc[-1]
    assert metrics["local_test_accuracy"] == pytest.approx(np.nanmean(accuracies))
    there = sizes > 0
    assert metrics["local_test_accuracy.weighted"] == pytest.approx(np.average(accuracies[there], weights=sizes[there]))

    unnamed = mf.dataset(x, y, x[:100], y[:100], owner=owner)
    with pytest.raises(mf.ConfigError, match="needed a dataset that names the owners of its test examples"):
        one(experiment, dataset=unnamed, **mine)
    # Parts that keep the examples of an owner together deal by owner, others do not.
    lists = mf.partition([np.arange(100, 300), np.r_[0:100, 300:400]])
    two = one(experiment, dataset=data, **{**mine, "partition": lists}).clients().to_pandas()
    assert two["local_test_examples"].tolist()[-2:] == [30, 60]
    split = mf.partition([np.arange(150), np.arange(150, 400)])
    with pytest.raises(mf.ConfigError, match="owner 7 has training examples with client 0 and with client 1"):
        one(experiment, dataset=data, **{**mine, "partition": split})


def test_the_last_examples_of_arrays_are_kept_apart_for_validation(experiment: Experiment) -> None:
    x, y = clouds()
    y = np.concatenate([y[:300], np.roll(y[300:], 1)])
    owner = np.repeat([3, 7, 9], [100, 200, 100])
    held = mf.dataset(x, y, x[:100], y[:100], validation=100, owner=owner, classes=4)
    fewer = mf.dataset(x[:300], y[:300], x[:100], y[:100], owner=owner[:300], classes=4)
    for partition in ("by_writer", {"iid": {"clients": 3}}):
        assert figures(one(experiment, dataset=held, partition=partition)) == figures(one(experiment, dataset=fewer, partition=partition))

    def look(models: mf.Stack, round: mf.Round) -> None:
        kept = round.examples(on="validation")
        assert kept.labels.tolist() == [y[300:].tolist()] and kept.on == "validation"
        rows = models.numpy()
        weight, bias = rows[:, :16].reshape(-1, 4, 4), rows[:, None, 16:]
        assert np.allclose(round.outputs(models, kept), x[300:] @ weight + bias, rtol=0, atol=1e-6)
        assert round.evaluate(models, on="validation")[0].shape == (round.clients,)

    act(experiment, look, dataset=held, partition="by_writer")
    with pytest.raises(mf.RunFailed, match="keep some apart by `validation`"):
        act(experiment, look, dataset=fewer, partition="by_writer")
    assert held.version != mf.dataset(x, y, x[:100], y[:100], owner=owner, classes=4).version
    for wrong, kind in ((400, ValueError), (-1, ValueError), (0.25, TypeError), (True, TypeError)):
        with pytest.raises(kind, match="dataset: validation is"):
            mf.dataset(x, y, x, y, validation=wrong)  # type: ignore[arg-type]


def test_parts_of_one_label_are_told_apart_in_a_sweep(experiment: Experiment) -> None:
    x, y = clouds()
    graphs = [networkx.cycle_graph(10), networkx.complete_graph(10), networkx.circulant_graph(10, [1, 2])]
    owners = [np.arange(400) % 10, np.arange(400) // 40, (np.arange(400) // 4) % 10]
    sweeps = {
        "topology": [mf.overlay(graph, label="mine") for graph in graphs],
        "dataset": [mf.dataset(x, y, x, y, owner=owner, label="mine") for owner in owners],
        "weights": [mf.weights((1 - lazy) * ring_weights() + lazy * np.eye(10), label="mine") for lazy in (0.0, 0.2, 0.4)],
        "partition": [mf.partition([np.flatnonzero(owner == each) for each in range(10)], label="mine") for owner in owners],
    }
    base = {**experiment, "dataset": sweeps["dataset"][0], "partition": "by_writer", "rounds": 3}
    for path, parts in sweeps.items():
        together = mf.run({**base, "name": "together", "sweep": {"grid": {path: parts}}}, progress=False)
        assert len({run.label for run in together}) == len({run.id for run in together}) == 3, path
        for run, part in zip(together, parts, strict=True):
            alone = one({**base, "name": "alone", path: part})
            assert alone.id == run.id and figures(alone) == figures(run), path


def test_tables_call_parts_by_their_labels(experiment: Experiment) -> None:
    ring, full, chord = networkx.cycle_graph(10), networkx.complete_graph(10), networkx.circulant_graph(10, [1, 3])
    parts = [mf.overlay(ring, label="mine"), mf.overlay(full, label="twice"), mf.overlay(chord, label="twice")]
    runs = mf.run({**experiment, "rounds": 1, "sweep": {"grid": {"topology": ["star", *parts]}}}, progress=False)
    metrics = runs.metrics()
    called = dict.fromkeys(metrics.to_polars()["topology"].to_list())
    assert list(called) == ["star", "mine", *(f"twice {part.version[:6]}" for part in parts[1:])]
    assert not any(name.startswith("topology.") for name in metrics.column_names)


def test_a_part_in_the_wrong_place_and_what_is_no_yaml_are_told_with_their_keys(experiment: Experiment) -> None:
    ring = mf.overlay(networkx.cycle_graph(10), label="mine")
    for key, value in [("partition", ring), ("sweep", {"grid": {"partition": [ring]}})]:
        with pytest.raises(mf.ConfigError, match="found the overlay `mine`, which belongs to the key `topology`") as raised:
            mf.run({**experiment, key: value})
        assert raised.value.path in ("partition", "sweep.grid.partition.0")

    class Named(mf.Method):
        pass

    for method in (Named, {"own": {"name": Named}}, Named()):
        with pytest.raises(TypeError, match="algorithm.*: found the method Named, needed its name: .*'named'"):
            mf.run({**experiment, "algorithm": method})
    with pytest.raises(TypeError, match="no YAML: algorithm: found the key .*Named.*, needed 'own': {'name': 'named', ...}"):
        mf.run({**experiment, "algorithm": {Named: {}}})
    with pytest.raises(TypeError, match="no YAML: found the key None, needed text"):
        mf.run({**experiment, None: 1})  # type: ignore[dict-item]
    with pytest.raises(TypeError, match="no YAML: dataset.glyphs: found set, needed text"):
        mf.run({**experiment, "dataset": {"glyphs": {1}}})
    assert not Path("runs").exists()


def test_paths_ranges_and_arrays_are_taken(experiment: Experiment) -> None:
    Path("data.csv").write_text("a,label\n" + "".join(f"{place},{place % 2}\n" for place in range(200)))
    csv = {"csv": {"file": Path("data.csv"), "label": "label"}}
    sweep = {"grid": {"seed": range(1, 3), "algorithm.dsgd.learning_rate": np.array([0.1, 0.2])}}
    runs = mf.run({**experiment, "dataset": csv, "sweep": sweep, "rounds": np.int64(1)}, progress=False)
    assert [run.settings["seed"] for run in runs] == [1, 1, 2, 2]
    assert len(mf.run(experiment, set={"sweep": {"grid": {"seed": np.arange(3, 5)}}, "rounds": 1}, progress=False)) == 2


def test_functions_with_other_values_are_other_parts() -> None:
    from functools import partial

    def ring(round: int, nodes: int) -> Any:
        return networkx.cycle_graph(nodes)

    def shifted(hops: int, round: int, nodes: int) -> Any:
        return networkx.circulant_graph(nodes, [1, hops])

    def of(graph: Any) -> mf.Part:
        return mf.overlay(lambda round, nodes: graph)

    class Fixed:
        def __init__(self, graph: Any) -> None:
            self.graph = graph

        def at(self, round: int, nodes: int) -> Any:
            return self.graph

        def __call__(self, round: int, nodes: int) -> Any:
            return self.graph

    cycle, star = networkx.cycle_graph(10), networkx.star_graph(9)
    for one_part, other in [
        (mf.overlay(partial(shifted, 2)), mf.overlay(partial(shifted, 3))),
        (of(cycle), of(star)),
        (mf.overlay(lambda round, nodes, graph=cycle: graph), mf.overlay(lambda round, nodes, graph=star: graph)),
        (mf.overlay(Fixed(cycle).at), mf.overlay(Fixed(star).at)),
        (mf.overlay(Fixed(cycle)), mf.overlay(Fixed(star))),
    ]:
        assert one_part.version != other.version
    assert of(cycle).version == of(networkx.cycle_graph(10)).version
    assert mf.overlay(ring).version == mf.overlay(ring).version


def test_what_a_function_encloses_is_told_by_content() -> None:
    import enum
    from dataclasses import dataclass

    class Kind(enum.Enum):
        RING = 1
        STAR = 2

    @dataclass
    class Hops:
        most: int

    class Plain:
        def __init__(self, hops: int) -> None:
            self.hops = hops

    def of(value: Any) -> mf.Part:
        return mf.overlay(lambda round, nodes: value)

    for one_value, other in [
        ({1, 2}, {1, 3}),
        (Path("a"), Path("b")),
        (Kind.RING, Kind.STAR),
        (Hops(1), Hops(2)),
        (Plain(1), Plain(2)),
        (np.dtype("f4"), np.dtype("f8")),
    ]:
        assert of(one_value).version == of(one_value).version != of(other).version, one_value
    assert of({"a", "b", "c"}).version == of({"c", "b", "a"}).version
    with pytest.raises(TypeError, match="give a `version`"):
        of(np.random.default_rng(1))

    generator = np.random.default_rng(1)
    named = mf.overlay(lambda round, nodes: generator, label="drawn", version="2")
    assert (named.name, named.version) == ("drawn", "2")
    assert mf.partition([[0, 1], [2]], version="3").version == "3"


def test_the_shape_and_the_classes_tell_datasets_apart() -> None:
    x, y = np.zeros((4, 12), np.float32), np.array([0, 1, 0, 1])
    kinds = [
        mf.dataset(x, y, x, y),
        mf.dataset(x, y, x, y, classes=3),
        *(mf.dataset(images, y, images, y) for images in (x.reshape(4, 3, 4), x.reshape(4, 4, 3), x.reshape(4, 3, 2, 2))),
    ]
    assert len({part.version for part in kinds}) == len(kinds)


def test_labels_make_classes_as_in_a_file() -> None:
    x = np.zeros((4, 3), np.float32)

    def made(labels: list[Any], **more: Any) -> mf.Part:
        y = np.array(labels)
        return mf.dataset(x, y, x, y, **more)

    assert made([True, False, True, True]).version == made([1, 0, 1, 1]).version
    for labels, more, told in [
        ([0, 65535, 0, 1], {}, "needed whole numbers from 0 to 65534"),
        ([0, 9, 0, 1], {}, "would make 10 classes of 8 examples"),
        ([0, 0, 0, 0], {}, "labels of one class alone"),
        ([0, 3, 0, 1], {"classes": 3}, "found label 3, needed one below 3"),
    ]:
        with pytest.raises(ValueError, match=told):
            made(labels, **more)
    with pytest.warns(UserWarning, match="1 of the 4 classes have no example: 2"):
        made([0, 3, 0, 1])
    masked = np.ma.masked_less(np.array([[1.0, -9.0], [2.0, 3.0]], np.float32), 0)
    with pytest.raises(ValueError, match="x has 1 masked numbers"):
        mf.dataset(masked, np.array([0, 1]), masked, np.array([0, 1]))


def test_texts_are_labels_and_owners_by_their_names(experiment: Experiment) -> None:
    x, y = clouds()
    frame = pandas.DataFrame(x, columns=list("abcd"))
    frame["kind"] = np.array(["tit", "robin", "wren", "dove"])[y]
    frame["garden"] = np.array(["10", "9", "8"])[np.repeat([0, 1, 2], [100, 250, 50])]
    features = list("abcd")

    def made(kind: str = "kind", **more: Any) -> mf.Part:
        test = frame[:120]
        return mf.dataset(frame[features], frame[kind], test[features], test[kind], owner=frame.garden, **more)

    run = one(experiment, dataset=made(), partition="by_writer", topology="ring")
    assert run.partition is not None
    assert run.partition.label_names == ["dove", "robin", "tit", "wren"]
    assert run.partition.owners == ["8", "9", "10"] and run.partition.examples.tolist() == [50, 250, 100]
    numbers = np.array([2, 1, 3, 0])[y], np.repeat([2, 1, 0], [100, 250, 50])
    plain = mf.dataset(x, numbers[0], x[:120], numbers[0][:120], owner=numbers[1])
    assert figures(run) == figures(one(experiment, dataset=plain, partition="by_writer", topology="ring"))
    categories = mf.dataset(
        x, pandas.Categorical(frame.kind), x[:120], frame.kind[:120], owner=frame.garden, owner_test=frame.garden[:120]
    )
    assert figures(run) == figures(one(experiment, dataset=categories, partition="by_writer", topology="ring"))
    frame["other"] = frame.kind.replace({"tit": "swift"})
    assert made("other").version != made().version
    frame["half"] = frame.kind.where(frame.index != 7, None)
    with pytest.raises(ValueError, match="y holds (None|nan) at 7, needed whole numbers, or a text for each example"):
        made("half")
    with pytest.raises(ValueError, match="owner has texts and owner_test is of type int64, needed texts in both"):
        made(owner_test=np.zeros(120, int))


def test_two_edges_are_no_matrix() -> None:
    assert mf.overlay(np.array([[0, 1], [2, 3]])).version == mf.overlay(networkx.Graph([(0, 1), (2, 3)])).version
    assert mf.overlay(np.array([[0, 1], [1, 0]])).version == mf.overlay(networkx.path_graph(2)).version
    with pytest.raises(ValueError, match="a matrix of two nodes or two edges"):
        mf.overlay(np.array([[0, 1], [1, 2]]))


def test_owners_have_more_numbers_than_labels() -> None:
    x, y = np.zeros((2, 3), np.float32), np.array([0, 1])
    assert mf.dataset(x, y, x, y, owner=np.array([0, 100_000])).kind == "dataset"
    with pytest.raises(ValueError, match="owner holds -1, needed whole numbers from 0"):
        mf.dataset(x, y, x, y, owner=np.array([0, -1]))
    with pytest.raises(ValueError, match="y holds 70000, needed whole numbers from 0 to 65534"):
        mf.dataset(x, np.array([0, 70_000]), x, y)


def test_lambdas_of_one_line_are_told_apart() -> None:
    parts = [mf.overlay(lambda round, nodes: [(0, 1)]), mf.overlay(lambda round, nodes: [(0, 2)])]
    assert parts[0].version != parts[1].version

    def broken(first: bool) -> mf.Part:
        # The second line of each is not in what Python takes for its source.
        if first:
            return mf.overlay(
                lambda round, nodes: [(0, 1)]
                + [(1, 2)]
            )  # fmt: skip
        return mf.overlay(
                lambda round, nodes: [(0, 1)]
                + [(1, 3)]
            )  # fmt: skip

    assert broken(True).version != broken(False).version
    assert broken(True).version == broken(True).version


def test_what_an_object_does_when_called_is_in_its_digest() -> None:
    def made(hops: int) -> mf.Part:
        class Shifted:
            def __call__(self, round: int, nodes: int) -> Any:
                return [(node, (node + hops) % nodes) for node in range(nodes)]

        return mf.overlay(Shifted(), label="shifted")

    assert made(1).version == made(1).version != made(2).version


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: mf.overlay([(0, 1)], version=2), "overlay: version is 2, needed text, such as '2'"),  # type: ignore[arg-type]
        (lambda: mf.partition([[0]], version=2), "partition: version is 2"),  # type: ignore[arg-type]
        (lambda: mf.overlay([(2**32 + 1, 0)]), "edge 4294967297-0 names a node that does not exist"),
        (lambda: mf.overlay(np.array([[0, np.nan], [np.nan, 0]])), "row 0, column 1 is nan, needed finite numbers"),
        (lambda: mf.weights(lambda round: np.eye(8)), r"weights: found a function, needed a matrix \[N, N\], which holds in all rounds"),
        (
            lambda: mf.dataset(np.zeros((20, 4)), np.arange(20) % 2, np.zeros((20, 3)), np.arange(20) % 2),
            r"x_test is of shape \[20, 3\] and type float64, but x is of shape \[20, 4\] and type float64",
        ),
        (
            lambda: mf.dataset(np.zeros((20, 4), np.uint8), np.arange(20) % 2, np.zeros((20, 4)), np.arange(20) % 2),
            r"of shape \[20, 4\] and type float64, but x is of shape \[20, 4\] and type uint8: needed .* bytes \(uint8\) in both",
        ),
        (lambda: mf.partition([[0], [2**33]]), "client 1 is given example 8589934592"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_words(make: Callable[[], mf.Part], words: str) -> None:
    with pytest.raises((TypeError, ValueError), match=words):
        make()


def test_a_partition_makes_as_many_clients_as_it_says(experiment: Experiment) -> None:
    halves = mf.partition(lambda labels, classes, generator: np.array_split(np.arange(len(labels)), 10), count=9)
    with pytest.raises(mf.MeshfoldError, match="the function made 10 clients, but count is 9"):
        mf.run({**experiment, "partition": halves, "sweep": None}, progress=False)


def test_a_partition_that_is_drawn_from_elsewhere_is_refused(experiment: Experiment) -> None:
    def drawn(draws: Any) -> mf.Part:
        def deal(labels: Any, classes: int, generator: np.random.Generator) -> Any:
            order = (generator if draws is None else draws).permutation(len(labels))
            return np.array_split(order, 10)

        return mf.partition(deal, count=10, version="1")

    mf.plan({**experiment, "sweep": None, "partition": drawn(None)})
    with pytest.raises(mf.ConfigError, match="the function dealt otherwise when it was called again for the same seed"):
        mf.plan({**experiment, "sweep": None, "partition": drawn(np.random.default_rng())})
