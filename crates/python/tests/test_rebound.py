"""A `round` that binds its parameter `models` to something else loses what it does to that, and is told so."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from test_own_methods import Experiment, records_of, warned, with_algorithm

import meshfold as mf
from meshfold import _rebound


class Rebinding(mf.Method):
    """Goes on with another stack or array under the name of its parameter, every second round."""

    way: str = "stack"

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        round.train(models)
        round.send(models)
        first = models
        if round.number % 2 == 1:
            return
        if self.way == "stack":
            models = models.copy().mix(round.mixing)
        elif self.way == "array":
            models = models.numpy() + np.float32(1)  # type: ignore[assignment]
        elif self.way == "padded array":
            models = models.numpy(padded=True) + np.float32(1)  # type: ignore[assignment]
        elif self.way == "in place":
            models *= 0.5
        elif self.way == "same stack":
            models = models.mix(round.mixing)
        elif self.way == "set after all":
            models = models.copy().mix(round.mixing)
            first.set(models)
        elif self.way == "something else":
            models = None  # type: ignore[assignment]


class EverySecond(mf.Method):
    """Mixes every second round, without another name."""

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        round.train(models)
        round.send(models)
        if round.number % 2 == 0:
            models.mix(round.mixing)


@pytest.mark.parametrize(("way", "what"), [("stack", "another stack"), ("array", "of type ndarray"), ("padded array", "of type ndarray")])
def test_a_rebound_parameter_is_told(experiment: Experiment, way: str, what: str) -> None:
    told = warned(with_algorithm(experiment, "rebinding", way=way))
    assert len(told) == 1
    assert told[0].startswith(f"the method `rebinding`: at the end of `round`, `models` is no more the stack of the clients' models but {what}")


@pytest.mark.parametrize("way", ["in place", "same stack", "set after all", "something else"])
def test_what_loses_nothing_is_not_told(experiment: Experiment, way: str) -> None:
    assert warned(with_algorithm(experiment, "rebinding", way=way)) == []


def test_watching_changes_nothing(experiment: Experiment) -> None:
    watched = records_of(with_algorithm(experiment, "rebinding", way="same stack"))
    assert watched == records_of(with_algorithm(experiment, "every_second"))


@pytest.mark.parametrize("refused", [{1}, {2, 3}])
def test_a_round_goes_on_where_another_thread_sets_its_profiler(refused: set[int], monkeypatch: pytest.MonkeyPatch) -> None:
    calls, rounds, set_it = [], [], sys.setprofile

    class Rebinding:
        name = "fake"

        def round(self, models: Any, about: Any) -> str:
            models = None  # noqa: F841
            rounds.append(sys.getprofile())
            return "done"

    def refusing(profiler: Any) -> None:
        calls.append(profiler)
        if len(calls) in refused:
            raise RuntimeError("Cannot install a profile function while another profile function is being installed")
        set_it(profiler)

    monkeypatch.setattr(sys, "setprofile", refusing)
    assert _rebound.call_round(Rebinding(), object(), None) == "done"  # type: ignore[arg-type]
    assert len(rounds) == 1 and (rounds[0] is None) == (1 in refused)
    assert sys.getprofile() is None


def test_a_profiler_is_left_alone() -> None:
    seen = []

    class Fake:
        name = "fake"

        def round(self, models: Any, about: Any) -> None:
            models = None  # noqa: F841
            seen.append(sys.getprofile())

    def profiler(frame: Any, event: str, what: Any) -> None: ...

    sys.setprofile(profiler)
    try:
        _rebound.call_round(Fake(), object(), None)  # type: ignore[arg-type]
        assert sys.getprofile() is profiler
    finally:
        sys.setprofile(None)
    assert seen == [profiler]
    _rebound.call_round(Fake(), object(), None)  # type: ignore[arg-type]
    assert sys.getprofile() is None
