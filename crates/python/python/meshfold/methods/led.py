"""LED, local exact diffusion: many local steps between two exchanges, exact on any data."""

from __future__ import annotations

import meshfold as mf
from meshfold.methods._rates import inverse


class Led(mf.Method):
    """LED. y_i is the dual variable of client i, 0 at first.

        p = x_i;  K times: p <- p - rate g_i(p) - y_i / K
        x_i <- p_i / 2 + sum_j w_ij p_j / 2             # one message
        y_i <- y_i + p_i - x_i

    K is the number of local steps of the configuration.

    Source: Alghunaim, Local Exact-Diffusion, IEEE Transactions on Automatic Control, 2024 (doi 10.1109/TAC.2024.3383271).
    """

    def start(self, models: mf.Stack, *about: mf.Start) -> None:
        self.dual = models.zeros_like()

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        # `train` takes the rate times what it adds to gradients.
        per_step = inverse(round.local_steps * round.learning_rates)
        round.train(models, correction=self.dual * per_step)
        round.send(models)
        trained = models.copy()
        models.mix(round.mixing)
        models.add_scaled(trained)
        models *= 0.5
        self.dual += trained - models
