"""What plans expect of published methods, beside what runs send."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import meshfold as mf
import meshfold.methods
Experiment = dict[str, Any]

# Of keys without an effect and of few neighbours.
pytestmark = pytest.mark.filterwarnings("ignore::meshfold.MeshfoldWarning")

#: The first round may have less or more than the others, and the last one less. Those between are whole turns of all methods.
ROUNDS = 26
METHODS = {method.name: method for method in vars(meshfold.methods).values() if isinstance(method, type) and issubclass(method, mf.Method)}
#: Keys, beside which all have their defaults.
KEYS: dict[str, dict[str, Any]] = {"dp_dsgd": {"batch_size": 1, "lot": 4}, "dispfl": {"density": 0.3}, "pens": {"search": ROUNDS}}
BYTES, STEPS = "bytes", "steps"
#: What docs/published.md says that plans do not tell, or only as the most that there may be.
UNTOLD: dict[str, set[str]] = {"gossip_learning": {BYTES, STEPS}}
#: By how much a run may differ: `sparse_sharing` draws 188,400 numbers for each message, so that the deviation is .3 % of ten messages; the steps of
#: `prox_skip` have a deviation of 71 % in a round, and 14 % in all; a slot of `teleportation` stays where it is by chance. Four of 26 rounds of
#: `gossip_pga` and `slow_mo` have an exact mean, and of the 24 that are compared.
TOLERANCES: dict[str, float] = {"sparse_sharing": 0.01, "prox_skip": 0.3, "teleportation": 0.05, "gossip_pga": 0.003, "slow_mo": 0.003}


def told(experiment: Experiment, name: str, keys: dict[str, Any]) -> tuple[dict[str, float], dict[str, float]]:
    """Bytes and local steps of a round, as a plan has them, and in the mean over the rounds of a run but the first and the last."""
    training = {"batch_size": 20, "learning_rate": 0.01, "local": {"steps": 3}, **KEYS.get(name, {})}
    base = {**experiment, "algorithm": {"own": {"name": name, **training, **keys}}, "sweep": None, "rounds": ROUNDS, "evaluate": {"every": 1}}
    base["topology"] = "path" if name == "relay_sgd" else "ring"
    if name in METHODS and not METHODS[name].overlay:
        del base["topology"]
    (planned,) = mf.plan(base).to_polars().to_dicts()
    (run,) = mf.run(base, progress=False)
    records = {record["round"]: record for record in run.metrics().to_polars().to_dicts()}
    first, last = records[1], records[ROUNDS - 1]
    done = {of: (last[column] - first[column]) / (ROUNDS - 2) for of, column in ((BYTES, "bytes_total"), (STEPS, "local_steps"))}
    return {BYTES: planned["bytes_per_round"], STEPS: planned["local_steps_per_round"]}, done


@pytest.mark.parametrize("name", sorted(METHODS))
def test_a_plan_expects_what_a_run_of_a_published_method_takes(experiment: Experiment, name: str) -> None:
    planned, done = told(experiment, name, {})
    for of in {BYTES, STEPS} - UNTOLD.get(name, set()):
        assert done[of] == pytest.approx(planned[of], rel=TOLERANCES.get(name, 1e-9))


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("beer", {"compression": "qsgd", "bits": 3}),
        ("beer", {"local": {"epochs": 2}, "batch_size": "full"}),
        ("choco_sgd", {"compression": "qsgd", "bits": 6}),
        ("choco_sgd", {"compression": "none"}),
        ("deep_squeeze", {"compression": "qsgd", "bits": 4}),
        ("deep_squeeze", {"keep": 0.3}),
        ("dfed_alt", {"private": [], "local": {"epochs": 1}, "private_steps": 0}),
        ("dfed_alt", {"private": []}),
        ("ad_psgd", {"local": {"epochs": 1}}),
        ("decentlam", {"local": {"epochs": 2}}),
        ("dfed_alt", {"local": {"epochs": 1}}),
        ("epidemic_learning", {"receivers": 3}),
        ("extra", {}),
        ("slow_mo", {"period": 6}),
        ("teleportation", {"slots": 1}),
        ("teleportation", {"slots": 4, "slots_topology": "complete"}),
        ("dfed_salt", {"private": []}),
        ("dfedpgp", {"private": []}),
        ("dfedsam", {"local": {"epochs": 2}, "gossip_steps": 2}),
        ("dispfl", {"prune": 0.0, "density": 1.0}),
        ("ditto", {"local": {"epochs": 2}}),
        ("ditto", {"personal_steps": 7}),
        ("ditto", {"personal_steps": 0}),
        ("dp_dsgd", {"local": {"epochs": 2}}),
        ("gossip_pga", {"period": ROUNDS + 1}),
        ("lead", {"compression": "none"}),
        ("lead", {"compression": "top_k", "keep": 0.9}),
        ("lead", {"bits": 7}),
        ("muffliato", {"gossips": 3}),
        ("prox_skip", {"p": 1.0}),
        ("skip_train", {"training": 1, "only_mixing": 2}),
        ("slow_mo", {"exact": False}),
        ("squarm_sgd", {"compression": "qsgd", "bits": 4, "threshold": 0.0}),
    ],
)
def test_a_plan_follows_the_keys(experiment: Experiment, name: str, keys: dict[str, Any]) -> None:
    planned, done = told(experiment, name, keys)
    assert done == pytest.approx(planned, rel=TOLERANCES.get(name, 1e-9))


def section() -> str:
    """What docs/published.md says of plans."""
    page = (Path(__file__).parents[3] / "docs" / "published.md").read_text(encoding="utf-8")
    return page[page.index("## What a plan expects") : page.index("## Attacks")]


def test_the_page_says_what_plans_do_not_tell() -> None:
    assert all(f"`{name}`" in section() for name in UNTOLD)


@pytest.mark.parametrize(
    ("name", "column", "planned", "share"),
    [
        ("beer", "bytes_total", "bytes_per_round", 0.5),
        ("push_pull", "bytes_total", "bytes_per_round", 0.5),
        ("dsgt_hb", "local_steps", "local_steps_per_round", 2),
    ],
)
def test_the_first_round_of_some_methods_is_another_as_the_page_says(experiment: Experiment, name: str, column: str, planned: str, share: float) -> None:
    own = {"name": name, "batch_size": 20, "learning_rate": 0.01, "local": {"steps": 1}}
    base = {**experiment, "algorithm": {"own": own}, "sweep": None, "rounds": 2, "evaluate": {"every": 1}, "topology": "ring"}
    expected = mf.plan(base).to_polars()[planned].item()
    (run,) = mf.run(base, progress=False)
    _, first, both = run.metrics().to_polars()[column].to_list()
    assert (first, both) == (share * expected, (1 + share) * expected)
    assert f"`{name}`" in section()


class Forecasting(mf.Method):
    """Sends two models to each neighbour, and makes three steps more than `local` asks for."""

    broken: str = ""

    def forecast(self, about: mf.PlannedRound) -> dict[str, Any]:
        assert about.clients == len(about.shard_sizes) == 10 and about.rounds == ROUNDS
        assert about.neighbours.tolist() == [2] * 10 and about.settings["broken"] == self.broken
        sizes = {name: inputs * outputs for name, (inputs, outputs) in about.layers.items()}
        assert sum(sizes.values()) == about.parameters and about.model_bytes == 4 * about.parameters and len(sizes) == 2
        steps, sent = about.local_steps.sum() + 3 * about.clients, 2 * about.to_neighbours(about.model_bytes)
        answers: dict[str, Any] = {
            "": {"local_steps": steps, "bytes": sent},
            "part": {"bytes": np.float64(5.4)},
            "name": {"steps": 1},
            "value": {"bytes": -1},
            "nothing": None,
        }
        answer: dict[str, Any] = answers[self.broken]
        return answer

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        round.train(models)
        round.train(models, steps=3)
        for _ in range(2):
            round.send(models)
        models.mix(round.mixing)


@pytest.mark.parametrize("local", [{"steps": 3}, {"epochs": 2}])
def test_a_method_says_what_its_rounds_take(experiment: Experiment, local: dict[str, int]) -> None:
    planned, done = told(experiment, "forecasting", {"local": local})
    assert done == pytest.approx(planned, rel=1e-9)


def test_what_a_forecast_leaves_out_is_the_usual(experiment: Experiment) -> None:
    planned, _ = told(experiment, "forecasting", {"broken": "part", "local": {"steps": 3}})
    assert planned == {BYTES: 5, STEPS: 30}


@pytest.mark.parametrize(
    ("broken", "why"),
    [
        ("name", "Forecasting.forecast returned {'steps': 1}, needed a dict with `local_steps`, `bytes` or both"),
        ("value", "Forecasting.forecast: found -1 for `bytes`, needed a number, 0 or more"),
        ("nothing", "Forecasting.forecast returned None"),
        ("unheard of", "KeyError: 'unheard of'"),
    ],
)
@pytest.mark.filterwarnings("default::meshfold.MeshfoldWarning")
def test_a_forecast_that_fails_is_warned_of(experiment: Experiment, broken: str, why: str) -> None:
    usual = "the plan expects the usual steps and bytes: the `forecast` of the method `forecasting` failed: "
    whole = {**experiment, "algorithm": {"own": {"name": "forecasting", "broken": broken, "batch_size": 20, "learning_rate": 0.1}}}
    with pytest.warns(mf.MeshfoldWarning) as warned:
        (planned, *_) = mf.plan({**whole, "topology": "ring", "sweep": None, "rounds": ROUNDS}).to_polars().to_dicts()
    said = [str(warning.message) for warning in warned]
    assert sum(words.startswith(usual) and why in words for words in said) == 1, said
    assert planned["bytes_per_round"] > 0


def test_a_forecast_is_no_part_of_an_id() -> None:
    class Plain(mf.Method):
        name = "plain_or_not"

        def round(self, models: mf.Stack, round: mf.Round) -> None:
            round.train(models)

    version = Plain.version

    class Foretold(mf.Method):
        name = "plain_or_not"

        def forecast(self, about: mf.PlannedRound) -> dict[str, float]:
            return {"bytes": 0}

        def round(self, models: mf.Stack, round: mf.Round) -> None:
            round.train(models)

    Foretold.__qualname__, Foretold.__name__ = Plain.__qualname__, Plain.__name__
    assert Foretold.version == version
