"""The published methods of `meshfold.methods`, each against a transcription of its paper in double precision."""

from __future__ import annotations

import numpy as np
from transcribed import CLIENTS, Array, gradient, largest, last_models, mean_over, ring, transcription

import meshfold as mf
import meshfold.methods

RATE = 0.2


def close(found: Array, wanted: Array) -> None:
    """Single precision computes what double precision does, but for its rounding."""
    assert np.abs(wanted).max() > 0.1
    np.testing.assert_allclose(found, wanted, atol=3e-6)


def test_choco_sgd() -> None:
    copies = np.zeros((CLIENTS, 7, 3))

    def step(x: Array, number: int) -> Array:
        h = np.array([x[i] - RATE * gradient(x[i], i) for i in range(CLIENTS)])
        for i in range(CLIENTS):
            copies[i] += largest(h[i] - copies[i], 0.3)
        return np.array([h[i] + 0.25 * (mean_over(ring(i), copies) - copies[i]) for i in range(CLIENTS)])

    close(last_models("choco_sgd", keep=0.3, gamma=0.25), transcription(step))
