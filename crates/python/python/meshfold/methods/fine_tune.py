"""DFedAvg with fine-tuning: the shared model of each client is adapted to the client before it is judged."""

from __future__ import annotations

import meshfold as mf


class FineTune(mf.Method):
    """DFedAvg whose models are judged after some more steps of each client, which are not kept.

        x_i <- x_i - eta g_i(x_i),           the local steps
        x_i <- sum_j w_ij x_j                # the only message
        v_i = x_i after s steps of client i, in rounds with a record

    The models of the run are the tuned ones v_i: these are judged and kept. The shared ones x_i are those of DFedAvg, to the last bit. With
    `tuning_steps: 0` it is DFedAvg. `evaluate: {local_test: 0.2}` judges how well models fit their own clients. Any other method can be judged
    after tuning by `evaluate: {fine_tune: ...}`; this one is for judging tuned models by everything else, such as all test examples.

    # Interpretation
    Steps of tuning go by the keys of local steps, but take mini-batches of their own and are not counted. Stragglers make fewer of them.
    Between records the models of the run are the shared ones.

    Source: Cheng, Chadha and Duchi, 2021 (arXiv 2108.07313), with a server; the averages over an overlay are those of DFedAvg.

    Attributes:
        tuning_steps: s, the steps of each client before its model is judged, at least 0.
    """

    tuning_steps: int = 10

    def check(self) -> None:
        if self.tuning_steps < 0:
            raise mf.KeyFault.value("tuning_steps", "a whole number of at least 0")

    def start(self, models: mf.Stack, *about: mf.Start) -> None:
        self.shared = models.copy()

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        round.train(self.shared)
        round.send(self.shared, models=True)
        self.shared.mix(round.mixing)
        models.set(self.shared)
        if round.recorded and self.tuning_steps > 0:
            round.train(models, steps=self.tuning_steps, aside=True)
