"""What methods with robust averages share: who attacks, and how honest clients are judged."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import meshfold as mf
from meshfold.methods._attacks import Attack, attacked, usual_strength
from meshfold.methods._effects import expect_effect
from meshfold.methods._inbox import Inbox


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

    Each record has `honest_accuracy`, on the test examples, of the honest clients that take part, `honest_accuracy_worst`, that of the
    worst of them, and `honest_consensus`, their distance from their mean.

    Source of attacks and weights: He, Karimireddy and Jaggi, 2022 (arXiv 2202.01545); `ipm`: Xie, Koyejo and Gupta, UAI 2019 (arXiv
    1903.03936); `alie`: Baruch, Baruch and Goldberg, NeurIPS 2019 (arXiv 1902.06156).

    Attributes:
        attack: what attackers send. It needs `attackers`.
        attackers: how many clients attack, drawn by the seed for the whole run, or a list of them. None if absent; an `attack` then is
            refused, and beside `attackers: 0` it is not, as for the first point of a sweep.
        strength: the s of the attack; it needs an `attack`. If absent, 1, or .1 for `ipm` and 1.5 for `dissensus`; for `alie`, the
            largest s that the majority of clients hides: the quantile (n - m - q)/(n - m) of the normal distribution, q = floor(n/2 + 1) -
            m, for m attackers of n clients.
    """

    attack: Attack = "none"
    attackers: int | list[int] | None = None
    strength: float | None = None

    def check(self) -> None:
        named = self.attackers if isinstance(self.attackers, list) else [self.attackers or 0]
        if not all(type(number) is int and number >= 0 for number in named) or len(set(named)) < len(named):
            raise mf.KeyFault.value("attackers", "a number of clients, or a list of clients, each once")
        if self.strength is not None and not self.strength > 0:
            raise mf.KeyFault.value("strength", "a number above 0")
        has_attack = self.attackers is not None or self.attack == "none"
        expect_effect(self, "attack", has_attack, "`attackers` beside it, their number or a list: without them nobody attacks")
        expect_effect(self, "strength", self.attack != "none", "an `attack` beside it, such as `sign_flip`: attackers send their models without")

    def start(self, models: mf.Stack, about: mf.Start) -> None:
        self.velocity = models.zeros_like()
        self._honest = self._drawn(about)
        self._strength = usual_strength(self.attack, self._honest) if self.strength is None else self.strength

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        round.train(models, velocity=self.velocity)
        round.send(models)
        edges, weights = round.mixing.entries()
        senders, receivers = edges.astype(np.intp).T
        own_weights = np.zeros(round.clients)
        is_own = senders == receivers
        own_weights[receivers[is_own]] = weights[is_own]
        received = Inbox(models, models, senders[~is_own], receivers[~is_own], weights[~is_own], own_weights)
        models.set(self.average(attacked(received, self.attack, self._strength, self._honest, round), round))
        if round.recorded:
            self._judge(models, self._honest & round.alive, round)

    def average(self, inbox: Inbox, round: mf.Round) -> mf.Stack:
        """The new models of all clients, `[N, P]`. A client without messages keeps its own."""
        raise NotImplementedError

    def _drawn(self, about: mf.Start) -> NDArray[np.bool_]:
        """Which clients are honest, `[N]`."""
        drawn = 0 if self.attackers is None else self.attackers
        if isinstance(drawn, int):
            if drawn > about.clients:
                raise ValueError(f"attackers: found {drawn}, but there are {about.clients} clients")
            drawn = np.random.default_rng([about.seed, 0]).choice(about.clients, drawn, replace=False).tolist()
        elif drawn and max(drawn) >= about.clients:
            raise ValueError(f"attackers: found client {max(drawn)}, but there are clients 0 to {about.clients - 1}")
        return ~np.isin(np.arange(about.clients), drawn)

    def _judge(self, models: mf.Stack, honest: NDArray[np.bool_], round: mf.Round) -> None:
        """Records figures of the honest clients that take part."""
        if not honest.any():
            return
        judged = models.gather(np.flatnonzero(honest))
        _, accuracies = round.evaluate(judged, on="test")
        round.record("honest_accuracy", accuracies.mean())
        round.record("honest_accuracy_worst", accuracies.min())
        apart = judged.distances([(row, 0) for row in range(len(judged))], judged.mean())
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
