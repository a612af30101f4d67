"""Membership inference: `evaluate.membership` beside a transcription that tries every threshold and every pair."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from acting import ACTS, Act, Experiment
from numpy.typing import NDArray
from test_own_methods import with_algorithm

import meshfold as mf
import meshfold.methods

Scores = NDArray[np.float64]
METHODS = {method.name: method for method in vars(meshfold.methods).values() if isinstance(method, type) and issubclass(method, mf.Method)}


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
    return [figures(scores(of_shards[row], shards.labels[row]), scores(of_test[row], test.labels[0])) for row in range(2)]


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
        with pytest.warns(UserWarning, match=r"evaluate\.membership has no models to attack: in the rounds that are judged, the method `acting` sends none"):
            table = attacked(overfitting, do, models="sent")
        assert table["membership_auc"].null_count() == len(table)
    attacked(overfitting, told, models="sent")


def test_models_of_another_stack_are_attacked_where_a_method_says_so(overfitting: Experiment) -> None:
    found = []

    def noisy(models: mf.Stack, round: mf.Round) -> None:
        round.train(models)
        sent = models.copy()
        sent.set(sent.numpy() + np.random.default_rng(round.number).normal(size=sent.shape) / 10)
        round.send(sent.copy())
        round.send(sent, models=True)
        found.append(look(round, sent))
        models.set(sent.mix(round.mixing))

    table = attacked(overfitting, noisy, models="sent")
    rows = table.filter(table["round"] == 3).sort("row")
    assert rows["membership_auc"].to_list() == pytest.approx([of_client["membership_auc"] for of_client in found[-1]])
    assert rows["membership_examples"].to_list() == [40, 40]

    def few(models: mf.Stack, round: mf.Round) -> None:
        round.train(models)
        round.send(models.gather([0]), edges=[[0, 1]], models=True)

    def nothing(models: mf.Stack, round: mf.Round) -> None:
        round.send(models=True)

    for do, why in ((few, "the stack has 1 rows, needed those of 2 clients with `models=True`"), (nothing, "there is none")):
        with pytest.raises(mf.RunFailed, match=why):
            attacked(overfitting, do)


def test_clients_that_send_to_nobody_are_not_attacked(overfitting: Experiment) -> None:
    def one_way(models: mf.Stack, round: mf.Round) -> None:
        round.train(models)
        round.send(models, edges=[[1, 0]])

    table = attacked(overfitting, one_way, models="sent")
    last = table.filter(table["round"] == 3).sort("row")["membership_auc"].to_list()
    assert last[0] is None and last[1] is not None


#: What goes over the network with these is no model: parts, differences, or models of other rounds.
WITHOUT_MODELS = {
    "ad_psgd",
    "beer",
    "choco_sgd",
    "deep_squeeze",
    "dfed_alt",
    "dfed_salt",
    "dfedpgp",
    "dispfl",
    "div_share",
    "fed_async",
    "fed_buff",
    "gossip_learning",
    "lead",
    "relay_sgd",
    "sparse_sharing",
    "squarm_sgd",
    "swift",
    "teleportation",
}


@pytest.mark.filterwarnings("ignore::meshfold.MeshfoldWarning")
@pytest.mark.parametrize("name", sorted(METHODS))
def test_published_methods_say_whether_they_send_models(experiment: Experiment, name: str) -> None:
    own = {"name": name, "batch_size": 1 if name == "dp_dsgd" else 10, "learning_rate": 0.05, "local": {"steps": 2}}
    own |= {"dp_dsgd": {"lot": 4}, "pens": {"search": 3}}.get(name, {})
    whole = {**experiment, "algorithm": {"own": own}, "evaluate": {"membership": {"models": "sent"}}, "sweep": None, "rounds": 3}
    whole["topology"] = "path" if name == "relay_sgd" else "ring"
    if not METHODS[name].overlay:
        del whole["topology"]
    if name in WITHOUT_MODELS:
        with pytest.raises(mf.ConfigError, match="no client of this method sends its whole model"):
            mf.plan(whole)
        return
    table = mf.run(whole, progress=False).clients().to_polars()
    of_rounds = table.filter(table["round"] > 0)
    assert of_rounds["membership_auc"].null_count() == (10 if name == "slow_mo" else 0) * 3, name


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
