"""Methods for the tests, written as a user would write them."""

from __future__ import annotations

import meshfold as mf


class Dsgd(mf.Method):
    """Decentralized SGD, as the built-in `dsgd`."""

    name = "my_dsgd"

    def start(self, models: mf.Stack) -> None:
        self.velocity = models.zeros_like()

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        round.train(models, velocity=self.velocity)
        round.send(models)
        models.mix(round.mixing)


class Dfedavgm(mf.Method):
    """DFedAvgM, as the built-in `dfedavgm`: momentum begins at zero in each round."""

    name = "my_dfedavgm"

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        round.train(models)
        round.send(models)
        models.mix(round.mixing)


class GradientTracking(mf.Method):
    """Gradient tracking, as the built-in `gradient_tracking`."""

    name = "my_tracking"

    def start(self, models: mf.Stack) -> None:
        self.tracker = models.zeros_like()
        self.gradient = models.zeros_like()

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        rates = round.learning_rates
        if round.number == 1:
            self.follow(models, round)
        models.add_scaled(self.tracker, -rates)
        round.send(models)
        models.mix(round.mixing)
        self.follow(models, round)
        round.send(self.tracker)
        self.tracker.mix(round.mixing)

    def follow(self, models: mf.Stack, round: mf.Round) -> None:
        change, _ = round.gradients(models)
        change -= self.gradient
        self.gradient += change
        self.tracker += change


class Choco(mf.Method):
    """CHOCO-SGD (Koloskova et al., 2019, Algorithm 2)."""

    gamma: float = 0.4
    keep: float = 0.1

    def check(self) -> None:
        if not 0 < self.gamma <= 1:
            raise mf.KeyFault.value("gamma", "a number above 0 and at most 1")

    def start(self, models: mf.Stack) -> None:
        self.copies = models.zeros_like()

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        round.train(models)
        step = (models - self.copies).top_k(self.keep)
        self.copies += step
        round.send(step)
        mixed = self.copies.copy().mix(round.mixing)
        models.add_scaled(mixed - self.copies, self.gamma)
