"""SkipTrain: some rounds train and mix, some only mix."""

from __future__ import annotations

import meshfold as mf


class SkipTrain(mf.Method):
    """SkipTrain. Rounds take turns: a train rounds, then b that only exchange models, which cost far less energy.

        h_i = x_i after the local steps, or x_i itself in a round that only mixes
        x_i <- sum_j w_ij h_j

    With `only_mixing: 0` it is DFedAvg.

    # Interpretation
    Momentum begins at zero in each round. The paper's variant for clients with a budget of energy is not here.

    Source: Dhasade, Dini, Guerra, Kermarrec, Miozzo, Pires, Sharma and de Vos, IPDPS workshops 2024 (arXiv 2407.01283).

    Attributes:
        training: a, rounds in a row that train.
        only_mixing: b, rounds in a row that do not.
    """

    training: int = 4
    only_mixing: int = 4

    def check(self) -> None:
        if self.training < 1:
            raise mf.KeyFault.value("training", "a whole number of at least 1")
        if self.only_mixing < 0:
            raise mf.KeyFault.value("only_mixing", "a whole number of at least 0")

    def forecast(self, about: mf.PlannedRound) -> dict[str, float]:
        share = self.training / (self.training + self.only_mixing)
        return {"local_steps": share * int(about.local_steps.sum())}

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        if (round.number - 1) % (self.training + self.only_mixing) < self.training:
            round.train(models)
        round.send(models)
        models.mix(round.mixing)
