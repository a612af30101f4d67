"""BEER: gradient tracking with compressed messages, exact on any data."""

from __future__ import annotations

import meshfold as mf
from meshfold.methods._compression import CompressedGossip, message_bytes
from meshfold.methods._departures import BeginsAnew
from meshfold.methods._help import with_keys_of
from meshfold.methods._same_overlay import KeepsCopies


@with_keys_of(CompressedGossip, "Keys of compression")
class Beer(CompressedGossip, KeepsCopies, BeginsAnew, mf.Method):
    """BEER. H and G are what neighbours know of the models X and of the trackers V of each other, 0 at first; V begins as the gradient.

        V <- V + gamma (W - I) G + g(X) - g(X before)   # from the second round on
        G <- G + C(V - G)                               # from the second round on
        X <- X + gamma (W - I) H - rate V
        H <- H + C(X - H)

    A message holds both C(V - G) and C(X - H), of which nothing waits for the other; that of the first round has only the second one. C must
    be a contraction, so `qsgd` is divided by 1 + min(d/s^2, sqrt(d)/s), for d parameters and s = 2^(bits - 1) - 1 levels. A round makes one
    step, whatever `local` says. The overlay must not change, and links must not fail for a while: a client that begins to listen would lack H
    and G, and the run ends with an error. Clients may fail: the mean of all V stays that of the gradients. When a client is gone for good,
    the others begin anew from their models.

    # Interpretation
    A client that takes no part keeps X, V and its last gradient. When it is back, it gets what it missed of H and G from its neighbours,
    which is not counted.

    Source: Zhao et al., NeurIPS 2022 (arXiv 2201.13320), Algorithm 1. The lines stand in another order, so that a round takes one gradient.

    `gamma` is .2 if absent; with `qsgd` and few bits it is smaller.
    """

    sends_models = False
    stacks = 8
    usual_gamma = 0.2

    def forecast(self, about: mf.PlannedRound) -> dict[str, float]:
        sent = 2 * about.to_neighbours(message_bytes(self, about.parameters))
        return {"local_steps": about.clients, "bytes": sent}

    def start(self, models: mf.Stack, *about: mf.Start) -> None:
        self.known_models = models.zeros_like()
        self.known_trackers = models.zeros_like()
        self.tracker = models.zeros_like()
        self.gradient = models.zeros_like()

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        if self.has_lost_clients(round):
            # What is known of each other counts in no sum, and stays.
            self.tracker = models.zeros_like()
            self.gradient = models.zeros_like()
        self.expect_copies(round, instead="gradient_tracking and k_gt stand")
        gradient, rates = round.gradients(models)
        change = (gradient - self.gradient) * round.alive
        self.gradient += change
        self.average(self.tracker, self.known_trackers, round)
        self.tracker += change
        if round.number > 1:
            self.tell(self.tracker, self.known_trackers, round)
        self.average(models, self.known_models, round)
        models.add_scaled(self.tracker, -rates)
        self.tell(models, self.known_models, round)
        vectors = 2 if round.number > 1 else 1
        round.send(bytes=vectors * message_bytes(self, models.shape[1]))

    def tell(self, stack: mf.Stack, known: mf.Stack, round: mf.Round) -> None:
        """Adds the compressed difference to what is known."""
        known += self.compressed(stack - known, round)
