"""Methods that are written in Python."""

from __future__ import annotations

import json
import math
import os
import re
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import methods
import methods
import numpy as np
import pytest
from conftest import Halt, halt_at

import meshfold as mf

Experiment = dict[str, Any]


def records(folder: Path) -> list[dict[str, Any]]:
    """The records of a run without what depends on the clock."""
    lines = (folder / "metrics.jsonl").read_text().splitlines()
    clock = ("seconds", "wall")
    return [
        {key: value for key, value in json.loads(line).items() if not any(word in key for word in clock)}
        for line in lines
    ]


def with_algorithm(experiment: Experiment, name: str, **keys: Any) -> Experiment:
    """One run of `experiment` with a built-in method, or one of one's own."""
    keys = {"batch_size": 20, "learning_rate": 0.1, **keys}
    own = name in ("choco", *mf._own.METHODS)
    algorithm = {"own": {"name": name, **keys}} if own else {name: keys}
    return {**experiment, "algorithm": algorithm, "sweep": None, "evaluate": {"every": 2}}


def records_of(experiment: Experiment) -> list[dict[str, Any]]:
    (run,) = mf.run(experiment, progress=False)
    assert run.is_finished
    return records(run.folder)


@pytest.mark.parametrize(
    ("mine", "built_in", "keys"),
    [
        ("my_dsgd", "dsgd", {"local": {"steps": 3}, "momentum": 0.9}),
        ("my_dfedavgm", "dfedavgm", {"local": {"epochs": 1}, "momentum": 0.9}),
        ("my_dsgd", "dsgd", {"local": {"steps": 3}, "momentum": 0.9, "nesterov": True}),
        ("my_dfedavgm", "dfedavgm", {"local": {"epochs": 1}, "momentum": 0.5, "nesterov": True, "clip_norm": 0.5}),
        ("my_tracking", "gradient_tracking", {"local": {"steps": 1}, "momentum": 0.0}),
    ],
)
def test_it_has_the_bits_of_the_built_in_one(
    experiment: Experiment, mine: str, built_in: str, keys: dict[str, Any]
) -> None:
    failures = [{"clients": {"share": 0.3}, "redraw": "each_round"}]
    others: list[Experiment] = [{}, {"topology": {"exponential": {}}}]
    if built_in != "gradient_tracking":
        # The built-in one begins anew when clients are gone for good, and not otherwise.
        others.append({"failures": failures})
    for other in others:
        base = {**experiment, **other}
        assert records_of(with_algorithm(base, mine, **keys)) == records_of(
            with_algorithm(base, built_in, **keys)
        )


def test_choco_sends_what_it_keeps(experiment: Experiment) -> None:
    told = records_of(with_algorithm(experiment, "choco", gamma=0.3, keep=0.1))
    # Two neighbours of each of 10 clients; 785 of 7850 parameters, each a value and an index.
    assert told[-1]["bytes_total"] == 5 * 10 * 2 * 785 * 8


def test_its_keys_are_checked_at_their_places(experiment: Experiment) -> None:
    def told(**keys: Any) -> mf.ConfigError:
        with pytest.raises(mf.ConfigError) as raised:
            mf.run(with_algorithm(experiment, "choco", **keys))
        return raised.value

    fault = told(gamma="high")
    assert fault.path == "algorithm.own.gamma"
    assert fault.message == 'algorithm.own.gamma: found the text "high", needed a number'
    assert fault.line is not None
    assert "above 0 and at most 1" in told(gamma=3).message
    unknown = told(gama=0.3)
    assert unknown.message == "algorithm.own: unknown key `gama`"
    assert unknown.help is not None and unknown.help.startswith("did you mean `gamma`?")
    assert "learning_rate" in told(learning_rate=-1).message
    with pytest.raises(mf.ConfigError, match="no method of its own named `chocco`"):
        mf.run({**experiment, "algorithm": {"own": {"name": "chocco"}}})


class Typed(mf.Method):
    """Has keys of lists, tuples, maps and either."""

    counts: list[int] = [1]
    pair: tuple[float, float] = (0.5, 1)
    pairs: list[tuple[int, str]] = []
    shares: dict[str, float] = {}
    limit: float | None = None
    either: int | float | str = 1
    some: tuple[int, ...] = ()

    def start(self, models: mf.Stack) -> None:
        assert isinstance(self.pair, tuple) and all(type(each) is float for each in self.pair)
        assert all(type(pair) is tuple for pair in self.pairs)
        assert self.limit is None or type(self.limit) is float
        assert all(type(share) is float for share in self.shares.values())

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        round.send(bytes=0)


