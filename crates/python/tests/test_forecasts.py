"""What plans expect of published methods, beside what runs send."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import meshfold as mf
import meshfold.methods
from meshfold import _forecasts

Experiment = dict[str, Any]

# Of keys without an effect and of few neighbours.
pytestmark = pytest.mark.filterwarnings("ignore::meshfold.MeshfoldWarning")

#: The first round may have less or more than the others, and the last one less. Those between are whole turns of all methods.
ROUNDS = 26
METHODS = {method.name: method for method in vars(meshfold.methods).values() if isinstance(method, type) and issubclass(method, mf.Method)}
#: Keys, beside which all have their defaults.
KEYS: dict[str, dict[str, Any]] = {"dp_dsgd": {"batch_size": 1, "lot": 4}, "dispfl": {"density": 0.3}}
BYTES, STEPS = "bytes", "steps"
#: What docs/published.md says that plans do not tell, or only as the most that there may be.
UNTOLD: dict[str, set[str]] = {
    "ad_psgd": {BYTES},
    "div_share": {BYTES},
    "epidemic_learning": {BYTES},
    "gossip_learning": {BYTES, STEPS},
    "pens": {BYTES},
    "teleportation": {BYTES, STEPS},
}
MOST = {"dfed_alt", "dfed_salt", "dfedpgp", "gossip_pga", "slow_mo"}
#: By how much a run may differ: `dispfl` has whole biases, .13 % of a model; `sparse_sharing` draws 188,400 numbers for each message, so that the
#: deviation is .3 % of ten messages; the steps of `prox_skip` have a deviation of 71 % in a round, and 14 % in all.
TOLERANCES: dict[str, float] = {"dispfl": 0.005, "sparse_sharing": 0.01, "prox_skip": 0.3}


def told(experiment: Experiment, name: str, keys: dict[str, Any]) -> tuple[dict[str, float], dict[str, float]]:
    """Bytes and local steps of a round, as a plan has them, and in the mean over the rounds of a run but the first and the last."""
    training = {"batch_size": 20, "learning_rate": 0.01, "local": {"steps": 3}, **KEYS.get(name, {})}
    base = {**experiment, "algorithm": {"own": {"name": name, **training, **keys}}, "sweep": None, "rounds": ROUNDS, "evaluate": {"every": 1}}
    base["topology"] = "path" if name == "relay_sgd" else "ring"
    if not METHODS[name].overlay:
        del base["topology"]
    (planned,) = mf.plan(base).to_polars().to_dicts()
    (run,) = mf.run(base, progress=False)
    records = {record["round"]: record for record in run.metrics().to_polars().to_dicts()}
    first, last = records[1], records[ROUNDS - 1]
    done = {of: (last[column] - first[column]) / (ROUNDS - 2) for of, column in ((BYTES, "bytes_total"), (STEPS, "local_steps"))}
    return {BYTES: planned["bytes_per_round"], STEPS: planned["local_steps_per_round"]}, done


@pytest.mark.parametrize("name", sorted(METHODS))
def test_a_plan_expects_what_a_run_of_a_published_method_takes(experiment: Experiment, name: str) -> None:
    assert name in _forecasts.PUBLISHED, f"add {name} to _forecasts.py"
    planned, done = told(experiment, name, {})
    for of in {BYTES, STEPS} - UNTOLD.get(name, set()):
        if name in MOST and of == BYTES:
            assert done[of] < planned[of]
        else:
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
    assert done == pytest.approx(planned, rel=1e-9)


def test_the_page_says_what_plans_do_not_tell() -> None:
    page = (Path(__file__).parents[3] / "docs" / "published.md").read_text(encoding="utf-8")
    section = page[page.index("## What a plan expects") : page.index("## Attacks")]
    assert all(f"`{name}`" in section for name in {*UNTOLD, *MOST})


def test_nothing_is_forecast_of_a_method_that_is_not_there() -> None:
    assert sorted(_forecasts.PUBLISHED) == sorted(METHODS)
