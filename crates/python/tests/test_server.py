"""Methods in Python whose clients exchange models with a server."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from acting import Experiment
from test_own_methods import records, with_algorithm

import meshfold as mf

#: The clients that take part in each round of `Fedavg` below; all that are alive if there is no list.
CHOSEN: list[tuple[int, ...]] = []

NETWORK = {
    "links": {
        "node_capacitated": {
            "upload": {"uniform": [1e5, 1e6]},
            "download": {"fixed": 2e6},
            "servers": {"clients": {"fixed": 5e6}},
            "latency_seconds": 0.1,
        }
    },
    "compute": {"seconds_per_step": 0.01, "slowdown": {"uniform": [1, 4]}},
}


class Fedavg(mf.Method):
    """Federated averaging, as the built-in `fedavg`. All rows are the server's model."""

    name = "my_fedavg"
    version = "1"
    overlay = False
    server = True

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        chosen = np.flatnonzero(round.alive)
        if CHOSEN:
            chosen = np.array(CHOSEN[round.number - 1])
        round.send(models, from_="server", to=chosen)
        slots = models.gather(chosen)
        round.train(slots, clients=chosen)
        round.send(slots, from_=chosen, to="server")
        shares = round.shard_sizes[chosen] / round.shard_sizes[chosen].sum()
        models.set(slots.mean(shares).gather(np.zeros(round.clients, int)))


def trained(experiment: Experiment, method: str, rounds: int, **keys: Any) -> mf.Run:
    base = {**experiment, "partition": {"dirichlet": {"clients": 5, "alpha": 1.0}}, "topology": None, "rounds": rounds}
    base = with_algorithm({**base, "network": NETWORK, "checkpoint": {"every": rounds, "keep": True}}, method, **keys)
    (run,) = mf.run({**base, "evaluate": {"every": 1}}, progress=False, again=True)
    assert run.is_finished
    return run


#: What a round costs, and what it trained.
COUNTS = ("round", "local_steps", "examples_seen", "train_loss", "bytes_total", "bytes_busiest_node", "simulated_seconds")


def counts(run: mf.Run) -> list[list[Any]]:
    lines = (run.folder / "metrics.jsonl").read_text().splitlines()
    return [[json.loads(line)[name] for name in COUNTS] for line in lines]


def expect_same_models(mine: mf.Run, built_in: mf.Run) -> None:
    server = built_in.models().numpy()
    assert server.shape[0] == 1
    rows = mine.models().numpy()
    assert rows.tobytes() == np.repeat(server, 5, axis=0).tobytes()


@pytest.mark.parametrize("keys", [{"local": {"epochs": 2}}, {"local": {"steps": 3}, "momentum": 0.9}])
def test_fedavg_in_python_has_the_bits_bytes_and_seconds_of_the_built_in_one(experiment: Experiment, keys: dict[str, Any]) -> None:
    mine, built_in = (trained(experiment, method, 4, **keys) for method in ("my_fedavg", "fedavg"))
    expect_same_models(mine, built_in)
    assert counts(mine) == counts(built_in)
    assert counts(mine)[-1][COUNTS.index("bytes_total")] == 4 * 2 * 5 * 7850 * 4
    scores = [[record["test_accuracy"]["mean"] for record in records(run.folder)] for run in (mine, built_in)]
    assert scores[0] == pytest.approx(scores[1], rel=1e-12)