def test_the_types_of_keys_go_into_lists(experiment: Experiment) -> None:
    def told(**keys: Any) -> str:
        with pytest.raises(mf.ConfigError) as raised:
            mf.run(with_algorithm(experiment, "typed", **keys), progress=False)
        return raised.value.message

    assert told(counts=["a"]).endswith("needed a list of whole numbers")
    assert told(counts=[1.5]).endswith("needed a list of whole numbers")
    assert told(pair=[1]).endswith("needed a list of 2: a number, a number")
    assert told(pair=[1, "a"]).endswith("needed a list of 2: a number, a number")
    assert told(pairs=[[1, "a"], [1, 2]]).endswith("needed a list")
    assert told(shares={"a": "b"}).endswith("needed a map of numbers")
    assert told(limit="a").endswith("needed a number or null")
    assert told(some=[1, True]).endswith("needed a list of whole numbers")

    def id_of(**keys: Any) -> str:
        (run,) = mf.run({**with_algorithm(experiment, "typed", **keys), "rounds": 1}, progress=False)
        return run.id

    assert id_of(limit=1) == id_of(limit=1.0) and id_of(pair=[1, 2]) == id_of(pair=(1.0, 2.0)) and id_of(shares={"a": 1}) == id_of(shares={"a": 1.0})
    assert id_of(either=1) != id_of(either=1.5)
    id_of(pairs=[(1, "a")], some=[3])


class Plain(mf.Method):
    """Has an attribute that looks like a key."""

    gamma = 0.4
    keep: float = 0.1


def test_an_attribute_without_a_type_hint_is_told_to_be_no_key(experiment: Experiment) -> None:
    with pytest.raises(mf.ConfigError) as raised:
        mf.run(with_algorithm(experiment, "plain", gamma=0.3))
    fault = raised.value
    assert fault.path == "algorithm.own.gamma" and fault.line is not None
    assert fault.message.endswith("needed `gamma: float = 0.4` in the class Plain: only attributes with a type hint are keys")


def test_a_sweep_goes_over_its_keys(experiment: Experiment) -> None:
    base = with_algorithm(experiment, "choco", keep=0.2)
    runs = mf.run({**base, "sweep": {"grid": {"algorithm.own.gamma": [0.1, 0.5]}}}, progress=False)
    assert [run.label for run in runs] == ["gamma=0.1", "gamma=0.5"]
    assert len({run.id for run in runs}) == 2


class Recorder(mf.Method):
    """Records figures of its own."""

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        before = models.copy()
        round.train(models)
        round.record("moved", (models - before).norms())
        round.record("rounds", np.int64(100))
        round.record("rounds", round.number)
        round.record("single", np.arange(10, dtype=np.float32))
        round.record("listed", [1.0] * 9 + [11])
        round.record("broken", [math.nan] + [1.0] * 9)
        round.record("endless", math.inf)
        if round.number % 4 == 0:
            round.record("now_and_then", 0.5)
        round.send(models)
        models.mix(round.mixing)


def test_figures_of_a_method_are_in_records_and_tables(experiment: Experiment) -> None:
    told: list[dict[str, Any]] = []
    base = {**with_algorithm(experiment, "recorder"), "rounds": 8}
    runs = mf.run(base, progress=False, on_record=lambda _, record: told.append(record))
    assert [record["round"] for record in told] == [0, 2, 4, 6, 8]
    assert "own" not in told[0]
    own = [record["own"] for record in told[1:]]
    assert [figures["rounds"] for figures in own] == [2, 4, 6, 8]
    assert own[0]["single"] == {"mean": 4.5, "min": 0, "max": 9, "std": pytest.approx(np.arange(10).std())}
    assert own[0]["listed"] == {"mean": 2, "min": 1, "max": 11, "std": 3}
    assert own[0]["broken"] == {"mean": 1, "min": 1, "max": 1, "std": 0}, "a client without a number does not count"
    assert own[0]["endless"] is None
    assert ["now_and_then" in figures for figures in own] == [False, True, False, True]
    table = runs.metrics()
    frame = table.to_polars()
    assert frame["own.now_and_then"].to_list() == [None, None, 0.5, None, 0.5]
    assert frame["own.rounds"].to_list() == [None, 2.0, 4.0, 6.0, 8.0]
    assert frame["own.moved.max"].to_list()[1:] == [figures["moved"]["max"] for figures in own]
    assert table.descriptions["own.moved.max"] == "What the method recorded as `moved`, over the rows: the largest."


