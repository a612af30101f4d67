"""Steps that a method makes itself, and what has no effect for such a method."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from acting import ACTS, act
from conftest import Halt, halt_at
from test_own_methods import Experiment, records, warned, with_algorithm

import meshfold as mf

NETWORK = {"links": {"fixed": {"bytes_per_second": 1e6}}, "compute": {"seconds_per_step": 0.5}}


class ByItself(mf.Method):
    """Makes steps without `round.train`."""

    how: str = ""

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        round.send(bytes=0)
        models *= 0.9
        if self.how == "counts":
            round.count(steps=2)
        if self.how == "reads":
            assert round.settings["momentum"] == 0.5


def test_steps_of_its_own_are_counted_as_local_steps(experiment: Experiment) -> None:
    def count(models: mf.Stack, round: mf.Round) -> None:
        before = models.numpy().copy()
        round.count(steps=3)
        round.count(np.arange(10))
        round.count([1] + [0] * 9, examples=7)
        assert (models.numpy() == before).all()

    # Shards of 60 and batches of 20.
    (record,) = act(experiment, count, network=NETWORK)[-1:]
    assert record["local_steps"] == 30 + 45 + 1
    assert record["examples_seen"] == 75 * 20 + 7
    (run,) = mf.run({**with_algorithm(experiment, "by_itself", how="counts"), "network": NETWORK}, progress=False)
    last = run.metrics().to_polars().row(-1, named=True)
    assert last["simulated_seconds"] == pytest.approx(5 * 2 * 0.5) and last["local_steps"] == 5 * 2 * 10


def test_counted_steps_are_those_that_training_counts(experiment: Experiment) -> None:
    def counts(models: mf.Stack, round: mf.Round) -> None:
        assert round.local_steps[~round.alive].sum() == 0
        round.count(steps=round.local_steps)

    def trains(models: mf.Stack, round: mf.Round) -> None:
        round.train(models)

    failing: dict[str, Any] = {"failures": [{"clients": {"list": [1, 4, 8]}, "from_round": 2}]}
    mine, other = (act(experiment, do, rounds=3, keys={"batch_size": 60, "local": {"steps": 2}}, **failing) for do in (counts, trains))
    for key in ("local_steps", "examples_seen"):
        assert [record[key] for record in mine] == [record[key] for record in other], key

    def all_of_them(models: mf.Stack, round: mf.Round) -> None:
        round.count(steps=1)

    assert act(experiment, all_of_them, rounds=2, **failing)[-1]["local_steps"] == 10 + 7, "who takes no part makes no steps"


def test_counts_are_the_same_in_a_run_that_was_resumed(experiment: Experiment) -> None:
    long = {**with_algorithm(experiment, "by_itself", how="counts"), "rounds": 6, "checkpoint": {"every": 2}}
    with pytest.raises(Halt):
        mf.run(long, progress=False, callbacks=[halt_at(4)])
    (parts,) = mf.run(long, progress=False)
    (whole,) = mf.run(long, progress=False, results="whole")
    assert records(parts.folder) == records(whole.folder)


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"steps": -1}, ValueError, "count: `steps` has -1 for client 0, needed whole numbers from 0 to 2147483647"),
        ({"steps": [1] * 9}, ValueError, "count: `steps` has 9 numbers, needed one for all clients, or one for each of 10"),
        ({"steps": 0.5}, TypeError, "count: `steps` needs whole numbers"),
        ({"steps": 1, "examples": -1}, ValueError, "count: `examples` has -1 for client 0"),
        ({"steps": 1, "examples": [1]}, ValueError, "count: `examples` has 1 numbers"),
    ],
)
def test_counts_that_cannot_be_are_refused(experiment: Experiment, arguments: dict[str, Any], error: type[Exception], words: str) -> None:
    def do(models: mf.Stack, round: mf.Round) -> None:
        with pytest.raises(error, match=words):
            round.count(**arguments)

    act(experiment, do)
    assert ACTS == []


def test_what_has_no_effect_without_local_steps_is_told(experiment: Experiment) -> None:
    def told(how: str = "", network: Any = None, **keys: Any) -> list[str]:
        return warned(with_algorithm(experiment, "by_itself", how=how, **keys), network=network)

    begin = "the method `by_itself` calls neither round.train nor round.gradients"
    uncounted = ". It counts no local steps and no examples, and its work takes no simulated time: count"
    (words,) = told(momentum=0.5)
    assert words.startswith(f"{begin}. algorithm.own.momentum has no effect{uncounted}") and "round.count(steps=...)" in words
    (words,) = told(local={"steps": 5}, weight_decay=0.1)
    assert words.startswith(f"{begin}. algorithm.own.local and algorithm.own.weight_decay have no effect{uncounted}")
    (words,) = told(network=NETWORK)
    assert words.startswith(f"{begin}{uncounted}")
    assert told(how="counts", momentum=0.5) == [f"{begin}. algorithm.own.momentum has no effect"]
    assert told() == told(how="counts", network=NETWORK) == told(how="reads", momentum=0.5) == []
