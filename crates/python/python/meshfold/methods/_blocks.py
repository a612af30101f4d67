"""Rounding at random in blocks of parameters, each by its largest magnitude."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

#: Parameters of a block, as in the experiments of Liu et al., 2021.
BLOCK = 512


def rounded(rows: NDArray[np.float32], bits: int, draws: np.random.Generator) -> NDArray[np.float32]:
    """Rows `[R, P]` whose parameters are rounded up or down at random, so that the mean stays, to levels of `bits` bits with the sign.

    The levels of a block of `BLOCK` parameters of a row are the multiples of `largest / (2**(bits - 1) - 1)`, where `largest` is the largest
    magnitude in the block.
    """
    count, parameters = rows.shape
    levels = np.float32(2 ** (bits - 1) - 1)
    padded = np.zeros((count, -(-parameters // BLOCK) * BLOCK), np.float32)
    padded[:, :parameters] = rows
    blocks = padded.reshape(count, -1, BLOCK)
    largest = np.abs(blocks).max(axis=2, keepdims=True)
    # A product with the inverse could exceed the highest level.
    blocks /= np.where(largest > 0, largest, 1) / levels
    blocks += draws.random(blocks.shape, dtype=np.float32)
    np.floor(blocks, out=blocks)
    np.clip(blocks, -levels, levels, out=blocks)
    blocks *= largest / levels
    return padded[:, :parameters]


def message_bytes(parameters: int, bits: int) -> int:
    """The bytes of a message of `parameters`: `bits` bits for each, and 32 for the largest magnitude of each block."""
    return -(-(parameters * bits + 32 * -(-parameters // BLOCK)) // 8)
