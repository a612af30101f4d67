"""Models that the tests share, each written three times: in NumPy, in JAX and in PyTorch."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import meshfold as mf

Numbers = NDArray[np.float32]
#: Parameters of one model by their names.
Start = dict[str, Numbers]

#: What must be installed in CI: the extra `test` installs JAX, `.ci/torch` PyTorch.
TESTED = ("jax", "torch")


def is_there(framework: str) -> bool:
    """Whether `framework` is installed; fails the test in CI if it should be and is not."""
    if importlib.util.find_spec(framework) is not None:
        return True
    if os.environ.get("MESHFOLD_CI") and framework in TESTED:
        pytest.fail(f"{framework} is not installed")
    return False


def needs(framework: str) -> None:
    """Skips a test without `framework`, and fails it in CI."""
    if not is_there(framework):
        pytest.skip(f"{framework} is not installed: pip install {framework}")


def softmax(logits: Any) -> Any:
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def judged(logits: Any, y: NDArray[np.int64]) -> tuple[Any, Any]:
    """The mean cross-entropy of each row, `[R]`, and its gradient with respect to the outputs, `[R, B, C]`."""
    shares = softmax(logits)
    chosen = np.take_along_axis(shares, y[..., None], axis=2)[..., 0]
    slopes = shares.copy()
    np.put_along_axis(slopes, y[..., None], np.take_along_axis(shares, y[..., None], axis=2) - 1, axis=2)
    return -np.log(chosen).mean(axis=1), slopes / np.float32(y.shape[1])


def hidden(p: dict[str, Numbers], x: Numbers) -> Any:
    return np.maximum(x @ p["w1"] + p["b1"][:, None], 0)


def outputs(p: dict[str, Numbers], x: Numbers) -> Any:
    """One hidden layer with ReLU."""
    return hidden(p, x) @ p["w2"] + p["b2"][:, None]


def gradients(p: dict[str, Numbers], x: Numbers, y: NDArray[np.int64]) -> tuple[Numbers, dict[str, Any]]:
    """Losses and gradients of `outputs`, written out."""
    losses, slopes = judged(outputs(p, x), y)
    return losses, pull_back(p, x, slopes)


def pull_back(p: dict[str, Numbers], x: Numbers, slopes: Any) -> dict[str, Any]:
    """The gradients of the sum of `slopes` `[R, B, C]` times `outputs`."""
    units = hidden(p, x)
    back = (slopes @ np.swapaxes(p["w2"], 1, 2)) * (units > 0)
    return {
        "w1": np.swapaxes(x, 1, 2) @ back,
        "b1": back.sum(axis=1),
        "w2": np.swapaxes(units, 1, 2) @ slopes,
        "b2": slopes.sum(axis=1),
    }


def numpy_mlp(start: Start) -> mf.Part:
    return mf.model(start, outputs, gradients, pull_back=pull_back, label="mlp-numpy")


def jax_mlp(start: Start, over: str = "map") -> mf.Part:
    def mlp(p: Any, x: Any) -> Any:
        import jax

        return jax.nn.relu(x @ p["w1"] + p["b1"]) @ p["w2"] + p["b2"]

    return mf.jax_model(mlp, start, over=over, label=f"mlp-jax-{over}")


def torch_mlp(start: Start) -> mf.Part:
    import torch
    from torch import nn

    module = nn.Sequential(nn.Linear(*start["w1"].shape), nn.ReLU(), nn.Linear(*start["w2"].shape))
    state = {"0.weight": start["w1"].T, "0.bias": start["b1"], "2.weight": start["w2"].T, "2.bias": start["b2"]}
    module.load_state_dict({name: torch.tensor(np.ascontiguousarray(value)) for name, value in state.items()})
    return mf.torch_model(module, label="mlp-torch")


#: The same multilayer perceptron in each framework, by the framework's name.
MLPS: dict[str, tuple[str | None, Callable[[Start], mf.Part]]] = {
    "numpy": (None, numpy_mlp),
    "jax-map": ("jax", jax_mlp),
    "jax-vmap": ("jax", lambda start: jax_mlp(start, "vmap")),
    "torch": ("torch", torch_mlp),
}


def mlp(kind: str, start: Start) -> mf.Part:
    framework, made = MLPS[kind]
    if framework is not None:
        needs(framework)
    return made(start)
