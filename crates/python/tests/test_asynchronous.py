"""Asynchronous methods of `meshfold.methods`, each against a loop over events in double precision that shares no code with it."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import pytest
from simulated import ALL, BYTES, EVERYBODY, SLOWDOWN, Simulation, ad_psgd, div_share, fed_async, fed_buff, gossip_learning, swift
from test_own_methods import records
from test_published import RATE, close
from test_published_others import like, run_of, traffic
from transcribed import CLIENTS, Array, experiment, first_models, gradient, ring, unpacked

import meshfold as mf
import meshfold.methods


def agrees(run: mf.Run, world: Simulation, wanted: Array, alive: list[list[bool]] = EVERYBODY) -> None:
    """Models, messages, bouts and staleness of a run are those of a simulation."""
    close(unpacked(run.models()), wanted)
    assert traffic(run) == (len(world.messages), sum(world.messages))
    records = run.metrics().to_polars()
    # Of clients that take part.
    bouts = [world.bouts[number][alive[number - 1]] for number in range(1, 8)]
    np.testing.assert_allclose(records["own.bouts"][1:].to_list(), [some.mean() for some in bouts])
    assert records["own.bouts.max"][1:].to_list() == [some.max() for some in bouts]
    assert records["own.seconds"][1:].to_list() == [world.window * number for number in range(1, 8)]
    assert records["simulated_seconds"].to_list() == [0.0, *records["own.seconds"][1:]]
    assert any(world.ages)
    for name, figure in (("own.staleness", np.mean), ("own.staleness_max", max)):
        assert records[name][1:].to_list() == [figure(ages) if ages else None for ages in world.ages[1:]]


KEYS: list[dict[str, Any]] = [
    {"window": 2.0, "local": {"steps": 1}},
    {"window": 5.0, "local": {"steps": 2}, "latency": 0.375},
    {"window": 1.5, "local": {"steps": 1}, "latency": 0.25, "bandwidth": BYTES / 0.125},
    {"window": 2.0, "local": {"steps": 1}, "latency": 4.0, "bandwidth": BYTES / 2},
]


@pytest.mark.parametrize("keys", KEYS)
def test_ad_psgd(keys: dict[str, Any]) -> None:
    world = Simulation(**keys)
    agrees(run_of("ad_psgd", slowdown=SLOWDOWN, **keys), world, ad_psgd(world))
    assert max(map(sum, world.ages)) > 0


@pytest.mark.parametrize(("skips", "memory"), [(0, True), (0, False), (2, True), (1, False)])
@pytest.mark.parametrize("keys", KEYS)
def test_swift(keys: dict[str, Any], skips: int, memory: bool) -> None:
    world = Simulation(**keys)
    agrees(run_of("swift", slowdown=SLOWDOWN, skips=skips, memory=memory, **keys), world, swift(world, skips, memory))
    # A message that takes less time than the shortest bout is there before the next one.
    assert (max(map(max, filter(None, world.ages))) > 0) is (keys in KEYS[2:])


@pytest.mark.parametrize(("average", "account"), [("steps", None), ("half", (2, 4)), ("steps", (1, 2))])
@pytest.mark.parametrize("variant", ["merge_update", "update", "update_merge"])
@pytest.mark.parametrize("keys", KEYS[:3])
def test_gossip_learning(keys: dict[str, Any], variant: str, average: str, account: tuple[int, int] | None) -> None:
    world = Simulation(**keys)
    tokens = {} if account is None else {"tokens": True, "a": account[0], "c": account[1]}
    # `update` averages nothing, and refuses the key.
    averaged = {} if variant == "update" else {"average": average}
    run = run_of("gossip_learning", slowdown=SLOWDOWN, variant=variant, period=1.0, **averaged, **tokens, **keys)
    agrees(run, world, gossip_learning(world, variant, average, 1.0, account))
    assert max(map(sum, world.ages)) > 0


AWAY = [[number != 3 or client != 2 for client in ALL] for number in range(1, 8)]
GOES: list[dict[str, Any]] = [{"clients": {"list": [2]}, "from_round": 3, "until_round": 4}]


@pytest.mark.parametrize("alive", [EVERYBODY, AWAY])
@pytest.mark.parametrize("exponent", [0.5, 0.0])
@pytest.mark.parametrize("keys", KEYS)
def test_fed_async(keys: dict[str, Any], exponent: float, alive: list[list[bool]]) -> None:
    world = Simulation(**keys)
    failures = [] if alive is EVERYBODY else GOES
    run = run_of("fed_async", slowdown=SLOWDOWN, mixing=0.4, staleness_exponent=exponent, topology=None, failures=failures, **keys)
    agrees(run, world, fed_async(world, 0.4, exponent, alive), alive)
    assert max(map(max, filter(None, world.ages))) > 1


@pytest.mark.parametrize("alive", [EVERYBODY, AWAY])
@pytest.mark.parametrize(("buffer", "rate", "exponent"), [(1, 1.0, 0.5), (3, 0.7, 1.0), (30, 1.0, 0.0)])
@pytest.mark.parametrize("keys", KEYS)
def test_fed_buff(keys: dict[str, Any], buffer: int, rate: float, exponent: float, alive: list[list[bool]]) -> None:
    world = Simulation(**keys)
    settings = {"buffer": buffer, "server_rate": rate, "staleness_exponent": exponent}
    failures = [] if alive is EVERYBODY else GOES
    run = run_of("fed_buff", slowdown=SLOWDOWN, topology=None, failures=failures, **settings, **keys)
    agrees(run, world, fed_buff(world, buffer, rate, exponent, alive), alive)


@pytest.mark.parametrize(("fragment", "receivers"), [(0.3, 2), (1, 3), (0.06, 1)])
@pytest.mark.parametrize("keys", [*KEYS[:2], {**KEYS[2], "bandwidth": 512.0}, {**KEYS[1], "bandwidth": 32.0}])
def test_div_share(keys: dict[str, Any], fragment: float, receivers: int) -> None:
    world = Simulation(**keys)
    run = run_of("div_share", slowdown=SLOWDOWN, fragment=fragment, receivers=receivers, topology=None, **keys)
    agrees(run, world, div_share(world, int(1 / fragment), receivers))
    assert max(map(sum, world.ages)) > 0


@pytest.mark.parametrize("keys", KEYS[1:3])
@pytest.mark.parametrize("name", ["swift", "gossip_learning", "div_share"])
def test_messages_are_lost(name: str, keys: dict[str, Any]) -> None:
    failures = [{"messages": {"probability": 0.3}, "from_round": 3}]
    settings: dict[str, dict[str, Any]] = {
        "swift": {},
        "gossip_learning": {"period": 1.0},
        "div_share": {"fragment": 0.3, "receivers": 2, "topology": None},
    }
    if name == "div_share" and "bandwidth" in keys:
        keys = {**keys, "bandwidth": 512.0}  # whole nanoseconds for a fragment
    world = Simulation(**keys, lost=0.3)
    wanted = {
        "swift": lambda: swift(world),
        "gossip_learning": lambda: gossip_learning(world, "merge_update", "steps", 1.0, None),
        "div_share": lambda: div_share(world, 3, 2),
    }[name]()
    agrees(run_of(name, slowdown=SLOWDOWN, failures=failures, **settings[name], **keys), world, wanted)
    assert 0.1 * len(world.messages) < world.number_lost < 0.4 * len(world.messages)


def test_the_seed_of_failures_decides_which_messages_are_lost() -> None:
    failures = [{"messages": {"probability": 0.3}}]
    one, same, other, methods = (
        records(run_of("swift", slowdown=SLOWDOWN, failures=failures, seeds=seeds, **KEYS[1]).folder)[-1]
        for seeds in ({"failures": 1}, {"failures": 1}, {"failures": 2}, {"failures": 1, "methods": 2})
    )
    # SWIFT draws nothing else.
    assert one == same == methods and one["test_loss"] != other["test_loss"]


@pytest.mark.parametrize("name", ["ad_psgd", "fed_async", "fed_buff"])
def test_methods_whose_clients_wait_for_an_answer_lose_no_messages(name: str) -> None:
    overlay = {} if name == "ad_psgd" else {"topology": None}
    with pytest.raises(mf.ConfigError, match=rf"failures\.0\.messages: found {name}, needed a method that says `may_lose_messages = True`"):
        run_of(name, failures=[{"messages": {"probability": 0.3}}], **overlay)


ALIVE: list[list[bool]] = []


def watched(kind: type[mf.methods._events.Asynchronous]) -> str:
    """The name of a method that notes who takes part in each round."""

    def round(self: Any, models: mf.Stack, round: mf.Round) -> None:
        ALIVE.append(round.alive.tolist())
        kind.round(self, models, round)

    name = f"watched_{kind.name}"  # type: ignore[attr-defined]
    type(name, (kind,), {"name": name, "version": "1", "round": round})
    return name


@pytest.mark.parametrize("keys", KEYS[:3])
@pytest.mark.parametrize("name", ["ad_psgd", "swift", "gossip_learning"])
def test_clients_that_go_and_come_back(name: str, keys: dict[str, Any]) -> None:
    ALIVE.clear()
    more: dict[str, Any] = {"variant": "merge_update", "period": 0.25} if name == "gossip_learning" else {}
    failures = [{"clients": {"share": 0.4}, "redraw": "each_round"}]
    run = run_of(watched(mf._own.METHODS[name]), slowdown=SLOWDOWN, failures=failures, **more, **keys)  # type: ignore[arg-type]
    assert len(ALIVE) == 7 and not all(map(all, ALIVE)) and any(now and not before for before, now in zip(*ALIVE[2:4], strict=True))
    world = Simulation(**keys)
    if name == "ad_psgd":
        wanted = ad_psgd(world, ALIVE)
    elif name == "swift":
        wanted = swift(world, alive=ALIVE)
    else:
        wanted = gossip_learning(world, "merge_update", "steps", 0.25, None, ALIVE)
    agrees(run, world, wanted, ALIVE)


def test_pairs_preserve_the_mean_and_come_to_agree() -> None:
    def models_after(rounds: int) -> Array:
        base = experiment("ad_psgd", rounds=rounds, learning_rate=1e-30, sigma=0.5, latency=0.2)
        (run,) = mf.run({**base, "start": "independent"}, progress=False)
        return unpacked(run.models())

    one, many = models_after(1), models_after(40)
    assert np.abs(one[0] - one[4]).max() > 0.1
    np.testing.assert_allclose(many.mean(axis=0), one.mean(axis=0), atol=1e-6)
    assert np.abs(many - many.mean(axis=0)).max() < 0.01 * np.abs(one - one.mean(axis=0)).max()


def test_one_pair_of_ad_psgd() -> None:
    """Of two clients of the same speed, each bout first 0 averages and steps, then 1; both step from what they read after their last."""
    x = first_models()
    x0, x1 = x[0], x[1]
    read0, read1 = x0, x1
    for _ in range(7):
        mean = (x0 + x1) / 2
        x0, x1 = mean - RATE * gradient(read0, 0), mean
        read0 = x0
        x0 = (x0 + x1) / 2
        x1 = x0 - RATE * gradient(read1, 1)
        read1 = x1
    run = run_of("ad_psgd", failures=[{"clients": {"list": [2, 3, 4, 5, 6, 7]}}])
    close(unpacked(run.models())[:2], np.array([x0, x1]))
    assert traffic(run)[0] == 7 * 4


def test_swift_among_equals_is_d_sgd() -> None:
    x = first_models()
    for _ in range(7):
        x = np.array([sum(w * x[j] for j, w in ring(i).items()) - RATE * gradient(x[i], i) for i in ALL])
    run = run_of("swift")
    close(unpacked(run.models()), x)
    assert set(run.metrics().to_polars()["own.staleness_max"][1:]) == {0}
    # A model is sent when a bout begins: seven bouts have ended, and the eighth has begun.
    assert traffic(run)[0] == 8 * 2 * CLIENTS


def test_a_client_alone_makes_its_local_steps() -> None:
    failures = [{"clients": {"list": [1, 7]}}]
    alone = first_models()[0]
    for _ in range(14):
        alone = alone - RATE * gradient(alone, 0)
    for name in ("ad_psgd", "swift"):
        close(unpacked(run_of(name, failures=failures, local={"steps": 2}).models())[0], alone)


def test_where_windows_end_changes_nothing() -> None:
    keys: dict[str, Any] = {"slowdown": SLOWDOWN, "latency": 0.375, "bandwidth": 1000, "skips": 1}
    seven, one = run_of("swift", window=2.0, **keys), run_of("swift", window=14.0, rounds=1, **keys)
    like(seven, one)
    assert traffic(seven) == traffic(one)


def test_as_many_bouts_end_in_a_window_as_there_are_clients() -> None:
    """By default; the lognormal speeds are drawn by the seed."""
    runs = [run_of("ad_psgd", sigma=sigma, rounds=40).metrics().to_polars() for sigma in (0.0, 1.0)]
    assert set(runs[0]["own.bouts.min"][1:]) == set(runs[0]["own.bouts.max"][1:]) == {1.0}
    assert runs[1]["own.bouts"][1:].mean() == pytest.approx(1, abs=0.05)
    assert max(runs[1]["own.bouts.max"][1:]) > 1 and min(runs[1]["own.bouts.min"][1:]) == 0
    (other,) = mf.run({**experiment("ad_psgd", sigma=1.0), "seed": 2}, progress=False)
    assert other.metrics().to_polars()["own.seconds"][-1] != runs[1]["own.seconds"][7]


def test_bouts_are_epochs_if_local_says_so() -> None:
    run = run_of("swift", local={"epochs": 2}, batch_size=10, seconds_per_step=0.5, slowdown=[1.0] * 8, window=3.0)
    records = run.metrics().to_polars()
    # Shards of 25 examples have three batches each.
    assert records["own.bouts.min"][1:].to_list() == [1] * 7 and records["local_steps"][-1] == 7 * 8 * 6


@pytest.mark.parametrize(
    ("name", "keys", "words"),
    [
        ("ad_psgd", {"seconds_per_step": 0}, "seconds_per_step: found the number 0, needed a number from 1e-9 to 1e6"),
        ("ad_psgd", {"sigma": -1}, "sigma: found the number -1, needed a number from 0 to 5"),
        ("ad_psgd", {"sigma": 1, "slowdown": [1.0] * 8}, "needed 0 beside `slowdown`"),
        ("ad_psgd", {"slowdown": [1.0, "fast"]}, "needed a list of numbers or null"),
        ("swift", {"latency": -1}, "latency: found the number -1"),
        ("swift", {"bandwidth": 0}, "bandwidth: found the number 0"),
        ("swift", {"window": 0}, "window: found the number 0"),
        ("swift", {"skips": -1}, "skips: found the number -1"),
        ("div_share", {"fragment": 0}, "fragment: found the number 0, needed a number from 1e-4 to 1"),
        ("div_share", {"receivers": 0}, "receivers: found the number 0"),
        ("fed_async", {"mixing": 0}, "mixing: found the number 0, needed a number above 0 and at most 1"),
        ("fed_async", {"staleness_exponent": -1}, "staleness_exponent: found the number -1, needed a number from 0 to 10"),
        ("fed_buff", {"buffer": 0}, "buffer: found the number 0, needed a whole number of at least 1"),
        ("fed_buff", {"server_rate": 0}, "server_rate: found the number 0, needed a number above 0 and at most 1000"),
        ("gossip_learning", {"period": 0}, "period: found the number 0"),
        ("gossip_learning", {"a": 0}, "a: found the number 0"),
        ("gossip_learning", {"a": 3, "c": 2}, "needed a whole number of at least `a`"),
        ("gossip_learning", {"variant": "merge"}, "needed one of merge_update, update, update_merge"),
    ],
)
def test_keys_that_cannot_work_are_refused(name: str, keys: dict[str, Any], words: str) -> None:
    with pytest.raises(mf.ConfigError, match=words):
        run_of(name, topology="ring" if mf._own.METHODS[name].overlay else None, **keys)


@pytest.mark.filterwarnings("ignore:transcribed. not every overlay")
def test_what_cannot_be_is_told_when_the_run_begins() -> None:
    with pytest.raises(mf.RunFailed, match="swift failed: slowdown: found 2 numbers, needed one for each of 8 clients") as raised:
        run_of("swift", slowdown=[1.0, 2.0])
    assert "Traceback" not in str(raised.value)
    with pytest.raises(mf.RunFailed, match=r"the slowest client needs 2e\+09 seconds for a bout, needed at most 1e\+09"):
        run_of("swift", slowdown=[1.0] * 7 + [1000.0], seconds_per_step=1e6, local={"steps": 2})
    with pytest.raises(mf.RunFailed, match="the simulated time is beyond 1e\\+09 seconds: choose a smaller `window`"):
        run_of("swift", seconds_per_step=1e6, local={"steps": 500})
    with pytest.raises(mf.RunFailed, match="fragment: no layer has the 20 parameters that as many fragments need"):
        run_of("div_share", fragment=0.05, topology=None)
    with pytest.raises(mf.RunFailed, match="client 0 may send to client 1 and not the other way, but clients average in pairs"):
        run_of("ad_psgd", topology="one_peer")


def test_budgets_and_figures_go_by_the_time_of_the_method() -> None:
    base = {**experiment("ad_psgd", rounds=30), "budget": {"seconds": 0.5}, "evaluate": {"every": 1}}
    (run,) = mf.run(base, progress=False)
    seconds = run.metrics().to_polars()["simulated_seconds"].to_list()
    assert seconds[-2] < 0.5 <= seconds[-1] and len(seconds) < 31
    assert mf.Runs is type(runs := mf.run(base, progress=False))
    (row,) = runs.table("algorithm", at={"seconds": seconds[-2]}).to_polars().to_dicts()
    assert row["mean"] == run.metrics().to_polars()["test_accuracy"][-2]


def test_nobody_waits_for_a_deadline() -> None:
    network = {"links": {"fixed": {"bytes_per_second": 1e6}}, "compute": {"seconds_per_step": 0.1}}
    late = {**experiment("ad_psgd"), "network": network, "stragglers": {"deadline_seconds": 1}}
    with pytest.raises(mf.ConfigError, match="in this one nobody waits for slow clients"):
        mf.plan(late)


def network(compute: dict[str, Any] | None, links: dict[str, Any]) -> dict[str, Any]:
    return {"links": links, **({} if compute is None else {"compute": compute})}


FIXED = {"fixed": {"bytes_per_second": BYTES / 2, "latency_seconds": 0.25}}


@pytest.mark.parametrize(
    ("section", "keys"),
    [
        (network({"seconds_per_step": 0.5, "slowdown": {"list": SLOWDOWN}}, FIXED), {"latency": 0.25, "bandwidth": BYTES / 2, "seconds_per_step": 0.5, "slowdown": SLOWDOWN}),
        (network(None, FIXED), {"latency": 0.25, "bandwidth": BYTES / 2}),
        (network({"seconds_per_step": 2.0}, {"fixed": {"bytes_per_second": 1e18}}), {"seconds_per_step": 2.0}),
    ],
)
@pytest.mark.parametrize("name", ["ad_psgd", "swift"])
def test_speeds_of_the_network_are_those_of_the_keys(name: str, section: dict[str, Any], keys: dict[str, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", mf.MeshfoldWarning)
        (found,) = mf.run({**experiment(name), "network": section}, progress=False)
    (wanted,) = mf.run(experiment(name, **keys), progress=False)
    assert records(found.folder) == records(wanted.folder)
    assert found.metrics().to_polars()["simulated_seconds"][-1] > 0


def test_clients_are_as_slow_as_under_other_methods() -> None:
    """A client that is alone makes as many bouts as its slowdown allows, which is drawn as for methods in rounds."""
    compute = {"seconds_per_step": 0.1, "slowdown": {"lognormal": {"sigma": 1.0}}}
    section = network(compute, {"fixed": {"bytes_per_second": 1e18}})
    seen = []

    class SeesSpeeds(mf.Method):
        def round(self, models: mf.Stack, round: mf.Round) -> None:
            assert round.network is not None and round.network.step_seconds is not None
            seen.append(round.network.step_seconds)
            round.train(models)
            round.send(models)

    keys = {"window": 1.0, "local": {"steps": 1}}
    (alone,) = mf.run({**experiment("ad_psgd", **keys), "network": section, "seeds": {"methods": 5}}, progress=False)
    (together,) = mf.run({**experiment("sees_speeds", local={"steps": 1}), "network": section}, progress=False)
    assert together.metrics().to_polars()["simulated_seconds"][1] == pytest.approx(seen[0].max())
    # In a window of one second a client ends `1 / seconds` bouts, and waits for nobody.
    most = alone.metrics().to_polars()["own.bouts.max"]
    assert most[1] == int(1 / seen[0].min())
    assert len(set(seen[0].tolist())) == len(seen[0])


def test_what_is_drawn_for_each_round_changes_bouts_and_no_windows() -> None:
    compute = {"seconds_per_step": 0.1, "each_round": {"exponential": {"mean": 1.0}}}
    section = network(compute, {"latency": {"epoch": 0.0, "message": 0.0}})
    section["links"] = {"fixed": {"bytes_per_second": 1e18}}
    (run,) = mf.run({**experiment("ad_psgd", local={"steps": 1}), "network": section}, progress=False)
    records = run.metrics().to_polars()
    np.testing.assert_allclose(records["simulated_seconds"].to_list(), 0.1 * np.arange(8))
    assert len(set(records["own.bouts"][1:].to_list())) > 1


@pytest.mark.parametrize(
    ("keys", "section", "words"),
    [
        ({"latency": 0.5}, network(None, FIXED), "needed none beside the section `network`, which says how long messages take"),
        ({"sigma": 0.5}, network({"seconds_per_step": 1.0}, FIXED), "needed none beside the section `network`, which says how long local steps take"),
    ],
)
def test_speeds_are_said_once(keys: dict[str, Any], section: dict[str, Any], words: str) -> None:
    with pytest.raises(mf.RunFailed, match=re.escape(words)):
        mf.run({**experiment("ad_psgd", **keys), "network": section}, progress=False)


def test_links_that_differ_are_refused_by_the_plan() -> None:
    section = network(None, {"node_capacitated": {"upload": 1e6}})
    words = "network.links: found links that differ or change, needed `fixed` or `latency`: in ad_psgd all links have one latency"
    with pytest.raises(mf.ConfigError, match=re.escape(words)):
        mf.plan({**experiment("ad_psgd"), "network": section})


@pytest.mark.parametrize(
    ("method", "words"),
    [
        ("ad_psgd", "clients that fall behind stand still in this method"),
        ("epidemic_learning", "without an overlay nobody sends to a client that falls behind"),
    ],
)
def test_stragglers_that_cannot_receive_are_refused(method: str, words: str) -> None:
    topology = {"topology": None} if method == "epidemic_learning" else {}
    stragglers = {"share": 0.5, "policy": "receive"}
    with pytest.raises(mf.ConfigError, match="stragglers.policy: found receive, needed `isolate`: " + re.escape(words)):
        mf.plan({**experiment(method), **topology, "stragglers": stragglers})


class SimulatesTime(mf.Method):
    has_own_clock = True

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        round.train(models)
        round.record("seconds", float(round.number))
        round.send(models)


def test_a_network_that_nobody_reads_is_told() -> None:
    section = network({"seconds_per_step": 1.0}, FIXED)
    with pytest.warns(mf.MeshfoldWarning, match="`network` has no effect: the method `simulates_time` simulates time itself"):
        mf.run({**experiment("simulates_time"), "network": section}, progress=False)
