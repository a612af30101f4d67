"""Every method of `meshfold.methods` where clients fail or are late, and where a run is cut off and goes on."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
from conftest import Halt, halt_at
from test_own_methods import Experiment, records

import meshfold as mf
import meshfold.methods

#: Keys that a method needs, or that make a short run see more of it.
KEYS: dict[str, dict[str, Any]] = {
    "ad_psgd": {"sigma": 0.7, "latency": 0.3},
    "balance": {"gamma": 2.0},
    "div_share": {"sigma": 0.7, "latency": 0.3, "bandwidth": 1e5},
    "dp_dsgd": {"batch_size": 1, "lot": 5, "momentum": 0},
    "fed_async": {"sigma": 0.7, "latency": 0.3, "bandwidth": 1e5},
    "fed_buff": {"sigma": 0.7, "latency": 0.3, "buffer": 3},
    "gossip_learning": {"sigma": 0.7, "latency": 0.3, "tokens": True, "a": 1, "c": 2, "period": 1.0},
    "k_gt": {"momentum": 0},
    "led": {"momentum": 0},
    "muffliato": {"chebyshev": True, "norm": 1.0},
    "pens": {"search": 3},
    "prox_skip": {"momentum": 0},
    "skip_train": {"training": 2, "only_mixing": 1},
    "squarm_sgd": {"threshold": 100.0},
    "swift": {"sigma": 0.7, "latency": 0.3, "skips": 1},
    "teleportation": {"slots": 6},
}
ROBUST = ["balance", "bridge", "clipped_gossip", "coordinate_median", "ios", "krum", "rfa"]
NAMES = sorted(name for name, kind in mf._own.METHODS.items() if kind.__module__.startswith("meshfold.methods."))
#: Those that clients may leave for a while: all but one.
FAILED = [name for name in NAMES if name != "extra"]
#: Those that need links both ways.
MUTUAL = ["decentlam", "extra", "lead", "led", "prox_skip"]

FAILING: Experiment = {"failures": [{"clients": {"share": 0.2}, "redraw": "each_round"}]}
LATE: Experiment = {"stragglers": {"share": 0.3, "policy": "receive"}, **FAILING}
PARTIAL: Experiment = {"stragglers": {"share": 0.3, "policy": "partial"}, **FAILING}


def short(experiment: Experiment, name: str, **keys: Any) -> Experiment:
    """Six rounds of a method, each with a record."""
    algorithm = {"name": name, "batch_size": 20, "learning_rate": 0.1, "momentum": 0.5, "local": {"steps": 2}, **KEYS.get(name, {}), **keys}
    base = {**experiment, "algorithm": {"own": algorithm}, "sweep": None, "rounds": 6, "evaluate": {"every": 1}}
    if not mf._own.METHODS[name].overlay:
        base["topology"] = None
    if name == "relay_sgd":
        base["topology"] = "path"
    return {**base, "checkpoint": {"every": 1, "keep": True}}


def last_of(run: mf.Run) -> bytes:
    models = run.models().numpy()
    assert run.is_finished and np.isfinite(models).all()
    return models.tobytes()


@pytest.mark.parametrize("name", NAMES)
def test_a_run_that_was_cut_off_goes_on_with_the_same_bits(experiment: Experiment, name: str) -> None:
    base = {**short(experiment, name), **(PARTIAL if name in FAILED else {})}
    if name in ROBUST:
        base["algorithm"]["own"] |= {"attack": "alie", "attackers": 2, "strength": 1.0}
    with pytest.raises(Halt):
        mf.run(base, results="parts", progress=False, callbacks=[halt_at(3)])
    (parts,) = mf.run(base, results="parts", progress=False)
    (whole,) = mf.run(base, results="whole", progress=False)
    assert last_of(parts) == last_of(whole)
    assert records(parts.folder) == records(whole.folder)


@pytest.mark.parametrize("name", MUTUAL)
def test_stragglers_that_only_receive_are_refused_where_links_must_go_both_ways(experiment: Experiment, name: str) -> None:
    late: Experiment = {"stragglers": {"share": 0.3, "policy": "receive"}}
    with pytest.raises(mf.RunFailed, match=f"{name} needs links that go both ways: in round 1 client .* or stragglers only receive"):
        mf.run({**short(experiment, name), **late}, progress=False)


@pytest.mark.parametrize("name", [name for name in FAILED if name not in MUTUAL])
def test_stragglers_that_only_receive(experiment: Experiment, name: str) -> None:
    base = {**short(experiment, name), **LATE}
    # The weights are symmetric only if all links go both ways.
    base["algorithm"]["own"].pop("chebyshev", None)
    method = mf._own.METHODS[name]
    if not method.overlay or method.has_own_clock:
        with pytest.raises(mf.ConfigError, match="stragglers.policy: found receive, needed `isolate`"):
            mf.run(base, progress=False)
        return
    (run,) = mf.run(base, progress=False)
    last_of(run)


@pytest.mark.parametrize("attack", ["sign_flip", "gaussian", "ipm", "alie", "dissensus"])
@pytest.mark.parametrize("name", ROBUST)
def test_attackers_and_failures_together(experiment: Experiment, name: str, attack: str) -> None:
    (run,) = mf.run({**short(experiment, name, attack=attack, attackers=[0, 5, 6]), **LATE}, progress=False)
    last_of(run)


@pytest.mark.parametrize("name", FAILED)
def test_absent_clients_keep_their_models_and_nobody_uses_them(experiment: Experiment, name: str) -> None:
    """A client that never takes part has the first model in the end, but where rows are no clients."""
    (run,) = mf.run({**short(experiment, name), "failures": [{"clients": {"list": [3]}}]}, progress=False)
    (first,) = mf.run({**short(experiment, "dsgd_of_none"), "rounds": 1}, progress=False)
    kept = bool((run.models().numpy()[3] == first.models().numpy()[3]).all())
    assert kept != (name in ("teleportation", "fed_async", "fed_buff", "fed_opt"))


class DsgdOfNone(mf.Method):
    """Leaves the models as they are."""

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        round.send(bytes=0)


@pytest.mark.parametrize("name", NAMES)
def test_a_method_that_builds_on_a_published_one_passes_on_what_its_start_gets(name: str) -> None:
    signature = inspect.signature(mf._own.METHODS[name].start)
    signature.bind("self", "models", "about")


@pytest.mark.parametrize("base", ["Extra", "Balance", "Swift", "DFedSam"])
def test_starts_are_called_with_what_is_known(experiment: Experiment, base: str) -> None:
    seen: list[Any] = []

    def start(self: Any, models: mf.Stack, *about: mf.Start) -> None:
        seen.extend(about)
        parent.start(self, models, *about)

    parent = getattr(mf.methods, base)
    child: Any = type(f"Child{base}", (parent,), {"start": start, "name": f"child_{base.lower()}", "__module__": __name__})
    (run,) = mf.run(short(experiment, child.name), progress=False)
    assert run.is_finished and [about.clients for about in seen] == [10]
