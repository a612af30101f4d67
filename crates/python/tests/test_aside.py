"""Local steps that stand apart from the training of a run."""

from __future__ import annotations

from typing import Any

import pytest
from acting import Experiment, act

import meshfold as mf

KEYS = {"batch_size": 7, "learning_rate": 0.1, "local": {"steps": 2}, "momentum": 0.9}


def test_steps_aside_leave_no_trace(experiment: Experiment) -> None:
    """They start from the models at hand and have mini-batches of their own, and the run goes on as without them."""

    def plain(models: mf.Stack, round: mf.Round) -> None:
        round.train(models)
        round.send(models)
        models.mix(round.mixing)

    def apart(models: mf.Stack, round: mf.Round) -> None:
        copies = [models.copy() for _ in range(2)]
        for copy in copies:
            round.train(copy, steps=4, aside=True)
        first, second = (copy.numpy() for copy in copies)
        assert (first == second).all()
        assert (first != models.numpy()).any(axis=1).all()
        plain(models, round)

    assert act(experiment, apart, rounds=5, keys=KEYS) == act(experiment, plain, rounds=5, keys=KEYS)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"mu": 5.0}, "train: found `mu` and no `anchor`, needed both"),
        ({"aside": True, "velocity": True}, "train: found `velocity` with `aside=True`, needed none"),
    ],
)
def test_arguments_that_do_not_go_together_are_refused(experiment: Experiment, arguments: dict[str, Any], words: str) -> None:
    def wrong(models: mf.Stack, round: mf.Round) -> None:
        given = {**arguments, **({"velocity": models.zeros_like()} if "velocity" in arguments else {})}
        with pytest.raises(ValueError, match=words):
            round.train(models, **given)

    act(experiment, wrong)