def test_figures_of_rows_are_known_of_each_client(experiment: Experiment, program: str) -> None:
    failures = [{"clients": {"list": [9]}, "from_round": 6}]
    runs = mf.run({**with_algorithm(experiment, "recorder"), "rounds": 8, "failures": failures}, progress=False)
    table = runs.clients()
    clients = table.to_polars()
    assert "own.rounds" not in clients.columns, "it is one number for the round"
    assert table.descriptions["own.single"] == "What the method recorded of the row as `single`."
    of = {round: clients.filter(clients["round"] == round) for round in (0, 4, 8)}
    assert of[0]["own.single"].to_list() == [None] * 10, "nothing is recorded before the first round"
    assert of[4]["own.single"].to_list() == list(range(10))
    assert of[8]["own.single"].to_list() == list(range(9))
    assert of[4]["own.broken"].to_list() == [None] + [1.0] * 9
    moved = runs.metrics().to_polars()["own.moved"].to_list()[-1]
    assert of[8]["own.moved"].mean() == pytest.approx(moved)

    def told(*arguments: str) -> str:
        command = [program, *arguments, str(runs[0].folder.parent)]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    assert "0.800" in told("table", "--metric", "own.single.p10"), "numpy.quantile(range(9), .1)"
    assert "8.000" in told("table", "--metric", "own.single.worst10"), "the largest is the worst"
    told("figure", "--x", "share_of_clients", "--y", "own.moved", "-o", "clients.svg")
    assert "\nMoved\n" in Path("clients.svg").read_text()
    command = [program, "table", "--metric", "own.rounds.p10", str(runs[0].folder.parent)]
    refused = subprocess.run(command, capture_output=True, text=True)
    assert refused.returncode == 2 and "own.rounds" in refused.stderr and "own.single" in refused.stderr


def test_the_program_tells_figures_of_a_method(experiment: Experiment, program: str) -> None:
    (run,) = mf.run(with_algorithm(experiment, "recorder"), progress=False)

    def told(*arguments: str) -> str:
        command = [program, *arguments, str(run.folder.parent)]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    assert "9.000" in told("table", "--metric", "own.single.max"), "the largest of ten numbers from 0"
    assert "4.000" in told("table", "--metric", "own.rounds", "--at", "round=4")
    told("figure", "--y", "own.moved", "--band", "range", "-o", "moved.svg")
    assert "\nMoved\n" in Path("moved.svg").read_text()


def test_spreads_of_figures_are_over_the_clients_alive(experiment: Experiment) -> None:
    failures = [{"clients": {"list": [9]}, "from_round": 1}]
    last = records_of({**with_algorithm(experiment, "recorder"), "failures": failures})[-1]
    assert (last["alive"], last["own"]["single"]["max"], last["own"]["listed"]["max"]) == (9, 8, 1)


def test_figures_are_the_same_in_a_run_that_was_resumed(experiment: Experiment) -> None:
    base = {**with_algorithm(experiment, "recorder"), "rounds": 8, "checkpoint": {"every": 2}}
    whole = records_of(base)
    with pytest.raises(Halt):
        mf.run(base, progress=False, results="parts", on_record=halt_at(4))
    (run,) = mf.run(base, progress=False, results="parts")
    assert records(run.folder) == whole
    (other,) = mf.run(base, progress=False, results="whole")
    assert (run.folder / "clients.parquet").read_bytes() == (other.folder / "clients.parquet").read_bytes()


@pytest.mark.parametrize(
    ("name", "value", "error", "words"),
    [
        ("dual residual", 1.0, ValueError, "a figure is called `dual residual`, needed 1 to 64 ASCII letters, digits or `_`"),
        ("", 1.0, ValueError, "needed 1 to 64 ASCII letters"),
        ("x" * 65, 1.0, ValueError, "needed 1 to 64 ASCII letters"),
        ("norm", [1.0, 2.0], ValueError, "the figure `norm` has 2 numbers, needed one, or one for each of 10 rows"),
        ("norm", np.ones(11), ValueError, "the figure `norm` has 11 numbers"),
        ("norm", np.ones((10, 2)), ValueError, "the figure `norm` is of shape [10, 2], needed one number"),
        ("norm", "high", TypeError, "the figure `norm` is of type str, needed a number"),
        ("norm", None, TypeError, "the figure `norm` is of type NoneType"),
        ("norm", {"a": 1}, TypeError, "the figure `norm` is of type dict"),
        ("norm", ["a"] * 10, TypeError, "the figure `norm` is of type list"),
    ],
)
def test_figures_that_cannot_be_are_refused(
    experiment: Experiment, name: str, value: Any, error: type[Exception], words: str
) -> None:
    def at(round: mf.Round) -> None:
        with pytest.raises(error, match=re.escape(words)):
            round.record(name, value)

    LOOKS.append(at)
    try:
        (last,) = records_of({**with_algorithm(experiment, "round_looks"), "rounds": 1})[1:]
    finally:
        LOOKS.pop()
    assert "own" not in last


#: What `RoundLooks` does with the round.
LOOKS: list[Any] = []


class RoundLooks(mf.Method):
    """Has a test look at the round."""

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        LOOKS[-1](round)


class Sender(mf.Method):
    """Has a test send something."""

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        SENDS[-1](models, round)


#: What `Sender` does.
SENDS: list[Any] = []


