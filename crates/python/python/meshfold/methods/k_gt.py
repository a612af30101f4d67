"""K-GT: gradient tracking with many local steps between two exchanges."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import meshfold as mf
from meshfold.methods._departures import BeginsAnew
from meshfold.methods._no_momentum import expect_no_momentum
from meshfold.methods._rates import inverse
from meshfold.methods._together import send_with_models


class KGt(BeginsAnew, mf.Method):
    """K-GT. c_i corrects the gradients of client i by what those of the others are on average; 0 at first.

        y = x_i;  K times: y <- y - rate (g_i(y) + c_i)
        z_i = (x_i - y) / (K rate)
        c_i <- c_i - z_i + sum_j w_ij z_j
        x_i <- sum_j w_ij (x_j - K rate server_rate z_j)

    A message holds two vectors, x_j - K rate server_rate z_j and z_j. K is the number of local steps of the configuration. The sum of all
    c_i stays 0. `momentum` is refused: with it z_i would be no mean of gradients. When a client is gone for good, the others begin anew
    from their models.

    Source: Liu, Lin, Koloskova and Stich, 2024 (arXiv 2301.01313), Algorithm 1, with c_i = 0 at first.

    Attributes:
        server_rate: the step from the old model toward the trained one, above 0.
    """

    name = "k_gt"
    server_rate: float = 1.0

    def check(self, settings: Mapping[str, Any]) -> None:
        expect_no_momentum(self, settings)
        if not self.server_rate > 0:
            raise mf.KeyFault.value("server_rate", "a number above 0")

    def forecast(self, about: mf.PlannedRound) -> dict[str, float]:
        return {"bytes": 2 * about.to_neighbours(about.model_bytes)}

    def start(self, models: mf.Stack, *about: mf.Start) -> None:
        self.correction = models.zeros_like()

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        if self.has_lost_clients(round):
            self.correction = models.zeros_like()
        lengths = round.local_steps * round.learning_rates
        moved = models.copy()
        round.train(models, correction=self.correction)
        moved -= models
        direction = moved * inverse(lengths)
        send_with_models(models, 1, round)
        self.correction -= direction
        self.correction += direction.mix(round.mixing)
        models.add_scaled(moved, 1 - self.server_rate)
        models.mix(round.mixing)
