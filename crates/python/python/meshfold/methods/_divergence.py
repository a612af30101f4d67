"""Models that grow without bound."""

from __future__ import annotations

import numpy as np

import meshfold as mf


def has_diverged(models: mf.Stack) -> bool:
    """Whether a model of `models` is infinite or NaN, or its norm is.

    A method that would write such numbers by an array, which is refused, ends its round instead. Once the run judges the models, it ends by the
    error of all methods whose models diverge.
    """
    return not np.isfinite(models.norms()).all()
