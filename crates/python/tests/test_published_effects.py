"""Keys of the published methods that do nothing beside others, and numbers that a run has too few clients for."""

from __future__ import annotations

from typing import Any

import pytest
from transcribed import experiment, last_models

import meshfold as mf
import meshfold.methods


@pytest.mark.parametrize("name", ["choco_sgd", "deep_squeeze", "squarm_sgd", "beer", "lead"])
@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"compression": "none", "keep": 0.2}, "keep: found the number 0.2, needed `compression: top_k` beside it: .* with `none`"),
        ({"compression": "qsgd", "keep": 0.2}, "keep: found the number 0.2, needed `compression: top_k` beside it: .* with `qsgd`"),
        ({"compression": "top_k", "bits": 8}, "bits: found the number 8, needed `compression: qsgd` beside it: .* with `top_k`"),
        ({"compression": "none", "bits": 8}, "bits: found the number 8, needed `compression: qsgd` beside it: .* with `none`"),
        ({"compression": "top_k", "bits": 4}, "bits: found the number 4, needed `compression: qsgd` beside it: .* with `top_k`"),
        ({"compression": "qsgd", "keep": 0.1}, "keep: found the number 0.1, needed `compression: top_k` beside it: .* with `qsgd`"),
        ({"compression": "none", "keep": 0.1, "bits": 4}, "keep: found the number 0.1, needed `compression: top_k` beside it"),
    ],
)
def test_keys_of_another_compression_are_refused(name: str, keys: dict[str, Any], words: str) -> None:
    with pytest.raises(mf.ConfigError, match=words):
        mf.run(experiment(name, **keys), progress=False)


def test_bits_alone_are_no_compression() -> None:
    with pytest.raises(mf.ConfigError, match="bits: found the number 4, needed `compression: qsgd` beside it: it has no effect with `top_k`"):
        mf.run(experiment("choco_sgd", bits=4), progress=False)


@pytest.mark.parametrize("name", ["balance", "bridge", "clipped_gossip", "coordinate_median", "ios", "krum", "rfa"])
@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"attack": "alie"}, "missing key `attackers`"),
        ({"attack": "sign_flip", "strength": 2.0}, "missing key `attackers`"),
        ({"attackers": 3}, "missing key `attack`"),
        ({"attackers": [0], "strength": 2.0}, "missing key `attack`"),
        ({"strength": 2.0}, "strength: found the number 2.0, needed an `attack` beside it, such as `sign_flip`"),
        ({"strength": 2.0, "attack": "none", "attackers": [1]}, "strength: found the number 2.0, needed an `attack` beside it"),
    ],
)
def test_attacks_that_nobody_makes_are_refused(name: str, keys: dict[str, Any], words: str) -> None:
    with pytest.raises(mf.ConfigError, match=words):
        mf.run(experiment(name, **keys), progress=False)


@pytest.mark.parametrize("attackers", [[0, 0], -1, 0.2])
def test_of_attackers_that_cannot_be_only_that_is_told(attackers: Any) -> None:
    with pytest.raises(mf.ConfigError, match="attackers: found") as raised:
        mf.plan(experiment("bridge", attack="sign_flip", attackers=attackers))
    assert raised.value.path == "algorithm.own.attackers" and raised.value.others == []


def test_a_sweep_of_attackers_may_begin_at_none() -> None:
    attacked = last_models("rfa", attack="sign_flip", attackers=0)
    assert (attacked == last_models("rfa")).all()
    assert (attacked != last_models("rfa", attack="sign_flip", attackers=2)).any()


@pytest.mark.parametrize(
    ("name", "keys", "words"),
    [
        ("gossip_learning", {"a": 3}, "a: found the number 3, needed `tokens: true` beside it"),
        ("gossip_learning", {"a": 10}, "a: found the number 10, needed `tokens: true` beside it"),
        ("gossip_learning", {"variant": "update", "average": "steps"}, 'average: found the text "steps", needed `variant: merge_update` or'),
        ("gossip_learning", {"c": 30}, "c: found the number 30, needed `tokens: true` beside it"),
        ("gossip_learning", {"variant": "update", "average": "half"}, 'average: found the text "half", needed `variant: merge_update` or'),
        ("dfed_alt", {"private": [], "private_steps": 3}, "private_steps: found the number 3, needed layers in `private` beside it"),
        ("dfed_salt", {"private": [], "private_steps": 3}, "private_steps: found the number 3, needed layers in `private` beside it"),
        ("dfedpgp", {"private": [], "private_steps": 3}, "private_steps: found the number 3, needed layers in `private` beside it"),
    ],
)
def test_other_keys_without_an_effect_are_refused(name: str, keys: dict[str, Any], words: str) -> None:
    with pytest.raises(mf.ConfigError, match=words):
        mf.run(experiment(name, **keys), progress=False)


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("choco_sgd", {"compression": "none"}),
        ("choco_sgd", {"compression": "qsgd", "bits": 4}),
        ("rfa", {"attack": "none"}),
        ("rfa", {"strength": None}),
        ("lead", {"bits": 8}),
        ("gossip_learning", {"tokens": True, "a": 3, "c": 5}),
        ("dfed_alt", {"private": [], "private_steps": 0}),
        ("clipped_gossip", {"attackers": [1, 2], "attack": "none"}),
        ("clipped_gossip", {"attackers": 0}),
        ("clipped_gossip", {"attackers": []}),
    ],
)
def test_defaults_and_keys_with_an_effect_are_taken(name: str, keys: dict[str, Any]) -> None:
    (run,) = mf.run(experiment(name, rounds=1, **keys), progress=False)
    assert run.is_finished


def test_all_keys_of_a_finished_run_are_taken() -> None:
    """Its `config.yaml` has them all, and is read when the run is found finished."""
    (first,) = mf.run(experiment("choco_sgd", rounds=1), progress=False)
    text = (first.folder / "config.yaml").read_text()
    assert all(line in text for line in ("compression: top_k", "keep: 0.1", "bits: 4", "gamma: null"))
    ended = (first.folder / "summary.json").stat().st_mtime_ns
    given: list[dict[str, Any]] = [{}, {"compression": "top_k", "keep": 0.1, "bits": 4, "gamma": None}]
    for keys in given:
        (again,) = mf.run(experiment("choco_sgd", rounds=1, **keys), progress=False)
        assert (again.folder / "summary.json").stat().st_mtime_ns == ended


@pytest.mark.parametrize("name", ["k_gt", "led", "prox_skip"])
def test_corrections_by_how_far_local_steps_moved_refuse_momentum(name: str) -> None:
    with pytest.raises(mf.ConfigError, match=f"momentum: found .*0.9, needed 0: {name} corrects gradients by how far .* momentum_tracking and qg"):
        mf.run(experiment(name, momentum=0.9, local={"steps": 5}), progress=False)
    (run,) = mf.run(experiment(name, momentum=0, rounds=1), progress=False)
    assert run.is_finished


def test_pens_needs_as_many_others_as_a_client_hears() -> None:
    with pytest.raises(mf.RunFailed, match="sampled: found 100, but there are 8 clients: each receives from at most 7 others"):
        mf.run(experiment("pens", sampled=100, topology=None), progress=False)
    with pytest.raises(mf.RunFailed, match="sampled: found 8, but there are 8 clients"):
        mf.run(experiment("pens", sampled=8, topology=None), progress=False)
    (run,) = mf.run(experiment("pens", sampled=7, topology=None, rounds=1), progress=False)
    assert run.is_finished
