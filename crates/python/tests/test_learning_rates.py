"""Learning rates that are functions in Python."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from test_own_methods import records, with_algorithm

import meshfold as mf

Experiment = dict[str, Any]


def of_four_steps(experiment: Experiment, rate: Any, method: str = "dsgd") -> Experiment:
    """A run with a record for each round, whose clients make four local steps in it unless the method makes one."""
    local = {"steps": 1 if method == "gradient_tracking" else 4}
    return {**with_algorithm(experiment, method, learning_rate=rate, local=local), "evaluate": {"every": 1}}


def trained(experiment: Experiment, rate: Any, method: str = "dsgd", **more: Any) -> mf.Run:
    (run,) = mf.run({**of_four_steps(experiment, rate, method), **more}, progress=False)
    assert run.is_finished
    return run


def by_round(round: int) -> float:
    return float(0.4 * 0.5 ** ((round - 1) // 2))


def by_steps(steps: int) -> Any:
    return np.float64(0.2 / (1 + steps / 3))


def by_steps_in_round(steps_in_round: int, initial: float = 0.2) -> float:
    return initial / (1 + steps_in_round / 3)


@pytest.mark.parametrize(
    ("function", "schedule"),
    [
        (by_round, {"step": {"initial": 0.4, "factor": 0.5, "every": 2}}),
        (by_steps, {"inverse_time": {"initial": 0.2, "scale": 3, "per": "step"}}),
        (by_steps_in_round, {"inverse_time": {"initial": 0.2, "scale": 3, "per": "step", "restart": "round"}}),
        (lambda epochs: 0.2 / (1 + epochs / 3), {"inverse_time": {"initial": 0.2, "scale": 3, "per": "epoch"}}),
        (
            lambda epochs_in_round: 0.2 / (1 + epochs_in_round / 3),
            {"inverse_time": {"initial": 0.2, "scale": 3, "per": "epoch", "restart": "round"}},
        ),
        (lambda round, steps_in_round: (1 + round) / (2 + 2 * round) + 0 * steps_in_round, 0.5),
    ],
)
@pytest.mark.parametrize("method", ["dsgd", "my_dsgd"])
def test_a_function_has_the_bits_of_the_schedule_that_it_computes(
    experiment: Experiment, function: Callable[..., Any], schedule: Any, method: str
) -> None:
    mine = trained(experiment, mf.learning_rate(function, label="mine"), method)
    theirs = trained(experiment, schedule, method)
    assert records(mine.folder) == records(theirs.folder)
    assert mine.id != theirs.id


def test_a_function_is_called_once_for_each_value(experiment: Experiment) -> None:
    calls: list[int] = []

    def rate(steps: int) -> float:
        calls.append(steps)
        return 0.1

    trained(experiment, mf.learning_rate(rate))
    assert sorted(calls) == [0, *range(20)], "ten clients of five rounds of four steps; the first value is asked for twice"


def test_a_sweep_may_have_several_functions(experiment: Experiment) -> None:
    rates = [mf.learning_rate(lambda round: 0.1 / round), mf.learning_rate(lambda round: 0.2 / round)]
    runs = mf.run({**experiment, "sweep": {"grid": {"algorithm.*.learning_rate": rates}}}, progress=False)
    first, second = runs
    assert first.id != second.id and records(first.folder) != records(second.folder)
    named = [mf.learning_rate(by_round, label="halving", version="2"), 0.1]
    halving, fixed = mf.run({**experiment, "sweep": {"grid": {"algorithm.dsgd.learning_rate": named}}}, progress=False)
    assert "halving" in halving.label and "0.1" in fixed.label
    assert "halving" in str(halving.settings)


def test_a_run_goes_on_with_the_same_bits(experiment: Experiment) -> None:
    fails = [3]

    def falling(steps: int) -> float:
        if steps >= 8 and fails and fails.pop():
            raise RuntimeError("cut off")
        return 0.3 / math.sqrt(1 + steps)

    rate = mf.learning_rate(falling, version="1")
    more: dict[str, Any] = {"checkpoint": {"every": 1}}
    with pytest.raises(mf.RunFailed, match=r"(?s)in round 3: the learning rate falling-1: .*falling.*cut off"):
        trained(experiment, rate, **more)
    base = of_four_steps(experiment, rate)
    rounds: list[int] = []
    (resumed,) = mf.run({**base, **more}, progress=False, on_record=lambda _, record: rounds.append(record["round"]))
    assert rounds == [3, 4, 5]
    (whole,) = mf.run({**base, **more}, results="whole", progress=False)
    assert records(resumed.folder) == records(whole.folder)


@pytest.mark.parametrize(
    ("rate", "words"),
    [
        (lambda round: "0.1", r"returned '0.1' for round=1, needed a number"),
        (lambda round: np.ones(3), r"needed a number"),
        (lambda round: None, r"returned None for round=1"),
        (lambda steps: -0.1, r"the rate is -0.1 after 0 rounds, 0 local steps and 0 epochs"),
        (lambda steps: math.inf, r"the rate is inf"),
        (lambda steps: 1e39, r"the rate is 1e39|the rate is 1000"),
        (lambda round: 1 / 0, r"(?s)Traceback.*ZeroDivisionError"),
        (lambda round, draws=itertools.count(1): 0.1 * next(draws), r"returned 0.1 and then 0.2 for round=1"),
    ],
)
def test_a_rate_that_is_none_is_told_before_any_run(experiment: Experiment, rate: Any, words: str) -> None:
    with pytest.raises(mf.ConfigError, match=words) as told:
        trained(experiment, mf.learning_rate(rate, label="mine", version="1"))
    assert '"learning_rate": {' in told.value.excerpt


@pytest.mark.parametrize("method", ["dsgd", "my_dsgd", "gradient_tracking", "dfedavgm"])
def test_a_rate_that_fails_later_ends_the_run_and_names_the_round(experiment: Experiment, method: str) -> None:
    def failing(round: int) -> float:
        return 0.1 if round < 3 else 0.1 / (3 - round)

    with pytest.raises(mf.RunFailed, match=r"(?s)in round 3: .*the learning rate failing.*failing.*ZeroDivisionError"):
        trained(experiment, mf.learning_rate(failing), method)
    with pytest.raises(mf.RunFailed, match=r"(?s)in round 4: .*the rate is -1 after 3 rounds, (12|4) local steps"):
        trained(experiment, mf.learning_rate(lambda round: 3.0 - round, label="falling"), method)


def test_methods_know_the_rates_of_a_function(experiment: Experiment) -> None:
    seen: list[Any] = []

    class Asks(mf.Method):
        def round(self, models: mf.Stack, round: mf.Round) -> None:
            seen.append(round.learning_rates)
            _, rates = round.gradients(models)
            seen.append(rates)
            round.send(bytes=0)

    trained(experiment, mf.learning_rate(lambda steps: 1 / (1 + steps)), "asks", rounds=2)
    for rates, wanted in zip(seen, [1, 1, 1 / 2, 1 / 2], strict=True):
        assert rates.tolist() == [np.float32(wanted)] * 10


def test_walks_ask_by_their_visits(experiment: Experiment) -> None:
    walks = {"walkers": 3, "hops": 2, "batch_size": 20, "local": {"epochs": 1}}

    def run(rate: Any) -> mf.Run:
        (run,) = mf.run({**experiment, "sweep": None, "algorithm": {"dfedrw": {**walks, "learning_rate": rate}}}, progress=False)
        return run

    mine = run(mf.learning_rate(lambda epochs: 0.2 / (1 + epochs / 3)))
    assert records(mine.folder) == records(run({"inverse_time": {"initial": 0.2, "scale": 3, "per": "epoch"}}).folder)


def test_a_function_that_cannot_be_called_is_refused() -> None:
    cases: list[tuple[Callable[..., Any], str]] = [
        (lambda: 0.1, "is called by name with `round`"),
        (lambda t: 0.1 / t, r"\(t\) is called by name with `round`"),
        (lambda round, gamma: 0.1, r"\(round, gamma\) is called by name"),
        (lambda round, /: 0.1, "is called by name"),
        (lambda steps, epochs_in_round: 0.1, "counts both steps and epochs"),
        (min, "parameters of min are not known"),
    ]
    for function, words in cases:
        with pytest.raises(ValueError, match=words):
            mf.learning_rate(function)
    with pytest.raises(TypeError, match="found float, needed a function"):
        mf.learning_rate(0.1)  # type: ignore[arg-type]


def test_a_rate_belongs_to_its_key(experiment: Experiment) -> None:
    with pytest.raises(mf.ConfigError, match="belongs to the key `learning_rate`"):
        mf.run({**experiment, "topology": mf.learning_rate(by_round)}, progress=False)
    some = {"fedavg": {"participation": {"clients": 3}, "local": {"epochs": 2}, "batch_size": 20}}
    fedavg = {**experiment, "topology": None, "sweep": None, "rounds": 1}
    with pytest.raises(mf.ConfigError, match="what a client has done before is not counted"):
        mf.run({**fedavg, "algorithm": {"fedavg": {**some["fedavg"], "learning_rate": mf.learning_rate(by_steps)}}}, progress=False)
    for fine in (by_round, by_steps_in_round):
        mf.run({**fedavg, "algorithm": {"fedavg": {**some["fedavg"], "learning_rate": mf.learning_rate(fine)}}}, progress=False)
