"""Membership inference: `evaluate.membership` beside a transcription that tries every threshold and every pair."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from acting import ACTS, Act, Experiment
from numpy.typing import NDArray
from test_own_methods import with_algorithm

import meshfold as mf

Scores = NDArray[np.float64]


@pytest.fixture
def overfitting(experiment: Experiment) -> Experiment:
    """Two clients who hold 40 examples each, and 40 test examples: all of them are guessed at."""
    return {
        **experiment,
        "dataset": {"glyphs": {"train": 80, "test": 40}},
        "partition": {"iid": {"clients": 2}},
        "topology": "complete",
        "rounds": 3,
        "sweep": None,
    }


def scores(outputs: NDArray[Any], labels: NDArray[Any]) -> Scores:
    """The modified entropy of each example, `[B]`, for `outputs` `[B, C]`."""
    p = np.exp(outputs.astype(float))
    p /= p.sum(axis=1, keepdims=True)
    is_label = np.arange(p.shape[1]) == labels[:, None]
    terms = np.where(is_label, (1 - p) * np.log(p), p * np.log1p(-p))
    return np.asarray(-terms.sum(axis=1))


def figures(members: Scores, others: Scores) -> dict[str, float]:
    rates = [((members <= at).mean(), (others <= at).mean()) for at in [-np.inf, *members, *others]]
    ahead = (members[:, None] < others).mean() + (members[:, None] == others).mean() / 2
    return {
        "membership_accuracy": max((tpr + 1 - fpr) / 2 for tpr, fpr in rates),
        "membership_auc": ahead,
        "membership_tpr": max(tpr for tpr, fpr in rates if fpr <= 0.01),
    }


def attacked(experiment: Experiment, do: Act, **membership: Any) -> Any:
    """The table of clients of a run whose rounds are `do`, and whose models are attacked."""
    whole = {**with_algorithm(experiment, "acting", learning_rate=0.5, local={"epochs": 10}), "evaluate": {"membership": membership}}
    ACTS.append(do)
    try:
        return mf.run(whole, progress=False).clients().to_polars()
    finally:
        ACTS.pop()


def look(round: mf.Round, models: mf.Stack) -> list[dict[str, float]]:
    """What attackers find out of each client who have its row of `models`."""
    test = round.examples(np.arange(40), on="test")
    shards = round.examples(clients=np.arange(2))
    of_test, of_shards = round.outputs(models, test), round.outputs(models, shards)
    one_of = [figures(scores(of_shards[row], shards.labels[row]), scores(of_test[row], test.labels[row])) for row in range(2)]
    return one_of


@pytest.mark.parametrize("is_sent", [False, True])
def test_figures_are_those_of_every_threshold(overfitting: Experiment, is_sent: bool) -> None:
    found = []

    def mixed(models: mf.Stack, round: mf.Round) -> None:
        round.train(models)
        if is_sent:
            found.append(look(round, models))
        round.send(models)
        models.mix(round.mixing)
        # What is sent later in the round is not attacked.
        round.send(models)
        if not is_sent:
            found.append(look(round, models))

    table = attacked(overfitting, mixed, models="sent" if is_sent else "after_round")
    for round, expected in enumerate(found, start=1):
        rows = table.filter(table["round"] == round).sort("row")
        for name in expected[0]:
            assert rows[name].to_list() == pytest.approx([of_client[name] for of_client in expected]), (round, name)
    assert max(of_client["membership_accuracy"] for of_client in found[-1]) > 0.6
    at_start = table.filter(table["round"] == 0)["membership_auc"].to_list()
    assert at_start == [None, None] if is_sent else None not in at_start


def test_a_method_that_shows_no_models_is_warned_of(overfitting: Experiment) -> None:
    def silent(models: mf.Stack, round: mf.Round) -> None:
        round.train(models)
        round.send()
        models.mix(round.mixing)

    def aside(models: mf.Stack, round: mf.Round) -> None:
        round.train(models)
        round.send(models.copy())
        models.mix(round.mixing)

    def told(models: mf.Stack, round: mf.Round) -> None:
        round.train(models)
        round.send(models)
        models.mix(round.mixing)

    for do in (silent, aside):
        with pytest.warns(UserWarning, match=r"evaluate\.membership has no models to attack: the method `acting` never calls round\.send\(models\)"):
            table = attacked(overfitting, do, models="sent")
        assert table["membership_auc"].null_count() == len(table)
    attacked(overfitting, told, models="sent")


@pytest.mark.parametrize(
    "keys",
    [
        {"name": "muffliato", "noise": 0.0, "norm": None, "gossips": 3},
        {"name": "k_gt"},
        {"name": "led"},
        {"name": "gossip_pga", "period": 2},
        {"name": "coordinate_median"},
    ],
)
def test_published_methods_show_what_they_send(overfitting: Experiment, keys: dict[str, Any]) -> None:
    own = {"batch_size": 10, "learning_rate": 0.5, "local": {"steps": 5}, **keys}
    whole = {**overfitting, "algorithm": {"own": own}, "evaluate": {"membership": {"models": "sent"}}}
    table = mf.run(whole, progress=False).clients().to_polars()
    sent = table.filter((table["round"] > 0) & table["membership_auc"].is_not_null())["round"].unique().sort().to_list()
    assert sent == ([1, 3] if keys["name"] == "gossip_pga" else [1, 2, 3])
