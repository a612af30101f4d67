"""Attributes that no checkpoint holds are told if rounds change them."""

from __future__ import annotations

import collections
import functools
from typing import Any

import numpy as np
import pytest
from test_own_methods import Experiment, records_of, warned, with_algorithm

import meshfold as mf
from meshfold import _late, _unkept


class Forgetful(mf.Method):
    """Keeps its state where no checkpoint holds it."""

    changes: bool = True

    def start(self, models: mf.Stack) -> None:
        self.kept = models.zeros_like()
        self._copies = models.zeros_like()
        self._settings: dict[str, Any] = {"first": np.arange(3), "names": ["a"]}
        self._all = [self.kept, self._copies]

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        round.train(models)
        self.kept += models
        if self.changes:
            self._copies += models
            self._settings["first"][0] += 1


class Nested(mf.Method):
    """Has a method within that keeps stacks and numbers."""

    def start(self, models: mf.Stack) -> None:
        self._inner_method = Forgetful()
        self._inner_method.start(models)

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        self._inner_method.changes = False
        self._inner_method.round(models, round)


class Careful(mf.Method):
    """Makes what has an underscore in `start`, or once in a round, or anew and the same."""

    def start(self, models: mf.Stack) -> None:
        self._first = models.copy()
        self._draws = np.random.default_rng(1)
        self._later: Any = None

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        round.train(models)
        if self._later is None:
            self._later = round.shard_sizes.copy()
        self._again = np.random.default_rng(round.seed).random(3)
        self._word = f"round {round.number}"


def told(experiment: Experiment, name: str, every: int | None = 1, **keys: Any) -> list[str]:
    checkpoint = None if every is None else {"every": every}
    return warned(with_algorithm(experiment, name, **keys), checkpoint=checkpoint, name=f"{name} {every} {keys}")


def test_what_rounds_change_is_told_once(experiment: Experiment) -> None:
    # The list of both stacks has changed with one of them.
    (warning,) = told(experiment, "forgetful")
    assert warning.startswith(
        "the method `forgetful`: `self._all` and `self._copies` and `self._settings` have changed in the rounds, and no checkpoint holds"
    )
    assert "Call them `self.all` and `self.copies` and `self.settings` if they should be kept" in warning
    assert told(experiment, "forgetful", changes=False) == [], "the stack in the list is kept by its other name"
    assert told(experiment, "forgetful", every=None) == [], "there is no checkpoint"
    assert told(experiment, "careful") == []


def test_a_method_within_is_looked_into(experiment: Experiment) -> None:
    (warning,) = told(experiment, "nested")
    assert "`self._inner_method` has changed in the rounds" in warning and "Call it `self.inner_method` if it should be kept" in warning


class Drawing(mf.Method):
    """Keeps a generator, and an array beside it if that is asked for."""

    more: bool = False

    def start(self, models: mf.Stack) -> None:
        self._draws = np.random.default_rng(1)
        self._sum = np.zeros(1)

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        round.train(models)
        self._sum += self._draws.random() if self.more else 0 * self._draws.random()


def test_a_generator_is_to_be_made_in_each_round(experiment: Experiment) -> None:
    (warning,) = told(experiment, "drawing")
    assert "Make a generator in each round, `np.random.default_rng([round.seed, round.number])`" in warning and "Call" not in warning
    (warning,) = told(experiment, "drawing", more=True)
    assert "Make a generator in each round" in warning and "Call `self._sum` `self.sum` if it should be kept" in warning


@pytest.mark.filterwarnings("ignore:the method `forgetful`")
def test_records_stay_the_same(experiment: Experiment) -> None:
    base = with_algorithm(experiment, "forgetful")
    assert records_of({**base, "checkpoint": {"every": 1}, "name": "watched"}) == records_of({**base, "name": "unwatched"})


class Plain:
    """An object of a user's."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.itself = self

    @functools.cached_property
    def double(self) -> int:
        return 2 * self.count


def changed(before: Any, after: Any) -> bool:
    """Whether a change of an attribute is told."""
    method = mf.Method()
    method._held = before  # type: ignore[attr-defined]
    _unkept.watch(method)
    method._held = after  # type: ignore[attr-defined]
    with _late.heard():
        _unkept.expect_unchanged(method)
        return bool(_late.take())


@pytest.fixture(autouse=True)
def named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mf.Method, "name", "plain", raising=False)


def test_numbers_are_found_in_all_that_holds_them() -> None:
    generator = np.random.default_rng(1)
    used = np.random.default_rng(1)
    used.random()
    pairs: list[tuple[Any, Any]] = [
        (1, 2),
        (1, 1.0),
        (True, False),
        (np.zeros(2), np.array([0.0, -0.0])),
        (np.float32(1), np.float32(2)),
        (np.array(1), np.array(2)),
        (np.zeros((0, 2)), np.zeros((1, 2))),
        (np.asfortranarray([[1, 2], [3, 4]]), np.array([[1, 3], [2, 4]])),
        ([], [1]),
        ([1, [2, {3}]], [1, [2, {4}]]),
        ({"a": np.zeros(2)}, {"a": np.ones(2)}),
        ({"a": 1}, {"b": 1}),
        (collections.deque([1]), collections.deque([1, 2])),
        (Plain(1), Plain(2)),
        (generator, used),
        (np.array([1, None], object), np.array([2, None], object)),
    ]
    for before, after in pairs:
        assert changed(before, after), (before, after)
        assert not changed(before, before), before


def test_what_has_no_numbers_or_may_be_a_cache_is_not_told() -> None:
    cached = Plain(1)
    assert cached.double == 2
    pairs: list[tuple[Any, Any]] = [
        ("a", "b"), (None, 3), ([], ["a"]), (Plain(1), cached), (Plain, changed), (print, len), (np, pytest)
    ]  # fmt: skip
    for before, after in pairs:
        assert not changed(before, after), (before, after)


def test_tensors_are_numbers() -> None:
    torch = pytest.importorskip("torch")
    assert changed(torch.zeros(2), torch.ones(2)) and not changed(torch.zeros(2), torch.zeros(2))
    assert changed(torch.nn.Linear(2, 1), torch.nn.Linear(2, 1))


def test_what_cannot_be_read_is_not_told() -> None:
    class Closed:
        @property
        def __dict__(self) -> Any:  # type: ignore[override]
            raise RuntimeError

    assert not changed([1, Closed()], [2, Closed()])
