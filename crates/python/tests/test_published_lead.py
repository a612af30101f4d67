"""The rounding in blocks of LEAD's messages, and what it does for convergence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import meshfold as mf
from meshfold.methods._blocks import BLOCK, message_bytes, rounded

#: Rows of two blocks and a bit: one of zeros, and blocks of very different magnitudes.
ROWS = np.random.default_rng(3).standard_normal((3, 2 * BLOCK + 7), dtype=np.float32)
ROWS[1, :BLOCK] *= 1e-6
ROWS[2] = 0


@pytest.mark.parametrize("bits", [2, 4, 8])
def test_numbers_go_to_a_level_next_to_them(bits: int) -> None:
    found = rounded(ROWS, bits, np.random.default_rng(1))
    for row, new in zip(ROWS.astype(float), found, strict=True):
        for begin in range(0, len(row), BLOCK):
            part, of_part = row[begin : begin + BLOCK], new[begin : begin + BLOCK]
            step = max(np.abs(part).max() / (2 ** (bits - 1) - 1), 1e-30)
            assert np.abs(of_part / step - np.rint(of_part / step)).max() < 1e-4
            assert np.abs(of_part - part).max() < step * 1.0001
            assert np.abs(of_part).max() <= np.abs(part).max() * 1.0001
    assert (found[2] == 0).all() and found.shape == ROWS.shape


def test_the_mean_stays() -> None:
    draws = np.random.default_rng(2)
    mean = np.mean([rounded(ROWS, 3, draws) for _ in range(2000)], axis=0)
    # Two thousand draws between levels that are a third of the largest number apart: six deviations.
    deviations = np.abs(ROWS[:, :BLOCK]).max(axis=1, keepdims=True) / 3 / 2 / np.sqrt(2000)
    assert (np.abs(mean - ROWS)[:, :BLOCK] <= 6 * deviations).all()


def task(**keys: Any) -> dict[str, Any]:
    return {
        "name": "lead",
        "dataset": {"glyphs": {"train": 2000, "test": 200}},
        "partition": {"shards": {"clients": 8}},
        "topology": "ring",
        "model": "logistic",
        "algorithm": {"own": {"name": "lead", **keys}},
        "rounds": 200,
        "evaluate": {"every": 100},
    }


@pytest.mark.parametrize("batch_size", [20, 40])
@pytest.mark.parametrize("learning_rate", [0.02, 0.1])
def test_the_defaults_converge_as_if_nothing_was_rounded(batch_size: int, learning_rate: float) -> None:
    """With one norm for a whole model they diverge before round 170."""
    keys = {"batch_size": batch_size, "learning_rate": learning_rate}
    (found,), (whole,) = (mf.run(task(**keys, **more), progress=False) for more in ({}, {"compression": "none"}))
    mine, theirs = (run.metrics().to_polars()[-1] for run in (found, whole))
    assert abs(mine["test_accuracy"].item() - theirs["test_accuracy"].item()) < 0.02
    assert mine["consensus_distance"].item() < 1.2 * theirs["consensus_distance"].item()
    # 7,850 parameters of four bits, and sixteen blocks.
    assert message_bytes(7850, 4) == 7850 // 2 + 16 * 4
    assert mine["bytes_total"].item() == 200 * 16 * (7850 // 2 + 16 * 4)


def test_messages_that_are_not_finite_are_told() -> None:
    with pytest.raises(mf.RunFailed, match=r"lead: the message of client \d became infinite or NaN in round \d+: .* or give more `bits`"):
        mf.run({**task(batch_size=20, learning_rate=0.1, bits=2), "rounds": 500}, progress=False)
