"""What methods with robust averages share: clients that attack, what they send, and how honest clients are judged."""

from __future__ import annotations

from statistics import NormalDist
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

import meshfold as mf

Rows = NDArray[np.float32]

#: The strength of each attack if the configuration gives none. That of `alie` follows from the number of attackers.
STRENGTHS = {"none": 0.0, "sign_flip": 1.0, "gaussian": 1.0, "ipm": 0.1, "dissensus": 1.5}


class Received(NamedTuple):
    """What a client has when all messages of a round are there.

    Attributes:
        own: its own model after local work, `[P]`.
        own_weight: the weight w_ii of its own model.
        models: what its neighbours sent, at least one message, `[degree, P]`.
        weights: the weights w_ij of these messages, `[degree]`.
    """

    own: Rows
    own_weight: float
    models: Rows
    weights: Rows

    def mean(self, trusted: NDArray[np.intp]) -> Rows:
        """The weighted mean of the own model and of `trusted` messages; their weights are made to sum to one."""
        weights = self.weights[trusted]
        total = self.own_weight * self.own + weighted_sum(weights, self.models[trusted])
        return np.asarray(total / np.float32(self.own_weight + weights.sum()))


def weighted_sum(weights: NDArray[Any], rows: Rows) -> Rows:
    """The sum of rows times weights, `[P]`. Its bits do not depend on the number of threads, as those of a product of matrices would."""
    return np.asarray(np.einsum("j,jp->p", weights.astype(np.float32), rows))


