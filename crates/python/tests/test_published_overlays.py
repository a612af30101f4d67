"""Methods of `meshfold.methods` that count on earlier exchanges: on overlays that change, and where clients or links fail."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from conftest import Halt, halt_at
from transcribed import CLIENTS, Array, experiment, first_models, gradient, last_models

import meshfold as mf
import meshfold.methods

#: Who keeps copies of what others sent, and what their users are told to take instead.
COPIES = {"choco_sgd": "deep_squeeze", "squarm_sgd": "deep_squeeze", "beer": "gradient_tracking and k_gt", "lead": "gradient_tracking and k_gt"}
#: Overlays that differ from round to round.
CHANGING: list[Any] = ["random_matching", {"redraw": {"of": {"regular": {"degree": 3}}}}, {"base_graph": {"degree": 1}}]
#: Those that are defined for an overlay that stays, and are only warned of where it does not, with what their users are told to take instead.
WARNED = {
    "led": "gradient_tracking and k_gt stand it",
    "prox_skip": "gradient_tracking and k_gt stand it",
    "decentlam": "momentum_tracking stands it",
}
FAILING = [{"clients": {"share": 0.2}, "redraw": "each_round"}]


def turns(round: int, nodes: int) -> list[tuple[int, int]]:
    """A ring in rounds 1 and 2, and from then on one of hops of two."""
    return [(node, (node + (1 if round < 3 else 2)) % nodes) for node in range(nodes)]


def vanishing(round: int, nodes: int) -> list[tuple[int, int]]:
    """A ring that becomes a path in round 3."""
    return [(node, (node + 1) % nodes) for node in range(nodes if round < 3 else nodes - 1)]


def returning(round: int, nodes: int) -> list[tuple[int, int]]:
    """A ring without its last link in round 3."""
    return [(node, (node + 1) % nodes) for node in range(nodes if round != 3 else nodes - 1)]


def run(name: str, **keys: Any) -> mf.Run:
    (found,) = mf.run(experiment(name, **keys), progress=False)
    return found


@pytest.mark.parametrize("name", COPIES)
@pytest.mark.parametrize("topology", CHANGING)
def test_copies_need_an_overlay_that_stays(name: str, topology: Any) -> None:
    """It is told in the first round whose overlay differs."""
    words = rf"{name} needs an overlay whose links stay: in round 2 client \d begins to hear .* no copy: {COPIES[name]} stands? links"
    with pytest.raises(mf.RunFailed, match=words):
        run(name, topology=topology)


@pytest.mark.parametrize("name", [*COPIES, *WARNED, "extra"])
def test_plans_warn_of_links_that_change(name: str) -> None:
    words = f"{name} is made for an overlay whose links stay, and this one "
    with pytest.warns(mf.MeshfoldWarning, match=f"{words}changes: the run may end with an error in the first round with a new link"):
        mf.plan(experiment(name, topology="random_matching"))
    failing = [{"edges": {"share": 0.2}, "redraw": "each_round"}]
    with pytest.warns(mf.MeshfoldWarning, match=f"{words}has links that fail for a time"):
        mf.plan(experiment(name, topology="complete", failures=failing))
    with warnings.catch_warnings():
        warnings.simplefilter("error", mf.MeshfoldWarning)
        mf.plan(experiment(name, topology="complete", failures=[{"edges": {"list": [[0, 1]]}}]))


@pytest.mark.parametrize("name", [name for name in COPIES if name != "lead"])
def test_copies_need_a_directed_overlay_that_stays(name: str) -> None:
    with pytest.raises(mf.RunFailed, match=f"{name} needs an overlay whose links stay: in round 2 client"):
        run(name, topology="one_peer")


@pytest.mark.parametrize("name", WARNED)
@pytest.mark.parametrize("topology", CHANGING)
def test_links_that_change_are_warned_of(name: str, topology: Any) -> None:
    words = rf"{name} is defined for an overlay that stays, and round 2 has other links than round 1: differences .* learning rate; {WARNED[name]}$"
    with pytest.warns(mf.MeshfoldWarning, match=words) as told:
        assert run(name, topology=topology).is_finished
    assert sum("is defined for an overlay that stays" in str(each.message) for each in told) == 1


@pytest.mark.parametrize("name", WARNED)
def test_the_round_in_which_links_change_is_named(name: str) -> None:
    for changing, number in ((turns, 3), (vanishing, 3), (returning, 3)):
        with pytest.warns(mf.MeshfoldWarning, match=f"and round {number} has other links than round {number - 1}"):
            run(name, topology=mf.overlay(changing, label="changing"))


@pytest.mark.parametrize("name", WARNED)
@pytest.mark.parametrize("keys", [{}, {"failures": FAILING}, {"topology": "star", "failures": FAILING}])
def test_clients_that_fail_are_no_links_that_change(name: str, keys: dict[str, Any], recwarn: pytest.WarningsRecorder) -> None:
    assert run(name, rounds=20, **keys).is_finished
    assert [str(told.message) for told in recwarn if "overlay that stays" in str(told.message)] == []


@pytest.mark.parametrize("name", COPIES)
def test_copies_are_told_of_the_round_and_the_link(name: str) -> None:
    with pytest.raises(mf.RunFailed, match="in round 3 client 2 begins to hear from client 0"):
        run(name, topology=mf.overlay(turns, label="turns"))
    with pytest.raises(mf.RunFailed, match="in round 4 client 7 begins to hear from client 0"):
        run(name, topology=mf.overlay(returning, label="returning"))


@pytest.mark.parametrize("name", COPIES)
def test_links_that_fail_for_a_while_leave_no_copies(name: str) -> None:
    with pytest.raises(mf.RunFailed, match="needs an overlay whose links stay"):
        run(name, failures=[{"edges": {"share": 0.3}, "redraw": "each_round"}])


@pytest.mark.parametrize("name", COPIES)
def test_copies_of_links_that_fall_away_are_not_missed(name: str) -> None:
    assert run(name, topology=mf.overlay(vanishing, label="vanishing")).is_finished


@pytest.mark.parametrize("name", COPIES)
def test_a_change_after_an_interruption_is_told(name: str) -> None:
    """What was heard before is in the checkpoint."""
    told = {**experiment(name, topology=mf.overlay(turns, label="turns")), "checkpoint": {"every": 1, "keep": True}}
    with pytest.raises(Halt):
        mf.run(told, progress=False, callbacks=[halt_at(2)])
    with pytest.raises(mf.RunFailed, match="in round 3 client 2 begins to hear from client 0"):
        mf.run(told, progress=False)


def minimum(weight_decay: float) -> Array:
    """The minimum of the mean loss of all clients."""
    model = first_models().mean(axis=0)
    for _ in range(2000):
        model = model - 0.3 * (np.mean([gradient(model, client) for client in range(CLIENTS)], axis=0) + weight_decay * model)
    return np.asarray(model)


@pytest.mark.parametrize(("name", "keys"), [("beer", {"keep": 0.5, "gamma": 0.8}), ("lead", {}), ("led", {})])
def test_clients_that_fail_do_not_move_where_exact_methods_end(name: str, keys: dict[str, Any]) -> None:
    """D-SGD ends at another point: its clients differ by more than .1."""
    found = last_models(name, rounds=800, weight_decay=0.1, failures=FAILING, **keys)
    np.testing.assert_allclose(found, minimum(0.1)[None].repeat(CLIENTS, axis=0), atol=2e-3)


def test_lead_ends_where_it_should_if_the_learning_rate_changes() -> None:
    rates = {"milestones": {"initial": 0.2, "at": [50, 100], "factor": 0.6}}
    found = last_models("lead", rounds=1000, weight_decay=0.1, learning_rate=rates)
    np.testing.assert_allclose(found, minimum(0.1)[None].repeat(CLIENTS, axis=0), atol=2e-3)


@pytest.mark.parametrize(("name", "keys"), [("choco_sgd", {}), ("squarm_sgd", {"threshold": 0})])
def test_copies_of_whole_models_are_d_sgd_where_clients_fail(name: str, keys: dict[str, Any]) -> None:
    found = run(name, compression="none", gamma=1, failures=FAILING, **keys)
    base = experiment("first_models", failures=FAILING)
    (dsgd,) = mf.run({**base, "algorithm": {"dsgd": {"batch_size": "full", "learning_rate": 0.2}}}, progress=False)
    np.testing.assert_allclose(found.models().numpy(), dsgd.models().numpy(), atol=3e-6)


@pytest.mark.parametrize("topology", CHANGING)
def test_extra_needs_an_overlay_that_stays(topology: Any) -> None:
    with pytest.raises(mf.RunFailed, match="extra needs an overlay whose links and weights stay: those of round 2 differ .* gradient_tracking"):
        run("extra", topology=topology)
    for changing in (turns, vanishing):
        with pytest.raises(mf.RunFailed, match="those of round 3 differ from those of round 1"):
            run("extra", topology=mf.overlay(changing, label="changing"))


def test_extra_needs_all_clients() -> None:
    with pytest.raises(mf.RunFailed, match="extra needs all clients in all rounds: client 3 takes no part in round 4: exact_diffusion and led"):
        run("extra", failures=[{"clients": {"list": [3]}, "from_round": 4}])


def test_extra_needs_a_learning_rate_that_stays() -> None:
    with pytest.raises(mf.RunFailed, match=r"extra needs a learning rate that stays: client 0 has 0.1 in round 2 and had 0.2 in round 1"):
        run("extra", learning_rate=mf.learning_rate(lambda round: 0.2 / round))
    assert run("extra", learning_rate={"constant": {"rate": 0.2}}).is_finished
