"""Messages of QSGD in methods that need a contraction: what they are, and that models which average by them do not grow apart."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from test_published import RATE, close, gossip, gradients
from test_published_others import run_of, traffic
from transcribed import CLIENTS, Array, last_models, transcription, unpacked

import meshfold as mf
import meshfold.methods
from meshfold.methods._compression import Compressed, qsgd_scale

#: Parameters of a model, and the scale of 2 bits, which have one level: 1 + min(21 / 1, sqrt(21) / 1).
PARAMETERS, SCALE = 21, 1 + 21**0.5

#: What was compressed, and the messages that it became.
SENT: list[tuple[Array, Array]] = []


def noting(self: Compressed, stack: mf.Stack, round: mf.Round) -> mf.Stack:
    before = stack.numpy().astype(float)
    sent = Compressed.compressed(self, stack, round)
    SENT.append((before, unpacked(sent)))
    return sent


class WatchedChoco(mf.methods.ChocoSgd):
    """CHOCO-SGD that notes its messages."""

    name = "noting_choco"

    def compressed(self, stack: mf.Stack, round: mf.Round) -> mf.Stack:
        return noting(self, stack, round)


class WatchedDeepSqueeze(mf.methods.DeepSqueeze):
    """DeepSqueeze that notes its messages."""

    name = "noting_deep_squeeze"

    def compressed(self, stack: mf.Stack, round: mf.Round) -> mf.Stack:
        return noting(self, stack, round)


def messages() -> list[Array]:
    """The messages of each round, which are levels of the norm of what they stand for, divided by the scale."""
    for before, sent in SENT:
        norms = np.sqrt((before**2).sum(axis=1))
        levels = sent * SCALE / norms[:, None, None]
        assert np.abs(levels - np.rint(levels)).max() < 1e-5 and 0 < np.abs(levels).max() < 1.1
    return [sent for _, sent in SENT]


@pytest.mark.parametrize(("gamma", "step_size"), [(0.3, 0.3), (None, 0.4 * 5 / SCALE)])
def test_choco_sgd(gamma: float | None, step_size: float) -> None:
    SENT.clear()
    run = run_of("noting_choco", compression="qsgd", bits=2, **({} if gamma is None else {"gamma": gamma}))
    sent, copies = messages(), np.zeros((CLIENTS, 7, 3))

    def step(x: Array, number: int) -> Array:
        nonlocal copies
        h = x - RATE * gradients(x)
        copies = copies + sent[number - 1]
        return np.asarray(h + step_size * (gossip(copies) - copies))

    close(unpacked(run.models()), transcription(step))
    # 21 parameters of 2 bits and a norm of 64, in whole bytes.
    assert traffic(run)[1] == 7 * 2 * CLIENTS * -(-(21 * 2 + 64) // 8)


@pytest.mark.parametrize(("gamma", "step_size"), [(0.3, 0.3), (None, 0.05 * 5 / SCALE)])
def test_deep_squeeze(gamma: float | None, step_size: float) -> None:
    SENT.clear()
    run = run_of("noting_deep_squeeze", compression="qsgd", bits=2, **({} if gamma is None else {"gamma": gamma}))
    sent, errors = messages(), np.zeros((CLIENTS, 7, 3))

    def step(x: Array, number: int) -> Array:
        nonlocal errors
        h = x - RATE * gradients(x)
        np.testing.assert_allclose(SENT[number - 1][0].reshape(errors.shape), h + errors, atol=1e-4)
        errors = h + errors - sent[number - 1]
        return np.asarray(h + step_size * (gossip(sent[number - 1]) - sent[number - 1]))

    close(unpacked(run.models()), transcription(step))


class Contracting(Compressed, mf.Method):
    """Compresses the same numbers again and again, and records what is left of their squares."""

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        numbers = np.random.default_rng(4).standard_normal(models.shape, dtype=np.float32)
        left = []
        for _ in range(300):
            stack = models.copy()
            stack.set(numbers)
            left.append(((self.compressed(stack, round).numpy() - numbers) ** 2).sum() / (numbers**2).sum())
        round.record("left", float(np.mean(left)))
        round.send(bytes=0)


@pytest.mark.parametrize("bits", [2, 3, 4, 8])
def test_messages_are_a_contraction(bits: int) -> None:
    run = run_of("contracting", compression="qsgd", bits=bits, rounds=1)
    (left,) = run.metrics().to_polars()["own.left"][1:].to_list()
    assert left <= 1 - 1 / qsgd_scale(PARAMETERS, bits)


@pytest.mark.parametrize(("bits", "wanted"), [(2, 1 + 7850**0.5), (4, 1 + 7850**0.5 / 7), (5, 1 + 7850**0.5 / 15), (8, 1 + 7850 / 127**2)])
def test_the_scale_is_that_of_the_paper(bits: int, wanted: float) -> None:
    assert qsgd_scale(7850, bits) == pytest.approx(wanted)


def task(name: str, **keys: Any) -> dict[str, Any]:
    return {
        "name": "qsgd",
        "dataset": {"glyphs": {"train": 1000, "test": 300}},
        "partition": {"iid": {"clients": 10}},
        "topology": "ring",
        "model": "logistic",
        "algorithm": {"own": {"name": name, "compression": "qsgd", "batch_size": 20, "learning_rate": 0.02, **keys}},
        "rounds": 60,
        "evaluate": {"every": 60},
    }


#: The accuracy that methods reach in these rounds at least, and the largest distance of models from their mean. If nothing is sent, they
#: have 52 % and 1.5.
REACHED = {"choco_sgd": (0.57, 1.6), "squarm_sgd": (0.57, 1.6), "deep_squeeze": (0.54, 1.6), "beer": (0.56, 3.0)}


@pytest.mark.parametrize("bits", [3, 4, 5, 6, 8])
@pytest.mark.parametrize("name", REACHED)
def test_with_few_bits_models_stay_together_and_learn(name: str, bits: int) -> None:
    keys = {"learning_rate": 0.05} if name == "beer" else {}
    (run,) = mf.run(task(name, bits=bits, **keys), progress=False)
    last = run.metrics().to_polars()[-1]
    accuracy, distance = REACHED[name]
    assert last["test_accuracy"].item() > accuracy and last["consensus_distance"].item() < distance


def test_other_compressions_have_the_usual_step() -> None:
    assert (last_models("choco_sgd") == last_models("choco_sgd", gamma=0.4)).all()
    assert (last_models("deep_squeeze") == last_models("deep_squeeze", gamma=0.05)).all()
    assert (last_models("beer") == last_models("beer", gamma=0.2)).all()