def test_fedavg_of_some_clients_is_the_built_in_one(experiment: Experiment, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = {"local": {"epochs": 1}}
    built_in = trained(experiment, "fedavg", 3, participation={"clients": 2}, **keys)
    wanted = counts(built_in)
    pairs = list(itertools.combinations(range(5), 2))
    found: list[tuple[int, ...]] = []
    for round in (1, 2, 3):
        # Only the built-in method knows whom it chose: what they trained tells who they were.
        for pair in pairs:
            monkeypatch.setitem(globals(), "CHOSEN", [*found, pair])
            mine = trained(experiment, "my_fedavg", round, **keys)
            if counts(mine) == wanted[: round + 1]:
                found.append(pair)
                break
    assert len(found) == 3 and len(set(found)) > 1
    expect_same_models(mine, built_in)


def test_failures_are_left_out(experiment: Experiment) -> None:
    experiment = {**experiment, "failures": [{"clients": {"count": 2}, "from_round": 2}]}
    mine, built_in = (trained(experiment, method, 3, local={"steps": 2}) for method in ("my_fedavg", "fedavg"))
    assert counts(mine) == counts(built_in)


def act(experiment: Experiment, action: Callable[[mf.Stack, mf.Round], Any], *, server: bool = True, overlay: bool = False) -> mf.Run:
    """A run of one round of a method that does `action`."""
    attributes = {"name": "acts", "server": server, "overlay": overlay, "version": "1"}

    def round(self: mf.Method, models: mf.Stack, round: mf.Round) -> None:
        action(models, round)

    type("Acts", (mf.Method,), {**attributes, "round": round})
    base = with_algorithm({**experiment, "rounds": 1, "topology": "ring" if overlay else None}, "acts")
    (run,) = mf.run({**base, "evaluate": {"every": 1}}, progress=False, again=True)
    return run


@pytest.mark.parametrize(
    ("send", "bytes_total", "busiest"),
    [
        (lambda models, round: round.send(models, to="server"), 10 * 31400, 10 * 31400),
        (lambda models, round: round.send(to="server", bytes=7), 70, 70),
        (lambda models, round: round.send(from_="server", bytes=range(10)), 45, 45),
        (lambda models, round: round.send(from_="server", to=[3, 5], bytes=[10, 0]), 10, 10),
        (lambda models, round: round.send(from_=np.array([1]), to="server", bytes=6), 6, 6),
        (lambda models, round: round.send(models.gather([0]), from_="server"), 10 * 31400, 10 * 31400),
        (lambda models, round: round.send(models.copy().top_k(0.1), from_=[2], to="server"), 785 * 8, 785 * 8),
        (lambda models, round: round.send(from_=[], to="server"), 0, 0),
    ],
)
def test_messages_of_a_server_are_counted(experiment: Experiment, send: Any, bytes_total: int, busiest: int) -> None:
    last = records(act(experiment, send).folder)[-1]
    assert (last["bytes_total"], last["bytes_busiest_node"]) == (bytes_total, busiest)


def test_a_method_may_have_an_overlay_and_a_server(experiment: Experiment) -> None:
    def both(models: mf.Stack, round: mf.Round) -> None:
        round.send(models)
        round.send(models, to="server")

    last = records(act(experiment, both, overlay=True).folder)[-1]
    assert last["bytes_total"] == (20 + 10) * 31400 and last["bytes_busiest_node"] == 10 * 31400


def test_a_mean_has_weights(experiment: Experiment) -> None:
    def look(models: mf.Stack, round: mf.Round) -> None:
        rows = models.numpy().astype(np.float64)
        weights = np.linspace(-1, 2, 10)
        mean = models.mean(weights)
        assert mean.shape == (1, 7850)
        np.testing.assert_allclose(mean.numpy()[0], weights @ rows, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(models.mean([0.1] * 10).numpy(), models.mean().numpy(), atol=1e-6)
        faulty: list[tuple[Any, str]] = [(np.ones(9), r"shape \(9,\), needed numbers, one for each of 10 rows"), ([np.nan] * 10, "mean: .*NaN")]
        for wrong, words in faulty:
            with pytest.raises(ValueError, match=words):
                models.mean(wrong)
        with pytest.raises(ValueError, match=r"shape \(\)"):
            models.mean(0.1)
        round.send(bytes=0, to="server")

    act({**experiment, "start": "independent"}, look)


@pytest.mark.parametrize(
    ("send", "words"),
    [
        (lambda models, round: round.send(models), "name senders and receivers by `edges`, or \"server\" by `to` or `from_`"),
        (lambda models, round: round.send(to="server", edges=[[0, 1]]), "give `edges`, or `to` and `from_`, not both"),
        (lambda models, round: round.send(to="server", from_="server"), "the server cannot send to itself"),
        (lambda models, round: round.send(to=[1], from_=[2]), "`to` or `from_` must be \"server\""),
        (lambda models, round: round.send(to=[1]), "`to` or `from_` must be \"server\""),
        (lambda models, round: round.send(to="servers"), "`to` is \"servers\", needed \"server\" or numbers of clients"),
        (lambda models, round: round.send(to="server", from_=[10]), "`from_` names client 10, but there are clients 0 to 9"),
        (lambda models, round: round.send(from_="server", to=[-1]), "`to` names client -1"),
        (lambda models, round: round.send(from_="server", to=round.alive), "np.flatnonzero"),
        (lambda models, round: round.send(from_="server", to=3), "`to` needs numbers of clients"),
        (lambda models, round: round.send(from_="server", to=[3, 4], bytes=[1, 2, 3]), "has 3 numbers, needed one for all clients"),
        (lambda models, round: round.send(models, from_="server", bytes=3), "give a stack or a number of bytes, not both"),
    ],
)
def test_messages_that_cannot_be_are_refused(experiment: Experiment, send: Any, words: str) -> None:
    with pytest.raises(mf.RunFailed, match=words):
        act(experiment, send)


def test_a_server_must_be_declared_and_clients_must_be_there(experiment: Experiment) -> None:
    with pytest.raises(mf.RunFailed, match="this method has no server: write `server = True` in its class"):
        act(experiment, lambda models, round: round.send(to="server"), server=False)

    def to_the_dead(models: mf.Stack, round: mf.Round) -> None:
        round.send(from_="server", to=np.flatnonzero(~round.alive)[:1])

    failing = {**experiment, "failures": [{"clients": {"count": 2}}]}
    with pytest.raises(mf.RunFailed, match=r"`to` names client \d, which takes no part in this round"):
        act(failing, to_the_dead)
    with pytest.warns(mf.MeshfoldWarning, match="has a server and never calls round.send"):
        act(experiment, lambda models, round: models.mix(np.eye(10)))
    with pytest.raises(TypeError, match="server is 'yes', needed true or false"):
        type("Wrong", (mf.Method,), {"server": "yes"})


def test_links_of_a_server_are_checked_in_the_plan(experiment: Experiment, tmp_path: Any) -> None:
    table = tmp_path / "edges.csv"
    table.write_text("from,to,seconds,bytes_per_second\n" + "".join(f"{client},10,0,1000\n10,{client},0,1000\n" for client in range(9)))
    network = {"links": {"trace": {"file": str(table)}}}
    with pytest.raises(mf.ConfigError, match="found no bandwidths of the edge"):
        act({**experiment, "network": network}, lambda models, round: round.send(to="server"))