def sent(experiment: Experiment, send: Any, **more: Any) -> tuple[int, int, int]:
    """The messages, the bytes, and those of the busiest node, of one round in which `send(models, round)` is called."""
    SENDS.append(send)
    try:
        (run,) = mf.run({**with_algorithm(experiment, "sender"), "rounds": 1, **more}, progress=False, again=True)
    finally:
        SENDS.pop()
    last = records(run.folder)[-1]
    return last["messages_total"], last["bytes_total"], last["bytes_busiest_node"]


#: Bytes of a whole model, and of a tenth of its parameters with their indices.
WHOLE, TENTH = 4 * 7850, 8 * 785


@pytest.mark.parametrize(
    ("make", "bytes"),
    [
        (lambda kept: kept, TENTH),
        (lambda kept: kept.copy(), TENTH),
        (lambda kept: kept * 0.5, TENTH),
        (lambda kept: np.arange(10.0) * kept, TENTH),
        (lambda kept: kept / 2, TENTH),
        (lambda kept: -kept, TENTH),
        (lambda kept: (-kept / 3 * 2).gather(range(9, -1, -1)), TENTH),
        (lambda kept: kept.__imul__(2.0) or kept, TENTH),
        (lambda kept: kept.__itruediv__(2.0) or kept, TENTH),
        (lambda kept: kept + kept.copy(), WHOLE),
        (lambda kept: kept.add_scaled(kept.copy()), WHOLE),
        (lambda kept: kept.scatter([0], kept.gather([1])) or kept, WHOLE),
        (lambda kept: kept.set(kept.numpy()) or kept, WHOLE),
        (lambda kept: kept.zeros_like(), WHOLE),
        (lambda kept: (kept * 2).top_k(1.0), 8 * 7850),
    ],
)
def test_a_compressed_stack_counts_as_such_until_it_may_have_other_parameters(
    experiment: Experiment, make: Any, bytes: int
) -> None:
    def send(models: mf.Stack, round: mf.Round) -> None:
        kept = (models + 1.0 * models).top_k(0.1)
        made = make(kept)
        round.send(kept if made is None else made)

    assert sent(experiment, send) == (20, 20 * bytes, 4 * bytes)


def test_mixed_stacks_are_whole(experiment: Experiment) -> None:
    send = lambda models, round: round.send(models.copy().top_k(0.1).mix(round.mixing))  # noqa: E731
    assert sent(experiment, send) == (20, 20 * WHOLE, 4 * WHOLE)


def test_sizes_of_messages_may_be_given(experiment: Experiment) -> None:
    def of(bytes: Any) -> Any:
        return lambda models, round: round.send(bytes=bytes)

    assert sent(experiment, of(100)) == sent(experiment, of(np.full(10, 100))) == (20, 2000, 400)
    assert sent(experiment, of(np.int32(7))) == (20, 140, 28)
    # On the ring 0 ... 9 client i sends 10 i bytes to each side; client 0 sends none and hears of 1 and 9. Client 8 sends 2 * 80 and
    # hears of 70 + 90.
    sizes = [10 * client for client in range(10)]
    assert sent(experiment, of(sizes)) == (18, 2 * sum(sizes), 2 * 80 + 70 + 90)
    # In the first round of this directed overlay client i sends to i + 1.
    assert sent(experiment, of(sizes), topology="one_peer") == (9, sum(sizes), 90 + 80)
    assert sent(experiment, of(0)) == sent(experiment, of(np.zeros(10, int))) == (0, 0, 0)


def test_different_sizes_take_their_time(experiment: Experiment) -> None:
    network = {"network": {"links": {"node_capacitated": {"upload": 1000}}}}

    def seconds(bytes: Any) -> float:
        SENDS.append(lambda models, round: round.send(bytes=bytes))
        try:
            (run,) = mf.run({**with_algorithm(experiment, "sender"), "rounds": 1, **network}, progress=False, again=True)
        finally:
            SENDS.pop()
        return float(run.metrics().to_polars()["simulated_seconds"][-1])

    assert seconds([100] * 9 + [500]) == seconds(500) == 1.0
    assert seconds([100] * 10) == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("bytes", "error", "words"),
    [
        (-1, ValueError, "found a message of -1 bytes, needed a whole number from 0 to 1000000000000"),
        ([1] * 9 + [10**13], ValueError, "found a message of 10000000000000 bytes"),
        ([1, 2], ValueError, "`bytes` has 2 numbers, needed one for all clients, or one for each of 10"),
        (1.5, TypeError, "`bytes` needs whole numbers: one for all clients, or one for each of 10"),
        ([1.0] * 10, TypeError, "`bytes` needs whole numbers"),
        ("many", TypeError, "`bytes` needs whole numbers"),
    ],
)
def test_sizes_that_cannot_be_are_refused(experiment: Experiment, bytes: Any, error: type[Exception], words: str) -> None:
    def send(models: mf.Stack, round: mf.Round) -> None:
        with pytest.raises(error, match=re.escape(words)):
            round.send(bytes=bytes)

    assert sent(experiment, send) == (0, 0, 0)


