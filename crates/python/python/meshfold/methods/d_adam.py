"""D-Adam: local steps of Adam between two exchanges."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import meshfold as mf


class DAdam(mf.Method):
    """D-Adam. m_i and v_i are the first and the second moment of the gradients of client i, 0 at first. All is for each parameter.

        p times:  g = g_i(x_i)
                  m_i <- beta1 m_i + (1 - beta1) g
                  v_i <- beta2 v_i + (1 - beta2) g^2
                  x_i <- x_i - rate m_i / (sqrt(v_i) + epsilon)
        x_i <- sum_j w_ij x_j

    p is the number of local steps of the configuration. Moments are not exchanged. `momentum` has no effect. `weight_decay` is part of the
    gradient, as in Adam and not as in AdamW.

    # Interpretation
    With `bias_correction` the moments are divided by 1 - beta1^t and 1 - beta2^t, as Kingma and Ba (2015) do, where t counts the local steps of
    the client; the paper does not. The rates that suit Adam are a tenth to a hundredth of those of SGD.

    Source: Gao and Huang, 2020, Adaptive serverless learning (arXiv 2008.10422), Algorithm 1.

    Attributes:
        beta1: how much of the first moment stays, at least 0 and below 1.
        beta2: how much of the second moment stays, at least 0 and below 1.
        epsilon: what the divisor is at least, above 0.
        bias_correction: whether the moments are corrected for their start at zero.
    """

    name = "d_adam"
    stacks = 7
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    bias_correction: bool = False

    def check(self) -> None:
        for key in ("beta1", "beta2"):
            if not 0 <= getattr(self, key) < 1:
                raise mf.KeyFault.value(key, "a number of at least 0 and below 1")
        if not self.epsilon > 0:
            raise mf.KeyFault.value("epsilon", "a number above 0")

    def start(self, models: mf.Stack, *about: mf.Start) -> None:
        self.first = models.zeros_like()
        self.second = models.zeros_like()
        self.steps = np.zeros(len(models))

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        steps = round.local_steps
        for step in range(steps.max()):
            active = step < steps
            gradient, rates = round.gradients(models, rows=active)
            self.steps += active
            models.add_scaled(self.direction(gradient, active), -rates)
        round.send(models)
        models.mix(round.mixing)

    def direction(self, gradient: mf.Stack, active: NDArray[np.bool_]) -> mf.Stack:
        """The step of each active row, once its moments have taken in its gradient."""
        squares = gradient.copy()
        squares.set(np.square(gradient.numpy(padded=True)))
        self.first += (gradient - self.first) * ((1 - self.beta1) * active)
        self.second += (squares - self.second) * ((1 - self.beta2) * active)
        first, second = self.first, self.second
        if self.bias_correction:
            count = np.maximum(self.steps, 1)
            first, second = first / (1 - self.beta1**count), second / (1 - self.beta2**count)
        direction = gradient.copy()
        direction.set(first.numpy(padded=True) / (np.sqrt(second.numpy(padded=True)) + np.float32(self.epsilon)))
        return direction
