"""Rounds that change what all runs share are told."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest
from test_own_methods import Experiment, warned, with_algorithm

import meshfold as mf
from meshfold import _own, _shared

Body = Callable[[Any, mf.Round], object]


class Tracker:
    """Keeps results, of which it reads the last one if it is asked for it."""

    def __init__(self) -> None:
        self.all: list[float] = []
        self.last = 0.0

    def log(self, value: float) -> None:
        self.all.append(value)
        self.last = value

    def again(self) -> float:
        return self.last


state: dict[str, Any] = {"n": 0}
seen: list[float] = []
count = 0
record = SimpleNamespace(last=0)
tracker, told = Tracker(), Tracker()
cache: dict[int, Any] = {}
table: Any = None
draws = np.random.default_rng(1)
results: list[float] = []
sums = np.zeros(3_000_000)


def adds_to_a_dict(self: Any, round: mf.Round) -> None:
    state["n"] += 1
    round.record("n", state["n"])


def reads_a_list(self: Any, round: mf.Round) -> None:
    seen.append(round.number)
    round.record("n", len(seen))


def counts(self: Any, round: mf.Round) -> None:
    global count
    count += 1
    round.record("n", count)


def sets_an_attribute(self: Any, round: mf.Round) -> None:
    record.last += round.number
    round.record("n", record.last)


def asks_an_object(self: Any, round: mf.Round) -> None:
    tracker.log(round.number)
    round.record("n", tracker.again())


def adds_to_an_array(self: Any, round: mf.Round) -> None:
    sums[:] = sums + 1
    round.record("n", sums[0])


def changes_its_class(self: Any, round: mf.Round) -> None:
    self.held["n"] += 1


def sets_on_its_class(self: Any, round: mf.Round) -> None:
    type(self).held = round.number


def remembers(self: Any, round: mf.Round, memory: list[float] = [1.0]) -> None:
    memory[0] *= 0.9
    round.record("n", memory[0])


def asks_a_helper(self: Any, round: mf.Round) -> None:
    round.record("n", decayed())


def decayed(*, memory: dict[str, float] = {"rate": 1.0}) -> float:
    memory["rate"] *= 0.9
    return memory["rate"]


def helper() -> int:
    return 1


helper.calls = 0  # type: ignore[attr-defined]


def sets_on_a_function(self: Any, round: mf.Round) -> None:
    helper.calls += helper()  # type: ignore[attr-defined]
    round.record("n", helper.calls)  # type: ignore[attr-defined]


class State:
    """What all objects share."""

    decay = 1.0
    total = 0
    log: ClassVar[list[int]] = []

    def add(self, number: int) -> int:
        type(self).total += number
        return self.total

    def note(self, number: int) -> None:
        self.log.append(number)


def sets_on_a_class(self: Any, round: mf.Round) -> None:
    State.decay *= 0.9
    round.record("n", State.decay)


def sets_on_a_function_of_a_class(self: Any, round: mf.Round) -> None:
    State.note.calls = getattr(State.note, "calls", 0) + 1  # type: ignore[attr-defined]
    round.record("n", State.note.calls)  # type: ignore[attr-defined]


def asks_an_object_of_a_class(self: Any, round: mf.Round) -> None:
    round.record("n", State().add(round.number))


CHANGING: list[tuple[Body, str]] = [
    (remembers, "the default `memory` of `remembers`"),
    (asks_a_helper, "the default `memory` of `decayed`"),
    (sets_on_a_function, "`helper.calls`"),
    (sets_on_a_class, "`State.decay`"),
    (sets_on_a_function_of_a_class, "`State.note.calls`"),
    (asks_an_object_of_a_class, "`State.total`"),
    (adds_to_a_dict, "`state`"),
    (reads_a_list, "`seen`"),
    (counts, "`count`"),
    (sets_an_attribute, "`record"),
    (asks_an_object, "`tracker"),
    (adds_to_an_array, "`sums`"),
    (changes_its_class, "`Mine.held`"),
    (sets_on_its_class, "`Mine.held`"),
]


def only_keeps_results(self: Any, round: mf.Round) -> None:
    global table
    results.append(round.number)
    told.log(float(round.number))


def has_a_cache(self: Any, round: mf.Round) -> None:
    if round.number not in cache:
        cache[round.number] = np.full(3, round.number)
    round.record("n", cache[round.number][0])


def makes_something_once(self: Any, round: mf.Round) -> None:
    global table
    table = table or [1, 2]
    round.record("n", table[0])


@functools.lru_cache
def doubled(number: int) -> int:
    return 2 * number


def uses_a_cached_function(self: Any, round: mf.Round) -> None:
    round.record("n", doubled(round.number))


def has_its_own(self: Any, round: mf.Round) -> None:
    self.held = round.number


def has_a_cache_as_its_default(self: Any, round: mf.Round, kept: dict[int, Any] = {}, results: list[int] = []) -> None:
    results.append(round.number)
    State().note(round.number)
    round.record("n", kept.setdefault(round.number, np.full(3, round.number))[0])


STEADY: list[Body] = [has_a_cache_as_its_default, only_keeps_results, has_a_cache, makes_something_once, uses_a_cached_function, has_its_own]


@pytest.fixture(autouse=True)
def methods(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(_shared, "_ROUNDS", 2)
    before = dict(_own.METHODS)
    yield
    _own.METHODS.clear()
    _own.METHODS.update(before)


def warnings_of(experiment: Experiment, body: Body) -> list[str]:
    class Mine(mf.Method):
        version = body.__name__
        held: ClassVar[Any] = {"n": 0}

        def round(self, models: mf.Stack, round: mf.Round) -> None:
            round.send(bytes=0)
            body(self, round)

    return warned(with_algorithm(experiment, "mine"), name=body.__name__)


@pytest.mark.parametrize(("body", "names"), CHANGING)
def test_what_rounds_change_and_all_runs_share_is_told(experiment: Experiment, body: Body, names: str) -> None:
    (warning,) = warnings_of(experiment, body)
    assert warning.startswith(f"the method `mine`: its rounds have changed {names}") and "which all runs of this process share" in warning


@pytest.mark.parametrize("body", STEADY)
def test_results_caches_and_what_the_object_keeps_are_not(experiment: Experiment, body: Body) -> None:
    assert warnings_of(experiment, body) == []


def draws_of_numpy(self: Any, round: mf.Round) -> None:
    round.record("n", np.random.rand())


def draws_of_python(self: Any, round: mf.Round) -> None:
    round.record("n", random.random())


def draws_of_its_own(self: Any, round: mf.Round) -> None:
    round.record("n", np.random.default_rng([round.seed, round.number]).random())


def test_draws_from_generators_that_all_share_are_told(experiment: Experiment) -> None:
    (warning,) = warnings_of(experiment, draws_of_numpy)
    assert "somebody drew from NumPy's global generator" in warning and "np.random.default_rng([round.seed, round.number])" in warning
    (warning,) = warnings_of(experiment, draws_of_python)
    assert "somebody drew from Python's module `random`" in warning
    assert warnings_of(experiment, draws_of_its_own) == []