class RobustAveraging:
    """D-SGD whose clients average by a robust rule, with clients that attack.

        h_i = x_i after the local steps; momentum goes on from round to round
        x_i <- rule(h_i, the messages m_ji of its neighbours j)        # `average`

    An honest client j sends m_ji = h_j. An attacker knows what the honest clients of a neighbourhood have. With R_i for the client i that
    is attacked and its honest neighbours, it sends

        sign_flip   -s h_j
        gaussian    s N(0, I), the same message to all
        ipm         -s mean of h_k over R_i
        alie        mean - s std of h_k over R_i, for each parameter
        dissensus   h_i - s (sum over k in R_i of w_ik (h_k - h_i)) / (sum over attackers k of w_ik)

    # Interpretation
    Attackers train and average as honest clients do, and do not lie to one another. They may cut honest clients off from each other: the
    overlay is not mended. The deviation of `alie` is that of a sample (n - 1), and 0 where R_i is i alone. `dissensus` goes by the weights
    of the overlay, whatever the rule does with them. Clients without neighbours in a round, such as absent ones, keep their models.
    Flipped labels are no attack here: give clients such data, and list them as `attackers` with `attack: none`.

    Each round records `honest_accuracy`, on the test examples, of the honest clients that take part, `honest_accuracy_worst`, that of the
    worst of them, and `honest_consensus`, their distance from their mean.

    Source of attacks and weights: He, Karimireddy and Jaggi, 2022 (arXiv 2202.01545); `ipm`: Xie, Koyejo and Gupta, UAI 2019 (arXiv
    1903.03936); `alie`: Baruch, Baruch and Goldberg, NeurIPS 2019 (arXiv 1902.06156).

    Attributes:
        attack: what attackers send.
        attackers: how many clients attack, drawn by the seed for the whole run, or a list of them.
        strength: the s of the attack. If absent, 1, or .1 for `ipm` and 1.5 for `dissensus`; for `alie`, the largest s that the majority of
            clients hides: the quantile (n - m - q)/(n - m) of the normal distribution, q = floor(n/2 + 1) - m, for m attackers of n
            clients.
        judged_every: honest clients are judged in every such round. Give it the value of `evaluate: {every: ...}`, as other rounds have no
            record.
    """

    attack: Literal["none", "sign_flip", "gaussian", "ipm", "alie", "dissensus"] = "none"
    attackers: int | list[int] = 0
    strength: float | None = None
    judged_every: int = 1

    def check(self) -> None:
        named = self.attackers if isinstance(self.attackers, list) else [self.attackers]
        if not all(type(number) is int and number >= 0 for number in named) or len(set(named)) < len(named):
            raise mf.KeyFault.value("attackers", "a number of clients, or a list of clients, each once")
        if self.strength is not None and not self.strength > 0:
            raise mf.KeyFault.value("strength", "a number above 0")
        if self.judged_every < 1:
            raise mf.KeyFault.value("judged_every", "a whole number of at least 1")

    def start(self, models: mf.Stack) -> None:
        self.velocity = models.zeros_like()

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        round.train(models, velocity=self.velocity)
        round.send(models)
        honest = self._honest(round)
        rows, weights = models.numpy(), round.mixing.numpy()
        averages = rows.copy()
        for client in range(round.clients):
            neighbours = np.flatnonzero(weights[client])
            neighbours = neighbours[neighbours != client]
            if len(neighbours) > 0:
                messages = rows[neighbours]
                attacking = ~honest[neighbours]
                if self.attack != "none" and honest[client] and attacking.any():
                    messages[attacking] = self._lies(rows, weights[client], client, neighbours, honest, round)
                of_messages = weights[client, neighbours].astype(np.float32)
                averages[client] = self.average(Received(rows[client], weights[client, client], messages, of_messages), round)
        models.set(averages)
        self._judge(models, honest & round.alive, round)

    def average(self, received: Received, round: mf.Round) -> Rows:
        """The new model of a client, `[P]`."""
        raise NotImplementedError

    def _honest(self, round: mf.Round) -> NDArray[np.bool_]:
        """Which clients are honest, `[N]`: the same in all rounds."""
        drawn = self.attackers
        if isinstance(drawn, int):
            if drawn > round.clients:
                raise ValueError(f"attackers: found {drawn}, but there are {round.clients} clients")
            drawn = np.random.default_rng([round.seed, 0]).choice(round.clients, drawn, replace=False).tolist()
        elif drawn and max(drawn) >= round.clients:
            raise ValueError(f"attackers: found client {max(drawn)}, but there are clients 0 to {round.clients - 1}")
        return ~np.isin(np.arange(round.clients), drawn)

    def _lies(
        self,
        rows: Rows,
        weights: NDArray[np.float64],
        client: int,
        neighbours: NDArray[np.intp],
        honest: NDArray[np.bool_],
        round: mf.Round,
    ) -> Rows:
        """What the attackers among its neighbours send to an honest client: a message each, `[attackers, P]`, or one for all, `[P]`."""
        liars = neighbours[~honest[neighbours]]
        strength = np.float32(self._strength(honest))
        if self.attack == "sign_flip":
            return -strength * rows[liars]
        if self.attack == "gaussian":
            draws = [np.random.default_rng([round.seed, round.number, liar]) for liar in liars]
            return strength * np.array([draw.standard_normal(rows.shape[1], dtype=np.float32) for draw in draws])
        truthful = neighbours[honest[neighbours]]
        known = rows[[client, *truthful]]
        if self.attack == "ipm":
            return np.asarray(-strength * known.mean(axis=0))
        if self.attack == "alie":
            deviation = known.std(axis=0, ddof=1) if len(known) > 1 else np.float32(0)
            return np.asarray(known.mean(axis=0) - strength * deviation)
        pull = weighted_sum(weights[truthful], rows[truthful] - rows[client])
        return np.asarray(rows[client] - strength / np.float32(weights[liars].sum()) * pull)

    def _strength(self, honest: NDArray[np.bool_]) -> float:
        """The strength of the attack."""
        if self.strength is not None:
            return self.strength
        if self.attack != "alie":
            return STRENGTHS[self.attack]
        clients, attackers = len(honest), int((~honest).sum())
        supporters = clients // 2 + 1 - attackers
        if supporters < 1:
            raise ValueError(f"alie: {attackers} of {clients} clients attack, a majority: give a `strength`")
        return NormalDist().inv_cdf((clients - attackers - supporters) / (clients - attackers))

    def _judge(self, models: mf.Stack, honest: NDArray[np.bool_], round: mf.Round) -> None:
        """Records figures of the honest clients that take part."""
        if round.number % self.judged_every != 0 or not honest.any():
            return
        judged = models.gather(np.flatnonzero(honest))
        _, accuracies = round.evaluate(judged, on="test")
        round.record("honest_accuracy", accuracies.mean())
        round.record("honest_accuracy_worst", accuracies.min())
        apart = (judged - judged.mean().gather(np.zeros(len(judged), int))).norms()
        round.record("honest_consensus", np.sqrt(np.mean(apart**2)))


class AssumesAttackers(RobustAveraging):
    """A robust rule that is told how many attackers there may be around a client.

    Attributes:
        assumed: how many of the models that a client averages may be of attackers.
    """

    assumed: int = 1

    def check(self) -> None:
        super().check()
        if self.assumed < 0:
            raise mf.KeyFault.value("assumed", "a whole number of at least 0")
