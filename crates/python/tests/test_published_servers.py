"""Methods of `meshfold.methods` with a server that takes part in rounds, against transcriptions in double precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from test_published import RATE, close
from test_published_others import draws, run_of, stepped, traffic
from transcribed import CLIENTS, SHARDS, Array, experiment, first_models, transcription, unpacked

import meshfold as mf

SIZES = np.array([len(shard) for shard in SHARDS], float)


class Server:
    """FedOpt, client by client."""

    def __init__(self, optimizer: str, share: float, weighting: str, rate: float) -> None:
        self.optimizer, self.share, self.weighting, self.rate = optimizer, share, weighting, rate
        self.m: Any = 0.0
        self.v: Any = 0.05**2

    def step(self, x: Array, number: int) -> Array:
        server = x[0]
        drawn = sorted(draws(number).choice(CLIENTS, round(self.share * CLIENTS), replace=False).tolist())
        weights = SIZES[drawn] if self.weighting == "examples" else np.ones(len(drawn))
        change = np.zeros_like(server)
        for weight, client in zip(weights, drawn, strict=True):
            change += weight / weights.sum() * (stepped(stepped(server, client), client) - server)
        if self.optimizer == "momentum":
            self.m = 0.7 * self.m + change
            return np.array([server + self.rate * self.m] * CLIENTS)
        self.m = 0.7 * self.m + 0.3 * change
        square = change * change
        if self.optimizer == "adagrad":
            self.v = self.v + square
        elif self.optimizer == "yogi":
            self.v = self.v - 0.2 * square * np.sign(self.v - square)
        else:
            self.v = 0.8 * self.v + 0.2 * square
        return np.array([server + self.rate * self.m / (np.sqrt(self.v) + 0.05)] * CLIENTS)


@pytest.mark.parametrize("optimizer", ["adam", "yogi", "adagrad", "momentum"])
@pytest.mark.parametrize(("share", "weighting"), [(1.0, "examples"), (0.5, "uniform")])
def test_fed_opt(optimizer: str, share: float, weighting: str) -> None:
    moments = {} if optimizer == "momentum" else {"tau": 0.05} | ({"beta2": 0.8} if optimizer != "adagrad" else {})
    keys: dict[str, Any] = {"optimizer": optimizer, "share": share, "server_rate": 0.3, "beta1": 0.7, "weighting": weighting, **moments}
    run = run_of("fed_opt", topology=None, local={"steps": 2}, **keys)
    server = Server(optimizer, share, weighting, 0.3)
    # Clients begin from one model, that of the first of them.
    expected = transcription(server.step)
    close(unpacked(run.models()), expected)
    assert np.abs(expected - first_models()[0]).max() > 0.05
    drawn = round(share * CLIENTS)
    model = expected[0].size * 4
    assert traffic(run) == (7 * 2 * drawn, 7 * 2 * drawn * model)


def test_fed_opt_with_the_mean_alone_is_fedavg() -> None:
    mine = run_of("fed_opt", topology=None, local={"steps": 2}, optimizer="momentum", beta1=0, server_rate=1)
    base = experiment("first_models", topology=None)
    keys = {"batch_size": "full", "learning_rate": RATE, "local": {"steps": 2}}
    (built_in,) = mf.run({**base, "algorithm": {"fedavg": keys}}, progress=False)
    close(unpacked(mine.models()), np.repeat(unpacked(built_in.models()), CLIENTS, axis=0))


def test_fed_opt_draws_among_the_clients_that_are_there() -> None:
    failures = [{"clients": {"list": [0, 1, 2, 3, 4, 5]}, "from_round": 2}]
    run = run_of("fed_opt", topology=None, share=0.5, failures=failures)
    # Four of eight in round 1, then one of two in the other six.
    assert traffic(run)[0] == 2 * (4 + 6)


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"beta1": 1}, "beta1: found the number 1, needed a number of at least 0 and below 1"),
        ({"beta2": -0.1}, "beta2: found the number -0.1, needed a number of at least 0 and below 1"),
        ({"share": 0}, "share: found the number 0, needed a number above 0 and at most 1"),
        ({"tau": 0}, "tau: found the number 0, needed a number above 0"),
        ({"server_rate": 2000}, "server_rate: found the number 2000, needed a number above 0 and at most 1000"),
        ({"optimizer": "lamb"}, "lamb"),
        ({"optimizer": "adagrad", "beta2": 0.9}, "beta2: found the number 0.9, needed `optimizer: adam` beside it: it has no effect with `adagrad`"),
        ({"optimizer": "momentum", "tau": 0.1}, "tau: found the number 0.1, needed `optimizer: adam` beside it"),
    ],
)
def test_keys_of_fed_opt_that_cannot_be_are_refused(keys: dict[str, Any], words: str) -> None:
    with pytest.raises(mf.ConfigError, match=words):
        mf.plan(experiment("fed_opt", topology=None, **keys))
