"""Gradients of a user's model are compared with differences of its losses."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import own_models
import pytest
from numpy.typing import NDArray
from own_models import Numbers

import meshfold as mf
from meshfold._slopes import wrong_slope

Experiment = dict[str, Any]
Gradients = dict[str, Any]


def drawn() -> own_models.Start:
    draws = np.random.default_rng(0)
    shapes = {"w1": (784, 16), "b1": (16,), "w2": (16, 10), "b2": (10,)}
    return {name: draws.normal(0, 0.1, shape).astype(np.float32) for name, shape in shapes.items()}


def told(experiment: Experiment, outputs: Any, gradients: Any) -> list[str]:
    """What planning a run of such a model warns of."""
    model = mf.model(drawn(), outputs, gradients)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        mf.plan({**experiment, "model": model, "sweep": None})
    assert all(warning.filename == __file__ for warning in caught if "gradients" in str(warning.message))
    return [str(warning.message) for warning in caught if warning.category is mf.MeshfoldWarning]


@pytest.mark.parametrize(
    ("change", "off"),
    [
        (lambda gradient: gradient, None),
        (lambda gradient: 1.05 * gradient, None),
        (lambda gradient: 0.95 * gradient, None),
        (lambda gradient: 1.4 * gradient, "40 %"),
        (lambda gradient: 0.6 * gradient, "40 %"),
        (lambda gradient: 0 * gradient, "100 %"),
        (lambda gradient: -gradient, "200 %"),
        (lambda gradient: 3 * gradient, "200 %"),
    ],
)
def test_gradients_that_are_off_are_told(
    experiment: Experiment, change: Callable[[Any], Any], off: str | None
) -> None:
    def gradients(p: Gradients, x: Numbers, y: NDArray[np.int64]) -> Any:
        losses, right = own_models.gradients(p, x, y)
        return losses, {name: change(gradient) for name, gradient in right.items()}

    found = told(experiment, own_models.outputs, gradients)
    if off is None:
        assert found == []
    else:
        (warning,) = found
        assert f"the gradients that `gradients` returns are off by {off}: by its losses the slope along a random direction is" in warning


def test_a_model_that_is_not_smooth_is_not_told_of(experiment: Experiment) -> None:
    """Hidden units that are 0 or 1 have no slopes; it is trained by those of a straight line."""

    def units(p: Gradients, x: Numbers) -> tuple[Any, Any]:
        before = x @ p["w1"] + p["b1"][:, None]
        return before, (before > 0).astype(np.float32)

    def outputs(p: Gradients, x: Numbers) -> Any:
        return units(p, x)[1] @ p["w2"] + p["b2"][:, None]

    def gradients(p: Gradients, x: Numbers, y: NDArray[np.int64]) -> Any:
        losses, slopes = own_models.judged(outputs(p, x), y)
        back = slopes @ np.swapaxes(p["w2"], 1, 2)
        inner = {"w1": np.swapaxes(x, 1, 2) @ back, "b1": back.sum(axis=1)}
        outer = {"w2": np.swapaxes(units(p, x)[1], 1, 2) @ slopes, "b2": slopes.sum(axis=1)}
        return losses, {**inner, **outer}

    assert told(experiment, outputs, gradients) == []


MODULES: dict[str, Callable[[Any], Any]] = {
    "wide": lambda nn: nn.Sequential(nn.Linear(784, 200), nn.ReLU(), nn.Linear(200, 10)),
    "deep": lambda nn: nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)),
    "small": lambda nn: nn.Sequential(nn.Linear(8, 4), nn.LeakyReLU(), nn.Linear(4, 3)),
    "convolutions": lambda nn: nn.Sequential(
        nn.Unflatten(1, (1, 28, 28)), nn.Conv2d(1, 4, 5), nn.ReLU(), nn.MaxPool2d(4), nn.Flatten(), nn.Linear(144, 10)
    ),
}


@pytest.mark.parametrize("kind", MODULES)
def test_right_gradients_of_hidden_units_that_switch_are_not_told(kind: str) -> None:
    torch = pytest.importorskip("torch")
    told, right = 0, 0
    for seed in range(6):
        torch.manual_seed(seed)
        module = MODULES[kind](torch.nn)
        layers = {name: value.detach() for name, value in module.named_parameters()}
        sizes = [value.numel() for value in layers.values()]
        features = 784 if kind == "convolutions" else next(iter(layers.values())).shape[1]
        # Large numbers switch more units.
        rows = torch.stack([torch.cat([value.reshape(-1) for value in layers.values()]) * scale for scale in (1.0, 3.0)])
        x, y = torch.rand(2, 3, features), torch.randint(0, 3, (2, 3))

        def loss(row: Any, x: Any, y: Any) -> Any:
            parts = {name: part.reshape(value.shape) for (name, value), part in zip(layers.items(), row.split(sizes), strict=True)}
            return torch.nn.functional.cross_entropy(torch.func.functional_call(module, parts, (x,)), y)

        step = torch.func.vmap(torch.func.grad_and_value(loss))
        gradients, losses = (each.numpy() for each in step(rows, x, y))

        forward = torch.func.vmap(loss)

        def losses_at(others: Any) -> Any:
            return forward(torch.from_numpy(np.ascontiguousarray(others)), x, y).numpy()

        assert wrong_slope(losses_at, rows.numpy(), losses, gradients) is None, seed
        for scale in (0.6, 1.4):
            told, right = told + (wrong_slope(losses_at, rows.numpy(), losses, scale * gradients) is not None), right + 1
    assert told >= 0.75 * right


def test_a_loss_that_is_a_sum_is_told(experiment: Experiment) -> None:
    def summed(p: Gradients, x: Numbers, y: NDArray[np.int64]) -> Any:
        losses, gradients = own_models.gradients(p, x, y)
        return losses * y.shape[1], {name: gradient * y.shape[1] for name, gradient in gradients.items()}

    (warning,) = told(experiment, own_models.outputs, summed)
    assert warning.startswith("model: the loss of a batch doubles if each example is there twice, so it is a sum: needed the mean")


@pytest.mark.parametrize("reduction", ["sum", "mean", "none"])
def test_a_loss_of_pytorch_that_is_a_sum_is_told(experiment: Experiment, reduction: str) -> None:
    torch = pytest.importorskip("torch")
    model = mf.torch_model(lambda: torch.nn.Linear(784, 10), loss=torch.nn.CrossEntropyLoss(reduction=reduction))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        mf.plan({**experiment, "model": model, "sweep": None})
    assert [str(warning.message).partition(":")[0] for warning in caught] == ["torch_model"] * (reduction == "sum")


def test_a_loss_of_jax_that_is_a_sum_is_told(experiment: Experiment) -> None:
    jax = pytest.importorskip("jax")

    def summed(outputs: Any, y: Any) -> Any:
        return -(jax.nn.log_softmax(outputs) * jax.nn.one_hot(y, 10)).sum()

    model = mf.jax_model(lambda p, x: x @ p["w"], {"w": np.full((784, 10), 0.01, np.float32)}, loss=summed)
    with pytest.warns(mf.MeshfoldWarning, match="jax_model: the loss of a batch doubles"):
        mf.plan({**experiment, "model": model, "sweep": None})


def flat(scale: float, loss: Callable[[Any], Any]) -> Any:
    """What is found of a loss of the sum of two parameters, whose gradient is said to be `scale` in each."""
    rows = np.array([[1.0, 2.0], [2.0, 1.5]], np.float32)
    return wrong_slope(lambda moved: loss(moved.sum(axis=1)), rows, loss(rows.sum(axis=1)), np.full_like(rows, scale))


def test_a_slope_is_only_known_of_what_is_smooth_and_changes() -> None:
    wrong = flat(1.0, lambda sums: 5 * sums)
    assert wrong.claimed / wrong.found == pytest.approx(1 / 5, rel=1e-2)
    assert flat(5.0, lambda sums: 5 * sums) is None
    assert flat(2 * 3.0, lambda sums: sums**2) is None, "curved, and about right in each row"
    assert flat(1.0, lambda sums: 7 + 0 * sums) is None, "nothing changes"
    assert flat(1.0, lambda sums: 7 + 1e-6 * sums) is None, "rounding errors"
    assert flat(1.0, lambda sums: np.sign(np.sin(1e4 * sums))) is None, "a loss of steps"
    assert flat(1.0, lambda sums: np.where(sums == np.array([3, 3.5]), 1.0, np.nan)) is None, "not finite"


def test_a_model_that_cannot_be_moved_is_left_alone() -> None:
    def raising(moved: Any) -> Any:
        raise ZeroDivisionError

    rows = np.ones((2, 2), np.float32)
    assert wrong_slope(raising, rows, np.ones(2, np.float32), rows) is None
