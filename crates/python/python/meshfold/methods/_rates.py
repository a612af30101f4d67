"""Numbers for each row from its learning rate."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def inverse(rates: NDArray[np.float32]) -> NDArray[np.float64]:
    """One over each rate, `[R]`; 0 for rows whose rate is 0, those of clients that take no part."""
    return np.divide(1.0, rates, out=np.zeros(len(rates)), where=rates > 0)