class Delayed(mf.Method):
    """Sends in a round what it compressed in the one before."""

    def start(self, models: mf.Stack) -> None:
        self.parcel = models.zeros_like()

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        round.send(self.parcel)
        round.train(models)
        # Whole models and compressed ones in turns.
        self.parcel = models.copy() if round.number % 3 == 0 else models.copy().top_k(0.1)


def test_a_compressed_stack_of_a_checkpoint_counts_as_such(experiment: Experiment) -> None:
    base = {**with_algorithm(experiment, "delayed"), "rounds": 8, "checkpoint": {"every": 1}}
    whole = records_of(base)
    assert whole[-1]["bytes_total"] == 20 * (3 * WHOLE + 5 * TENTH)
    for stop in (2, 4, 6):
        results = f"parts-{stop}"
        with pytest.raises(Halt):
            mf.run(base, progress=False, results=results, on_record=halt_at(stop))
        (run,) = mf.run(base, progress=False, results=results)
        assert records(run.folder) == whole


def test_the_weights_and_the_keys_of_a_round_can_be_read(experiment: Experiment) -> None:
    told: dict[str, Any] = {}

    def at(round: mf.Round) -> None:
        told.update(weights=round.mixing.numpy(), settings=round.settings, rates=round.learning_rates, edges=round.edges)
        assert isinstance(round.mixing.numpy()[0, 0], np.float64)

    LOOKS.append(at)
    try:
        keys = {"momentum": 0.9, "nesterov": True, "learning_rate": {"step": {"initial": 0.5, "factor": 0.5, "every": 1}}}
        records_of({**with_algorithm(experiment, "round_looks", **keys), "rounds": 3})
        ring = told["weights"]
        assert ring.shape == (10, 10) and np.allclose(ring.sum(axis=1), 1, atol=1e-6)
        assert {(i, j) for i, j in np.argwhere(np.triu(ring, 1) > 0).tolist()} == set(map(tuple, told["edges"].tolist()))
        assert told["settings"]["momentum"] == 0.9 and told["settings"]["local"] == {"epochs": 1}
        assert told["settings"]["nesterov"] is True
        assert told["settings"]["batch_size"] == 20
        assert told["rates"].tolist() == [0.125] * 10
        records_of({**with_algorithm(experiment, "round_looks"), "rounds": 1, "topology": "complete"})
        assert (told["weights"] == 0.1).all() and told["settings"]["nesterov"] is False
    finally:
        LOOKS.pop()


class OnlyGradients(mf.Method):
    """Makes steps by itself."""

    reads: bool = False

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        if self.reads:
            assert round.settings["reads"]
        gradients, rates = round.gradients(models)
        models.add_scaled(gradients, -rates)


class Silent(mf.Method):
    """Mixes and counts nothing."""

    counts: bool = False

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        round.train(models)
        if self.counts:
            round.send(bytes=0)
        models.mix(round.mixing)


