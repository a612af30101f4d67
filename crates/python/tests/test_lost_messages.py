"""Messages that are lost on their way, in methods of one's own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from acting import Experiment
from test_own_methods import records, with_algorithm

import meshfold as mf

LOST = [{"messages": {"probability": 0.4}, "from_round": 2}]


class LossyDsgd(mf.Method):
    """D-SGD, as the built-in `dsgd`."""

    may_lose_messages = True

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        round.train(models)
        round.send(models)
        models.mix(round.mixing)


class SureDsgd(LossyDsgd):
    """It does not say what becomes of messages that are lost."""

    may_lose_messages = False


class LossyTimes(LossyDsgd):
    """It has a clock of its own, and loses nothing by it."""

    has_own_clock = True

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        super().round(models, round)
        round.record("seconds", round.number)
        round.record("heard", len(round.edges))


class Unlinked(LossyDsgd):
    """Nothing is sent over an overlay, and no clock is its own."""

    overlay = False

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        round.train(models)


def losing(experiment: Experiment, method: str, **more: Any) -> Experiment:
    return {**with_algorithm(experiment, method, local={"steps": 1}), "failures": LOST, **more}


@pytest.mark.parametrize("topology", ["ring", "complete"])
@pytest.mark.parametrize("stragglers", [None, {"share": 0.3, "policy": "receive"}, {"share": 0.3, "policy": "isolate"}])
def test_an_own_method_mixes_what_arrives_as_a_built_in_one(experiment: Experiment, topology: str, stragglers: Any) -> None:
    def kept(method: str) -> list[dict[str, Any]]:
        (run,) = mf.run(losing(experiment, method, topology=topology, stragglers=stragglers), progress=False)
        return records(run.folder)

    assert kept("lossy_dsgd") == kept("dsgd")


def test_a_method_sees_what_arrives_and_sends_to_all(experiment: Experiment) -> None:
    seen: list[tuple[bool, Any, Any]] = []

    class Watching(LossyDsgd):
        def round(self, models: mf.Stack, round: mf.Round) -> None:
            seen.append((round.directed, round.edges, round.mixing.numpy()))
            super().round(models, round)

    (run,) = mf.run(losing(experiment, Watching.name, topology="ring"), progress=False)
    whole, lossy = seen[0], seen[1:]
    assert not whole[0] and len(whole[1]) == 10
    numbers = {len(edges) for _, edges, _ in lossy}
    assert all(directed for directed, _, _ in lossy) and numbers != {20} and max(numbers) <= 20
    for _, edges, matrix in lossy:
        heard = np.eye(10, dtype=bool)
        heard[edges[:, 1], edges[:, 0]] = True
        assert ((matrix > 0) == heard).all()
        # The weights of neighbours are those of the whole overlay, and what is missing is one's own.
        assert (matrix[~np.eye(10, dtype=bool)] == np.where(heard, whole[2], 0)[~np.eye(10, dtype=bool)]).all()
        assert np.allclose(matrix.sum(axis=1), 1, atol=1e-12)
    (sure,) = mf.run({**losing(experiment, "sure_dsgd", topology="ring"), "failures": None}, progress=False)
    assert [record["bytes_total"] for record in records(run.folder)] == [record["bytes_total"] for record in records(sure.folder)]


def test_a_method_with_a_clock_loses_messages_itself(experiment: Experiment) -> None:
    with pytest.warns(mf.MeshfoldWarning, match="no message was lost: the method `lossy_times` never reads round.loss_probability"):
        (run,) = mf.run(losing(experiment, "lossy_times", topology="ring"), progress=False)
    assert {record["own"]["heard"] for record in records(run.folder)[1:]} == {10}


@pytest.mark.parametrize("method", ["sure_dsgd", "unlinked"])
def test_a_method_that_does_not_take_losses_is_refused(experiment: Experiment, method: str) -> None:
    with pytest.raises(mf.ConfigError, match=rf"failures\.0\.messages: found {method}, needed a method that says `may_lose_messages = True`"):
        mf.plan(losing(experiment, method, topology=None if method == "unlinked" else "ring"))
