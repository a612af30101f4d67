"""Stacks besides the models that stop being finite are told by the call that worked on them."""

from __future__ import annotations

import pytest
from acting import Act, act
from test_own_methods import Experiment

import meshfold as mf


def trains(models: mf.Stack, round: mf.Round) -> None:
    side = models.gather([2, 2, 2])
    side.set(side.numpy() + [[0.0], [float(round.number - 1) * 1e38], [0.0]])
    round.train(side, clients=[1, 4, 7])


def takes_gradients(models: mf.Stack, round: mf.Round) -> None:
    side = models.gather([2, 2, 2])
    side.set(side.numpy() + [[0.0], [float(round.number - 1) * 1e38], [0.0]])
    round.gradients(side, clients=[1, 4, 7])


@pytest.mark.parametrize(("do", "verb"), [(trains, "round.train"), (takes_gradients, "round.gradients")])
def test_a_side_stack_is_told_by_its_call_and_client(experiment: Experiment, do: Act, verb: str) -> None:
    words = f"row 1 of a stack other than `models`, given to {verb} of client 4's examples, became infinite or NaN in round 2"
    with pytest.raises(mf.RunFailed) as raised:
        act(experiment, do, rounds=4)
    assert words in str(raised.value)


def test_the_models_are_told_as_such(experiment: Experiment) -> None:
    def both(models: mf.Stack, round: mf.Round) -> None:
        round.train(models.copy())
        grow = [1.0, 1.0, 1e38, *[1.0] * 7]
        models *= grow
        models *= grow

    with pytest.raises(mf.RunFailed, match="the model of row 2 became infinite or NaN in round"):
        act(experiment, both, rounds=2)