def warned(experiment: Experiment, **more: Any) -> list[str]:
    """What a run of `experiment` warns of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        mf.run({**experiment, **more}, progress=False)
    return [str(warning.message) for warning in caught if warning.category is mf.MeshfoldWarning]


def test_keys_that_a_method_does_not_use_are_told(experiment: Experiment) -> None:
    def told(**keys: Any) -> list[str]:
        return warned(with_algorithm(experiment, "only_gradients", **keys))

    why = "the method `only_gradients` calls round.gradients, which takes the gradient of one mini-batch, and never round.train"
    assert told(momentum=0.9) == [f"algorithm.own.momentum is not used: {why}"]
    of_nesterov = told(momentum=0.9, nesterov=True)
    assert of_nesterov == [f"algorithm.own.momentum and algorithm.own.nesterov are not used: {why}"]
    both = told(momentum=0.9, local={"steps": 5})
    assert both == [f"algorithm.own.local and algorithm.own.momentum are not used: {why}"]
    assert told() == told(local={"steps": 1}, weight_decay=0.1) == told(momentum=0.9, reads=True) == []
    assert warned(with_algorithm(experiment, "my_dsgd", momentum=0.9, local={"steps": 5})) == []


def test_a_method_that_mixes_and_never_sends_is_told(experiment: Experiment) -> None:
    (told,) = warned(with_algorithm(experiment, "silent"))
    assert told.startswith("the method `silent` uses round.mixing or round.edges and never calls round.send: its messages and bytes are 0.")
    assert warned(with_algorithm(experiment, "silent", counts=True)) == []
    assert warned(with_algorithm(experiment, "my_dsgd")) == []
    alone = {"topology": mf.overlay(lambda round, nodes: np.zeros((nodes, nodes)))}
    of_no_edges = warned(with_algorithm(experiment, "silent", momentum=0.5), **alone)
    assert not any("silent" in warning for warning in of_no_edges), "nobody is there to send to"


class Failing(mf.Method):
    """Fails in the second round of runs with seed 2."""

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        if round.number == 2 and round.seed == 2:
            raise ValueError("out of ideas")


def test_an_exception_fails_its_run_with_the_traceback_and_no_other(experiment: Experiment) -> None:
    base = {**with_algorithm(experiment, "failing"), "sweep": {"grid": {"seed": [1, 2, 3]}}}
    with pytest.raises(mf.RunFailed) as raised:
        mf.run(base, progress=False)
    (told,) = raised.value.failures.values()
    assert told.startswith("in round 2: failing failed: Traceback")
    assert 'raise ValueError("out of ideas")' in told
    assert [run.is_finished for run in raised.value.runs] == [True, False, True]


class Keeper(mf.Method):
    """Keeps a stack, a number, an array and a flag."""

    def start(self, models: mf.Stack) -> None:
        self.sum = models.zeros_like()
        self.rounds = 0
        self.averages = np.zeros((2, 3))
        self.is_odd = False
        self._scratch = {"not": "kept"}

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        round.train(models)
        self.sum += models
        self.rounds += 1
        self.is_odd = not self.is_odd
        self.averages += self.rounds
        models.mix(round.mixing)
        if self.is_odd:
            models.add_scaled(self.sum, 1e-3 / self.rounds * float(self.averages[1, 2]))


KILLED = """
import os, signal, sys
sys.path.insert(0, {tests!r})
import meshfold as mf
from test_own_methods import Keeper

class Dying(Keeper):
    name = "keeper"
    version = "1"
    def round(self, models, round):
        super().round(models, round)
        if round.number == 37 and {dies}:
            os.kill(os.getpid(), signal.SIGKILL)

