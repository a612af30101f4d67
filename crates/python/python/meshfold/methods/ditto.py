"""Ditto over gossip: every client has a model of its own beside the one that all agree on."""

from __future__ import annotations

import meshfold as mf
from meshfold._errors import warn_user


class Ditto(mf.Method):
    """Ditto without a server. Each client i has a shared model x_i, as in DFedAvg, and a personal model v_i near it.

        v_i <- v_i - eta (g_i(v_i) + lambda (v_i - x_i)),   s times, with x_i as the last round left it
        x_i <- x_i - eta g_i(x_i),                          the local steps
        x_i <- sum_j w_ij x_j                               # the only message

    The models of the run are the personal ones: these are judged and kept. Both begin as the initial model. With `pull: 0` the personal
    models are those of clients that train alone. For how well they fit their own clients, have them judged by `evaluate: {clients:
    [own]}`. Each round records `shared_consensus`, the distance of the shared models from their mean.

    # Interpretation
    Personal steps come first, as in the paper, and draw mini-batches of their own. Stragglers cut both kinds of steps.

    Source: Li, Hu, Beirami and Smith, ICML 2021 (arXiv 2012.04221), Algorithm 1, with a server; the averages over an overlay are those of
    DFedAvg.

    Attributes:
        pull: lambda, the strength of the pull to the shared model, at least 0.
        personal_steps: s, the steps of the personal models in a round; if absent, as many as of the shared ones.
    """

    pull: float = 0.5
    personal_steps: int | None = None

    def check(self) -> None:
        if not self.pull >= 0:
            raise mf.KeyFault.value("pull", "a number of at least 0")
        if self.personal_steps is not None and self.personal_steps < 0:
            raise mf.KeyFault.value("personal_steps", "a whole number of at least 0")
        if self.personal_steps == 0:
            warn_user("algorithm.own.personal_steps: with 0, ditto never trains its personal models: the initial model is judged in all rounds")

    def forecast(self, about: mf.PlannedRound) -> dict[str, float]:
        personal = int(about.local_steps.sum()) if self.personal_steps is None else self.personal_steps * about.clients
        return {"local_steps": int(about.local_steps.sum()) + personal}

    def start(self, models: mf.Stack, *about: mf.Start) -> None:
        self.shared = models.copy()

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        round.train(models, anchor=self.shared, mu=self.pull, steps=self.personal_steps)
        round.train(self.shared)
        round.send(self.shared, models=True)
        self.shared.mix(round.mixing)
        apart = self.shared - self.shared.mean().gather([0] * round.clients)
        round.record("shared_consensus", float((apart.norms() ** 2).mean() ** 0.5))
