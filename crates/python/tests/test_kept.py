"""What methods written in Python keep between rounds."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
from test_own_methods import Experiment, records, warned, with_algorithm

import meshfold as mf
from meshfold import _kept


#: The rounds in which the methods below fail, once each.
FAILS: list[int] = []


def perhaps_fail(round: mf.Round) -> None:
    if round.number in FAILS:
        FAILS.remove(round.number)
        raise RuntimeError("cut off")


def cut_off_and_resumed(experiment: Experiment, after: int) -> mf.Run:
    """A run that fails after a round, and goes on from there."""
    base = {**experiment, "checkpoint": {"every": 1}, "evaluate": {"every": 1}}
    FAILS.append(after + 1)
    with pytest.raises(mf.RunFailed, match="cut off"):
        mf.run(base, results="parts", progress=False)
    rounds: list[int] = []
    (run,) = mf.run(base, results="parts", progress=False, on_record=lambda _, record: rounds.append(record["round"]))
    assert rounds == list(range(after + 1, 6)), "it went on from there"
    return run


def resumed_and_whole(experiment: Experiment, name: str) -> tuple[mf.Run, mf.Run]:
    """A run that was cut off after round 2 and went on, and one that was not."""
    base = with_algorithm(experiment, name)
    parts = cut_off_and_resumed(base, 2)
    (whole,) = mf.run({**base, "evaluate": {"every": 1}, "checkpoint": {"every": 1}}, results="whole", progress=False)
    assert records(parts.folder) == records(whole.folder)
    return parts, whole


#: What the methods below had in their last round.
SEEN: list[Any] = []


class Everything(mf.Method):
    """Keeps values of all types, of which some are new, larger or of another type after `start`."""

    decay: float = 1.0
    mode: str = "warm"
    count = 0

    def start(self, models: mf.Stack) -> None:
        self.scalar = np.float64(1.0)
        self.large = 2**60
        self.array = np.array([2**60, -1])
        self.small = np.zeros(3, np.int8)
        self.columns = np.asfortranarray(np.ones((2, 3)))
        self.best = float("inf")
        self.number: float = 1
        self.grows = np.zeros(0)

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        perhaps_fail(round)
        round.train(models)
        self.count += 1
        self.decay *= 0.5
        self.mode += str(round.number)
        self.scalar *= 0.5
        self.large += 1
        self.array[0] += 1
        self.small += np.int8(1)
        self.columns *= np.nan if round.number == 1 else 1.0
        self.number /= 2
        self.grows = np.append(self.grows, self.best)
        self.twin = self.grows
        models *= float(1 - self.scalar * self.decay / 8)
        SEEN[:] = sorted((name, value) for name, value in vars(self).items() if not name.startswith("_"))


def test_all_that_a_method_keeps_comes_back_with_all_bits(experiment: Experiment) -> None:
    resumed_and_whole(experiment, "everything")
    whole = dict(SEEN)
    SEEN.clear()
    cut_off_and_resumed({**with_algorithm(experiment, "everything"), "name": "again"}, 4)
    resumed = dict(SEEN)
    assert resumed.keys() == whole.keys()
    for name, value in whole.items():
        assert type(resumed[name]) is type(value), name
        assert np.asarray(resumed[name]).tobytes() == np.asarray(value).tobytes(), name
    assert resumed["large"] == 2**60 + 5 and resumed["mode"] == "warm12345" and resumed["count"] == 5
    assert resumed["twin"] is resumed["grows"] and resumed["columns"].flags.f_contiguous


class Views(mf.Method):
    """Keeps views of an array: of a row, a column backwards, a number, and of one whose order is that of Fortran."""

    pair: tuple[float, ...] = (1.0,)

    def start(self, models: mf.Stack) -> None:
        self.buffer = np.zeros((2, 3))
        self.a_row = self.buffer[0]
        self.zz_column = self.buffer[::-1, 2]
        self.number = self.buffer[1, 1:2]
        self.alias = self.a_row
        self.columns = np.asfortranarray(np.zeros((3, 2), np.float32))
        self.first = self.columns[:, 0]

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        perhaps_fail(round)
        self.a_row += 1
        self.zz_column *= 2
        self.number += round.number
        self.alias[0] += 3
        self.columns *= 2
        self.first += 1
        self.pair = (*self.pair, 0.5)
        round.record("sum", float(self.buffer.sum() + self.a_row.sum() + self.zz_column[1] + self.columns.sum() + sum(self.pair)))
        round.send(bytes=0)


def test_views_stay_views(experiment: Experiment) -> None:
    resumed_and_whole(experiment, "views")


class Overlapping(mf.Method):
    """Keeps two parts of an array, but not the array."""

    apart: bool = False

    def start(self, models: mf.Stack) -> None:
        whole = np.zeros(6)
        self.first, self.second = whole[:4], whole[4 if self.apart else 3 :]

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        self.first += 1
        round.send(bytes=0)


def test_parts_of_an_array_that_is_not_kept_are_told(experiment: Experiment) -> None:
    def told(**keys: Any) -> list[str]:
        return warned(with_algorithm(experiment, "overlapping", **keys), checkpoint={"every": 1}, name=str(keys))

    (warning,) = told()
    assert "`self.first` and `self.second` share memory, and no checkpoint can keep that" in warning
    assert told(apart=True) == []


class Late(mf.Method):
    """Has stacks that are new after `start`, two names for one, and one of another number of rows."""

    def start(self, models: mf.Stack) -> None:
        self.former = models.copy()
        self.mean = models.copy()
        self.pair = self.former

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        self.late: mf.Stack
        self.twin: mf.Stack
        perhaps_fail(round)
        round.train(models)
        if round.number > 1:
            assert self.twin is self.late and self.pair is not self.former
            models.add_scaled(self.late - self.former, 0.1)
            self.late += models
            models.add_scaled(self.twin, 0.01).add_scaled(self.pair, 0.02)
            assert self.mean.shape[0] == 1
        self.former, self.late, self.mean = models.copy(), models.copy(), models.mean()
        self.pair = self.late * 2
        self.twin = self.late
        models.mix(round.mixing)


def test_stacks_that_a_round_makes_come_back(experiment: Experiment) -> None:
    resumed_and_whole(experiment, "late")


class OfJax(mf.Method):
    """Keeps an array of JAX."""

    def start(self, models: mf.Stack) -> None:
        import jax.numpy as jnp

        self.sum = jnp.zeros(3)

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        perhaps_fail(round)
        round.train(models)
        self.sum = self.sum + round.number
        models *= 1 - float(self.sum[0]) / 100


def test_arrays_of_jax_come_back(experiment: Experiment) -> None:
    pytest.importorskip("jax")
    resumed_and_whole(experiment, "of_jax")


class Stubborn(mf.Method):
    """Does not let its number be restored."""

    def start(self, models: mf.Stack) -> None:
        self.count = 0

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "count" and value == 2:
            raise RuntimeError("not this number")
        super().__setattr__(name, value)

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        perhaps_fail(round)
        vars(self)["count"] += 1


def test_a_run_fails_where_its_state_cannot_be_restored(experiment: Experiment) -> None:
    with pytest.raises(mf.RunFailed, match="not this number"):
        resumed_and_whole(experiment, "stubborn")


class Tensors(mf.Method):
    """Keeps an array that no checkpoint can hold."""

    def start(self, models: mf.Stack) -> None:
        import torch

        self.sum = torch.zeros(3)

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        pass


def test_a_tensor_is_refused_in_words(experiment: Experiment) -> None:
    pytest.importorskip("torch")
    with pytest.raises(mf.RunFailed, match="`self.sum` is of type Tensor, which no checkpoint can hold"):
        mf.run(with_algorithm(experiment, "tensors"), progress=False)


def test_a_large_array_is_not_read_in_each_round() -> None:
    class Large(mf.Method):
        pass

    method = Large()
    method.sum = np.zeros((1000, 10_000))  # type: ignore[attr-defined]
    began = time.perf_counter()
    for _ in range(100):
        assert _kept.stacks_of(method) == []
    assert time.perf_counter() - began < 1.0, "as numbers of Python they take a minute"


class Personal(mf.Method):
    """Keeps a second model of each client, a matrix, two names of one array, a view and a number."""

    share: float = 0.5
    layers: tuple[str, ...] = ("one", "two")

    def start(self, models: mf.Stack) -> None:
        self.mine = models.gather([*range(len(models)), 0])
        self.same = self.mine
        self.weights = np.zeros((3, 4), np.float32)
        self.row = self.weights[1]
        self.best = float("inf")
        self._hidden = 3

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        round.train(self.mine, clients=[*range(round.clients), 0], steps=1)
        self.weights[1] = round.number
        self.best = 1 / round.number
        SEEN[:] = [self.mine.numpy()]


def test_what_a_method_keeps_can_be_read(experiment: Experiment) -> None:
    base = {**with_algorithm(experiment, "personal", share=0.25), "rounds": 3}
    (run,) = mf.run({**base, "checkpoint": {"keep": True}}, progress=False)
    state = run.state()
    assert sorted(state) == ["best", "layers", "mine", "row", "same", "share", "weights"]
    assert isinstance(state["mine"], mf.Stack) and state["same"] is state["mine"]
    assert state["mine"].numpy().tobytes() == SEEN[0].tobytes()
    assert list(state["mine"].by_layer()) == list(run.models().by_layer())
    assert (state["best"], state["share"], state["layers"]) == (1 / 3, 0.25, ("one", "two"))
    assert state["weights"].dtype == np.float32 and state["weights"].tolist() == [[0.0] * 4, [3.0] * 4, [0.0] * 4]
    assert state["row"].tolist() == [3.0] * 4
    (built_in,) = mf.run({**experiment, "sweep": None, "rounds": 1, "checkpoint": {"keep": True}}, progress=False)
    assert built_in.state() == {}
    (without,) = mf.run({**base, "name": "without"}, progress=False)
    with pytest.raises(mf.ResultsError, match="found no checkpoint"):
        without.state()