mf.run({experiment!r}, progress=False)
"""


def test_a_run_that_was_killed_goes_on_with_the_same_bits(experiment: Experiment) -> None:
    long = {
        **with_algorithm(experiment, "keeper"),
        "algorithm": {"own": {"name": "keeper", "batch_size": 20, "learning_rate": 0.1}},
        "rounds": 60,
        "checkpoint": {"every": 10},
    }

    def carry_out(results: str, dies: bool) -> int:
        tests = str(Path(__file__).parent)
        script = KILLED.format(tests=tests, dies=dies, experiment=long)
        script = script.replace("progress=False", f"progress=False, results={results!r}")
        return subprocess.run([sys.executable, "-c", script], timeout=120, check=False).returncode

    assert carry_out("parts", True) == -signal.SIGKILL
    (folder,) = Path("parts/small").glob("*/checkpoint.safetensors")
    assert carry_out("parts", False) == 0
    assert carry_out("whole", False) == 0
    (parts,), (whole,) = mf.read("parts/small"), mf.read("whole/small")
    assert parts.folder == folder.parent.resolve() or parts.folder == folder.parent
    assert records(parts.folder) == records(whole.folder)


class Untidy(mf.Method):
    """Keeps what no checkpoint can hold."""

    def start(self, models: mf.Stack) -> None:
        self.notes = {"a": 1}

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        pass


class Hoarder(mf.Method):
    """Uses the models of a round that is over."""

    def start(self, models: mf.Stack) -> None:
        self._old: list[mf.Stack] = []

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        self._old.append(models)
        if round.number > 1:
            self._old[0].mix(round.mixing)


class Gambler(mf.Method):
    """Keeps a generator, which would begin anew in a resumed run."""

    def start(self, models: mf.Stack) -> None:
        self.draws = np.random.default_rng(1)

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        pass


class Functional(mf.Method):
    """Returns new models in place of changing those that it is given."""

    def round(self, models: mf.Stack, round: mf.Round) -> mf.Stack:  # type: ignore[override]
        return models.copy()


class ListKeeper(mf.Method):
    """Keeps a list of stacks."""

    def start(self, models: mf.Stack) -> None:
        self.all = [models.copy(), models.copy()]

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        round.train(models)


class Unready(mf.Method):
    """Takes the exponential of a stack as it starts."""

    def start(self, models: mf.Stack) -> None:
        self.all = np.exp(models)

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        round.train(models)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("list_keeper", "`self.all` is of type list, which no checkpoint can hold: keep one stack with the rows of all of them, such as the k R rows"),
        ("unready", "does not support ufuncs (__array_ufunc__=None): `np.exp(np.asarray(models))` is an array"),
        ("gambler", "no checkpoint can hold: make a generator in each round, `np.random.default_rng([round.seed, round.number])`"),
        ("functional", "`round` returned a Stack, needed nothing: change `models` in place"),
        ("untidy", "`self.notes` is of type dict, which no checkpoint can hold"),
        ("hoarder", "this stack belongs to a round that is over"),
    ],
)
def test_misuse_is_told_in_words(experiment: Experiment, name: str, words: str) -> None:
    with pytest.raises(mf.RunFailed) as raised:
        mf.run(with_algorithm(experiment, name), progress=False)
    assert words in str(raised.value)


class Arrays(mf.Method):
    """Moves all models by NumPy."""

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        rows, parameters = models.shape
        before = models.numpy()
        assert before.shape == (rows, parameters) == (round.clients, 7850)
        layers = models.by_layer()
        weight, bias = layers.values()
        assert weight.shape == (rows, 784, 10) and bias.shape == (rows, 1, 10)
        assert (before == np.concatenate([weight.reshape(rows, -1), bias.reshape(rows, -1)], 1)).all()
        models.set(before + np.float32(1.0))
        assert (models.numpy() == before + np.float32(1.0)).all()
        doubled = 2 * models
        assert (doubled.numpy() == 2 * models.numpy()).all()
        each = np.arange(rows, dtype=np.float32)
        assert ((models * each).numpy() == models.numpy() * each[:, None]).all()
        assert ((-models / 2.0).numpy() == -models.numpy() / 2).all()
        largest = models.copy().top_k(0.5).numpy()
        assert ((largest != 0).sum(axis=1) <= 3925).all()
        assert np.allclose(models.norms(), np.linalg.norm(models.numpy().astype(float), axis=1))
        assert (models.gather([1, 1]).numpy() == models.numpy()[[1, 1]]).all()
        assert np.allclose(models.mean().numpy()[0], models.numpy().mean(axis=0), atol=1e-6)
        assert round.alive.all() and round.edges.shape == (10, 2)
        with pytest.raises(ValueError, match=r"set: the array is of shape \[2, 2\], needed \[10, 7850\]"):
            models.set(np.zeros((2, 2), np.float32))
        wrong = models.numpy().copy()
        wrong[3, 4] = np.nan
        with pytest.raises(ValueError, match=r"set: the array is nan at \[3, 4\], needed finite numbers"):
            models.set(wrong)
        with pytest.raises(ValueError, match="found 3 numbers, needed one"):
            models *= [1.0, 2.0, 3.0]
        with pytest.raises(ValueError, match="set: the array is of type int64, needed floating-point numbers"):
            models.set(np.zeros((rows, parameters), int))
        with pytest.raises(TypeError):
            models * "two"


def test_stacks_are_arrays(experiment: Experiment) -> None:
    records_of({**with_algorithm(experiment, "arrays"), "rounds": 2})


def test_two_threads_run_methods_at_the_same_time(experiment: Experiment) -> None:
    told: dict[int, list[dict[str, Any]]] = {}

    def work(seed: int) -> None:
        base = with_algorithm({**experiment, "seed": seed}, "choco")
        told[seed] = records_of(base)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(told) == [1, 2]


def test_the_interpreter_can_end_while_a_method_runs() -> None:
    script = f"""
