"""What methods with robust averages share: who attacks, and how honest clients are judged."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

import meshfold as mf
from meshfold import _late
from meshfold.methods._attackers import honest_clients
from meshfold.methods._attacks import Attack, Attackers, attacked, usual_strength
from meshfold.methods._effects import expect_effect, is_given
from meshfold.methods._inbox import Inbox
from meshfold.methods._same_overlay import name_of


class RobustAveraging:
    """D-SGD whose clients average by a robust rule, with clients that attack.

        h_i = x_i after the local steps; momentum goes on from round to round
        x_i <- rule(h_i, the messages m_ji of its neighbours j)        # `average`

    An honest client j sends m_ji = h_j. An attacker knows what the honest clients of a neighbourhood have. With R_i for the client i that
    is attacked and its honest neighbours, it sends

        sign_flip    -s h_j, the model itself and not its change
        update_flip  x_j - s (h_j - x_j), with x_j before the local steps
        gaussian     s N(0, I), the same message to all
        ipm          -s mean of h_k over R_i
        alie         mean - s std of h_k over R_i, for each parameter
        min_max      mean - s g std, g the largest with |mean - g std - h_k| <= max over j, l in R_i of |h_j - h_l| for all k in R_i
        min_sum      mean - s g std, g the largest with sum over k of |mean - g std - h_k|^2 <= max over j in R_i of sum over k of |h_j - h_k|^2
        dissensus    h_i - s (sum over k in R_i of w_ik (h_k - h_i)) / (sum over attackers k of w_ik)

    # Interpretation
    Attackers train and average as honest clients do, and do not lie to one another. They may cut honest clients off from each other: the
    overlay is not mended. The deviation std is that of a sample (n - 1), and 0 where R_i is i alone. `dissensus` goes by the weights
    of the overlay, whatever the rule does with them. Clients without neighbours in a round, such as absent ones, keep their models.
    Flipped labels are no attack here: give clients such data, and list them as `attackers` with `attack: none`.

    Figures of a run, such as `test_accuracy`, are over all clients, attackers among them; `meshfold.methods.attackers(run)` lists these. Each
    record has `honest_accuracy`, on all test examples, of the honest clients that take part, `honest_accuracy_worst`, that of the worst of
    them, and `honest_consensus`, their distance from their mean; and, where clients attack, `attack_strength`, the s of the attack.

    A rule of your own under these attacks is a class `Mine(meshfold.methods.RobustAveraging, mf.Method)` with an `average`.

    Source of attacks and weights: He, Karimireddy and Jaggi, 2022 (arXiv 2202.01545); `update_flip`: Karimireddy, He and Jaggi, ICML 2021
    (arXiv 2012.10333), bit flipping; `ipm`: Xie, Koyejo and Gupta, UAI 2019 (arXiv 1903.03936); `alie`: Baruch, Baruch and Goldberg, NeurIPS
    2019 (arXiv 1902.06156); `min_max` and `min_sum`: Shejwalkar and Houmansadr, NDSS 2021, with the deviation as the direction.

    Attributes:
        attack: what attackers send. It needs `attackers`.
        attackers: how many clients attack, drawn by the seed for the whole run, or a list of them; some client must be honest. None if absent.
            They need an `attack`, which may be `none`, and an `attack` needs `attackers`, which may be 0, as for the first point of a sweep.
        strength: the s of the attack; it needs an `attack`. If absent, 1, or .1 for `ipm` and 1.5 for `dissensus`; for `alie`, the
            largest s that the majority of clients hides: the quantile (n - m - q)/(n - m) of the normal distribution, q = floor(n/2 + 1) -
            m, for m attackers of n clients. With few attackers that is 0 or less, which is no attack: a run warns of it.
    """

    attack: Attack = "none"
    attackers: int | list[int] | None = None
    strength: float | None = None

    def __init_subclass__(cls, **keywords: Any) -> None:
        """The help of each rule says what attackers send."""
        super().__init_subclass__(**keywords)
        if issubclass(cls, mf.Method) and cls.__doc__ and RobustAveraging.__doc__:
            cls.__doc__ = f"{cls.__doc__.rstrip()}\n\n    # Attacks\n    {RobustAveraging.__doc__.rstrip()}\n    "

    def check(self) -> None:
        named = self.attackers if isinstance(self.attackers, list) else [self.attackers or 0]
        if not all(type(number) is int and number >= 0 for number in named) or len(set(named)) < len(named):
            raise mf.KeyFault.value("attackers", "a number of clients, or a list of clients, each once")
        if self.strength is not None and not self.strength > 0:
            raise mf.KeyFault.value("strength", "a number above 0")
        if self.attack != "none" and self.attackers is None:
            raise mf.KeyFault("missing", "attackers")
        if self.attackers and not is_given(self, "attack"):
            raise mf.KeyFault("missing", "attack")
        expect_effect(self, "strength", self.attack != "none", "an `attack` beside it, such as `sign_flip`: attackers send their models without")

    def start(self, models: mf.Stack, about: mf.Start) -> None:
        self.velocity = models.zeros_like()
        self._honest = honest_clients(self.attackers, about.clients, about.seed)
        self._strength = usual_strength(self.attack, self._honest) if self.strength is None else self.strength
        attacking = int((~self._honest).sum())
        if attacking > 0 and self.attack == "alie" and self._strength <= 0:
            sends = "the mean of honest models" if self._strength == 0 else "what lies on the other side of the mean"
            _late.say(
                f"algorithm.own.strength: `attack: alie` has the strength {self._strength:.4g} where {attacking} of {about.clients} clients attack and "
                f"none is given: they send {sends}, which is no attack. Give a `strength` above 0, such as 1.5, or more `attackers`"
            )

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        before = models.copy() if self.attack == "update_flip" else None
        round.train(models, velocity=self.velocity)
        round.send(models)
        edges, weights = round.mixing.entries()
        senders, receivers = edges.astype(np.intp).T
        own_weights = np.zeros(round.clients)
        is_own = senders == receivers
        own_weights[receivers[is_own]] = weights[is_own]
        received = Inbox(models, models, senders[~is_own], receivers[~is_own], weights[~is_own], own_weights)
        self._tell_of_few(received.degrees, round)
        by = Attackers(self.attack, self._strength, self._honest, before)
        models.set(self.average(attacked(received, by, round), round))
        if round.recorded:
            self._judge(models, self._honest & round.alive, round)

    def average(self, inbox: Inbox, round: mf.Round) -> mf.Stack:
        """The new models of all clients, `[N, P]`. A client without messages keeps its own."""
        raise NotImplementedError

    def _tell_of_few(self, degrees: NDArray[np.intp], round: mf.Round) -> None:
        """Warns of clients with so few neighbours, `[N]`, that the rule withstands nothing; none by itself."""

    def _judge(self, models: mf.Stack, honest: NDArray[np.bool_], round: mf.Round) -> None:
        """Records figures of the honest clients that take part."""
        if self.attack != "none" and not self._honest.all():
            round.record("attack_strength", self._strength)
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

    A run warns, once, of clients with fewer neighbours than the rule needs for that.

    Attributes:
        assumed: how many of the models that a client averages may be of attackers.
    """

    assumed: int = 1

    #: What a client with too few neighbours does.
    with_fewer: ClassVar[str]

    def neighbours_needed(self) -> int:
        """How many neighbours a client must have for the rule to withstand `assumed` attackers among them."""
        raise NotImplementedError

    def _tell_of_few(self, degrees: NDArray[np.intp], round: mf.Round) -> None:
        if self.assumed == 0 or getattr(self, "_meshfold_has_warned", False):
            return
        needed = self.neighbours_needed()
        few = np.flatnonzero((degrees > 0) & (degrees < needed))
        if len(few) == 0:
            return
        # Not kept by checkpoints: a run that goes on looks at the rounds to come.
        self._meshfold_has_warned = True
        count = len(few) - 1
        others = f", and {count} other {'client has' if count == 1 else 'clients have'} too few, too" if count > 0 else ""
        _late.say(
            f"algorithm.own.assumed: with {self.assumed}, {name_of(self)} needs at least {needed} neighbours around each client, and client {few[0]} has "
            f"{degrees[few[0]]} in round {round.number}{others}: {self.with_fewer}. Lower `assumed`, or take an overlay with more neighbours"
        )

    def check(self) -> None:
        super().check()
        if self.assumed < 0:
            raise mf.KeyFault.value("assumed", "a whole number of at least 0")
