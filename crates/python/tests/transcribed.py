"""What transcriptions of methods share: examples, an overlay, and logistic regression in double precision, client by client.

A transcription follows the formulas of its paper with a loop over clients, and knows nothing of stacks. Every client takes all of its
examples for a batch, so that nothing is drawn.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import meshfold as mf

CLIENTS, FEATURES, CLASSES = 8, 6, 3

#: Where runs are carried out: on a GPU if the package is built for one.
DEVICE = "wgpu" if "MESHFOLD_GPU" in os.environ else "cpu"

#: A model in double precision, `[FEATURES + 1, CLASSES]` with the bias last, or the models of all clients.
Array = NDArray[np.float64]

_draws = np.random.default_rng(5)
_labels = _draws.integers(0, CLASSES, 240)
_examples = (_draws.standard_normal((CLASSES, FEATURES))[_labels] + _draws.standard_normal((240, FEATURES))).astype(np.float32)
#: The training examples of each client: most have few of some label.
SHARDS = np.array_split(np.argsort(_labels[:200] + 0.8 * _draws.standard_normal(200), kind="stable"), CLIENTS)


def gradient(model: Array, client: int) -> Array:
    """The gradient of the mean cross-entropy over all examples of a client."""
    return np.asarray(example_gradients(model, client).mean(axis=0))


def example_gradients(model: Array, client: int) -> Array:
    """The gradient of each example of a client, `[examples, FEATURES + 1, CLASSES]`."""
    labels = _labels[SHARDS[client]]
    inputs = np.c_[_examples[SHARDS[client]].astype(float), np.ones(len(labels))]
    slopes = np.exp(inputs @ model)
    slopes /= slopes.sum(axis=1, keepdims=True)
    slopes[np.arange(len(labels)), labels] -= 1
    return np.asarray(np.einsum("ef,ec->efc", inputs, slopes))


def loss(model: Array, client: int) -> float:
    """The mean cross-entropy over all examples of a client."""
    labels = _labels[SHARDS[client]]
    outputs = np.c_[_examples[SHARDS[client]].astype(float), np.ones(len(labels))] @ model
    return float((np.log(np.exp(outputs).sum(axis=1)) - outputs[np.arange(len(labels)), labels]).mean())


def largest(vector: Array, keep: float) -> Array:
    """The share `keep` of the numbers, those of largest magnitude, and zeros."""
    kept = max(1, int(keep * vector.size))
    smallest = np.argsort(-np.abs(vector), axis=None, kind="stable")[kept:]
    result = vector.copy()
    result.flat[smallest] = 0
    return result


def ring(client: int) -> dict[int, float]:
    """The weights of a client on the ring, its own among them."""
    return {other % CLIENTS: 1 / 3 for other in (client - 1, client, client + 1)}


def mean_over(weights: dict[int, float], models: Array) -> Array:
    """The weighted sum of models."""
    return np.asarray(sum(weight * models[other] for other, weight in weights.items()))


def experiment(name: str, **keys: Any) -> dict[str, Any]:
    """An experiment with the method `name`: full batches, learning rate .2, seven rounds on the ring."""
    more: dict[str, Any] = {key: keys.pop(key) for key in ("topology", "rounds", "failures", "stragglers", "seeds") if key in keys}
    return {
        "name": "transcribed",
        "dataset": mf.dataset(_examples[:200], _labels[:200], _examples[200:], _labels[200:], label="clouds"),
        "partition": mf.partition(SHARDS),
        "topology": "ring",
        "model": "logistic",
        "algorithm": {"own": {"name": name, "batch_size": "full", "learning_rate": 0.2, **keys}},
        "rounds": 7,
        "checkpoint": {"keep": True},
        **more,
    }


def unpacked(stack: mf.Stack) -> Array:
    """The rows of a stack as models."""
    return np.concatenate([part.astype(float) for part in stack.by_layer().values()], axis=1)


class FirstModels(mf.Method):
    """Leaves the models as they are."""

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        round.send(bytes=0)


def first_models() -> Array:
    """The models before the first round, `[CLIENTS, FEATURES + 1, CLASSES]`."""
    (run,) = mf.run(experiment("first_models", rounds=1), device=DEVICE, progress=False)
    return unpacked(run.models())


def last_models(name: str, **keys: Any) -> Array:
    """The models after the last round of a run with the method `name`."""
    (run,) = mf.run(experiment(name, **keys), device=DEVICE, progress=False)
    return unpacked(run.models())


#: All models after a round, from those before it and its number.
Step = Callable[[Array, int], Array]


def transcription(step: Step, rounds: int = 7) -> Array:
    """The models after some rounds of a transcription."""
    models = first_models()
    for number in range(1, rounds + 1):
        models = step(models, number)
    return models