import sys, threading
sys.path.insert(0, {str(Path(__file__).parent)!r})
import meshfold as mf, methods
experiment = {{
    "name": "endless", "dataset": {{"glyphs": {{"train": 600, "test": 100}}}}, "partition": {{"shards": {{"clients": 10}}}},
    "topology": "ring", "model": "logistic",
    "algorithm": {{"own": {{"name": "choco", "batch_size": 20, "learning_rate": 0.1}}}},
    "rounds": 10_000_000, "evaluate": {{"every": 1000}},
}}
began = threading.Event()
run = lambda: mf.run(experiment, progress=False, on_record=lambda *_: began.set())
threading.Thread(target=run, daemon=True).start()
began.wait()
print("over", flush=True)
"""
    # Several at once, so that threads are interrupted wherever they are.
    command, pipe = [sys.executable, "-c", script], subprocess.PIPE
    processes = [subprocess.Popen(command, cwd=folder, text=True, stdout=pipe, stderr=pipe) for folder in _folders(8)]
    for process in processes:
        output, errors = process.communicate(timeout=120)
        assert (process.returncode, output, errors) == (0, "over\n", "")


def _folders(count: int) -> list[Path]:
    folders = [Path(f"process-{number}") for number in range(count)]
    for folder in folders:
        folder.mkdir()
    return folders


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs the proc of Linux")
def test_memory_stays_flat_over_many_rounds(experiment: Experiment) -> None:
    held: list[int] = []

    def look(run: mf.RunInfo, record: dict[str, Any]) -> None:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        held.append(pages * os.sysconf("SC_PAGE_SIZE"))

    base = {**with_algorithm(experiment, "choco"), "rounds": 10_000, "evaluate": {"every": 100}}
    mf.run(base, on_record=look, progress=False)
    assert len(held) == 101
    grown = held[-1] - held[20]
    assert grown < 4_000_000, f"{grown} bytes more after 8,000 rounds"


def test_the_version_of_a_method_holds_the_classes_it_is_made_of() -> None:
    class Half(mf.Method):
        def factor(self) -> float:
            return 0.5

    class Twice(mf.Method):
        def factor(self) -> float:
            return 2.0

    def derived(base: Any) -> Any:
        class Derived(base):  # type: ignore[misc]
            pass

        return Derived

    try:
        assert derived(Half).version == derived(Half).version != derived(Twice).version
    finally:
        for name in ("half", "twice", "derived"):
            del mf._own.METHODS[name]


def test_versions_tell_methods_of_one_name_apart(experiment: Experiment) -> None:
    (first,) = mf.run(with_algorithm(experiment, "choco"), progress=False)

    class Other(methods.Choco):
        name = "choco"
        version = "another"

    try:
        (second,) = mf.run(with_algorithm(experiment, "choco"), progress=False)
    finally:
        mf._own.METHODS["choco"] = methods.Choco
    assert first.id != second.id


@pytest.fixture
def no_new_methods() -> Iterator[None]:
    """Forgets the methods that a test defines."""
    before = dict(mf._own.METHODS)
    yield
    mf._own.METHODS.clear()
    mf._own.METHODS.update(before)


@pytest.mark.usefixtures("no_new_methods")
def test_a_version_tells_classes_of_one_name_apart() -> None:
    versions = []

    class Edited(mf.Method):
        def round(self, models: mf.Stack, round: mf.Round) -> None:
            round.train(models)

    versions.append(Edited.version)

    class Edited(mf.Method):  # type: ignore[no-redef]
        def round(self, models: mf.Stack, round: mf.Round) -> None:
            pass

    versions.append(Edited.version)

    def made(scale: float) -> type[mf.Method]:
        class Scaled(mf.Method):
            factor = scale

            def round(self, models: mf.Stack, round: mf.Round) -> None:
                super().round(models, round)
                models *= scale  # noqa: F841

        return Scaled

    versions += [made(scale).version for scale in (1.0, 0.0)]
    # What is typed into Python has no source.
    for body in ("1", "2"):
        names: dict[str, Any] = {"mf": mf, "__name__": "__main__"}
        exec(f"class Typed(mf.Method):\n    def round(self, models, round): return {body}", names)
        versions.append(names["Typed"].version)
    assert "" not in versions and len(set(versions)) == len(versions)
    assert made(1.0).version == made(1.0).version


@pytest.mark.usefixtures("no_new_methods")
@pytest.mark.parametrize(
    ("attribute", "words"),
    [
        ("momentum: float = 0.9", "all methods have a key `momentum`"),
        ("nesterov: bool = True", "all methods have a key `nesterov`"),
        ("round: int = 3", "`round` is a function of all methods"),
        ("version = 3", "version is 3, needed text"),
        ("name = 3", "name is 3, needed text"),
        ("overlay = 'no'", "overlay is 'no', needed true or false"),
    ],
)
def test_attributes_that_cannot_work_are_refused(attribute: str, words: str) -> None:
    with pytest.raises(TypeError, match=words):
        exec(f"class Wrong(mf.Method):\n    {attribute}", {"mf": mf})
    assert "wrong" not in mf._own.METHODS


class Annotated(mf.Method):
    """Says the types of its name and version."""

    name: str = "called_so"  # type: ignore[misc]
    version: str = "7"  # type: ignore[misc]

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        pass


def test_a_name_with_a_type_is_no_key(experiment: Experiment) -> None:
    (run,) = mf.run(with_algorithm(experiment, "called_so"), progress=False)
    (read,) = mf.read(run.folder)
    assert read.config["algorithm"]["own"]["name"] == "called_so"


class Checked(mf.Method):
    """Refuses one key in words, and fails at another."""

    share: float = 0.5

    def check(self) -> None:
        if self.share > 1:
            raise ValueError("the share is above 1")
        print(1 / self.share)

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        pass


def test_an_exception_in_check_has_its_traceback(experiment: Experiment) -> None:
    with pytest.raises(mf.ConfigError) as raised:
        mf.run(with_algorithm(experiment, "checked", share=0.0), progress=False)
    assert "print(1 / self.share)" in raised.value.message and "ZeroDivisionError" in raised.value.message
    with pytest.raises(mf.ConfigError) as raised:
        mf.run(with_algorithm(experiment, "checked", share=2.0), progress=False)
    assert "the share is above 1" in raised.value.message and "Traceback" not in raised.value.message
