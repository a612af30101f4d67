"""The backward pass of a user's model, from gradients by the outputs to those by the parameters."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import own_models
import pytest
from numpy.typing import NDArray
from own_models import MLPS, Numbers, Start, needs

import meshfold as mf
from meshfold import _digests, _renewal
from meshfold._models import Fitted

#: JAX pads so many rows.
ROWS = 11
BATCH = 4
FEATURES = 6
CLASSES = 3

#: How far sums of a few products in single precision may be from those in double precision, beside numbers of about one.
CLOSE = 1e-4


def start() -> Start:
    draws = np.random.default_rng(0)
    shapes = {"w1": (FEATURES, 5), "b1": (5,), "w2": (5, CLASSES), "b2": (CLASSES,)}
    return {name: draws.normal(0, 0.5, shape).astype(np.float32) for name, shape in shapes.items()}


def fitted(part: mf.Part, features: int = FEATURES, classes: int = CLASSES, tokens: bool = False) -> Fitted:
    """What the engine calls of a model that is given no version."""
    held: Fitted = _renewal._HELD[part.kind, part.name, part.version].fit(features, classes, tokens)
    return held


def drawn(model: Fitted, rows: int = ROWS) -> tuple[Numbers, Numbers, Numbers]:
    """Models `[R, P_pad]`, examples `[R, B, D]` and slopes `[R, B, classes]`."""
    draws = np.random.default_rng(1)
    stack = np.zeros((rows, model.layout.width), np.float32)
    for view in model.layout.views(stack).values():
        view[...] = draws.normal(0, 0.5, view.shape)
    x, slopes = draws.normal(0, 1, (rows, BATCH, FEATURES)), draws.normal(0, 1, (rows, BATCH, CLASSES))
    return stack, x.astype(np.float32), slopes.astype(np.float32)


def named(model: Fitted, returned: tuple[Numbers, list[Numbers], bool], rows: int = ROWS) -> dict[str, Numbers]:
    """The gradients by name, of what a model returned to the engine."""
    _, gradients, is_flat = returned
    assert all(gradient.dtype == np.float32 and gradient.flags.c_contiguous for gradient in gradients)
    if is_flat:
        (flat,) = gradients
        assert flat.shape == (rows, model.layout.width)
        return model.layout.views(flat)
    by_name = {name: gradient for (name, _), gradient in zip(model.shapes, gradients, strict=True)}
    assert all(by_name[name].shape == (rows, *shape) for name, shape in model.shapes)
    return by_name


@pytest.mark.parametrize("kind", MLPS)
def test_from_the_slopes_of_the_cross_entropy_it_has_the_gradients_of_a_step(kind: str) -> None:
    part = own_models.mlp(kind, start())
    model = fitted(part)
    rows, x, _ = drawn(model)
    y = np.random.default_rng(2).integers(0, CLASSES, (ROWS, BATCH))
    _, slopes = own_models.judged(model.outputs(rows, x), y)
    returned = model.pull_back(rows, x, slopes)
    assert returned[0].shape == (ROWS,) and returned[0].dtype == np.float32 and not returned[0].any()
    stepped = model.gradients(rows, x, y)
    assert returned[2] == stepped[2]
    expected, found = named(model, stepped), named(model, returned)
    for name, gradient in expected.items():
        assert abs(gradient).max() > 0.01
        assert np.allclose(found[name], gradient, rtol=CLOSE, atol=1e-6), name


@pytest.mark.parametrize("kind", MLPS)
def test_from_any_slopes_it_has_the_gradients_that_are_written_out(kind: str) -> None:
    part = own_models.mlp(kind, start())
    model = fitted(part)
    rows, x, slopes = drawn(model)
    found = list(named(model, model.pull_back(rows, x, slopes)).values())
    # The engine lends arrays that nobody may write to.
    for array in (rows, x, slopes):
        array.flags.writeable = False
    again = list(named(model, model.pull_back(rows, x, slopes)).values())
    names = [name for name, _ in model.shapes]
    views = list(model.layout.views(rows.astype(np.float64)).values())
    if kind == "torch":
        names = ["w1", "b1", "w2", "b2"]
        views, found, again = ([np.swapaxes(each, 1, -1) for each in arrays] for arrays in (views, found, again))
    by_hand = own_models.pull_back(dict(zip(names, views, strict=True)), x.astype(np.float64), slopes.astype(np.float64))
    assert set(names) == set(by_hand)
    for name, first, second in zip(names, found, again, strict=True):
        assert np.allclose(first, by_hand[name], rtol=CLOSE, atol=CLOSE), name
        assert (first == second).all()


def test_the_gradients_that_are_written_out_are_those_of_differences() -> None:
    part = own_models.mlp("numpy", start())
    model = fitted(part)
    rows, x, slopes = (array.astype(np.float64) for array in drawn(model))
    parameters = model.layout.views(rows)
    examples: Any = x
    draws = np.random.default_rng(3)
    for name, gradient in own_models.pull_back(parameters, examples, slopes).items():
        towards = draws.normal(0, 1, gradient.shape)
        moved = []
        for sign in (1, -1):
            there = {**parameters, name: parameters[name] + sign * 1e-6 * towards}
            moved.append((slopes * own_models.outputs(there, examples)).sum(axis=(1, 2)))
        by_gradient = (gradient * towards).reshape(ROWS, -1).sum(axis=1)
        assert np.allclose((moved[0] - moved[1]) / 2e-6, by_gradient, rtol=1e-5, atol=1e-5), name


def test_what_a_module_does_not_train_has_no_gradient() -> None:
    needs("torch")
    from torch import nn

    module = nn.Linear(FEATURES, CLASSES)
    module.bias.requires_grad_(False)
    part = mf.torch_model(module)
    model = fitted(part)
    rows, x, slopes = drawn(model)
    found = named(model, model.pull_back(rows, x, slopes))
    assert list(found) == ["weight"]
    assert np.allclose(found["weight"], np.swapaxes(slopes, 1, 2) @ x, atol=CLOSE)


def of_torch(words: int) -> mf.Part:
    from torch import nn

    class Counted(nn.Module):  # type: ignore[misc, unused-ignore]
        def __init__(self) -> None:
            super().__init__()
            self.table = nn.Embedding(words, CLASSES)

        def forward(self, x: Any) -> Any:
            return self.table(x).sum(dim=1)

    return mf.torch_model(Counted)


def of_jax(words: int) -> mf.Part:
    return mf.jax_model(lambda p, x: p["table"][x].sum(axis=1), {"table": np.ones((words, CLASSES), np.float32)})


@pytest.mark.parametrize(("made", "framework"), [(of_torch, "torch"), (of_jax, "jax")])
def test_it_reads_tokens_as_whole_numbers(made: Callable[[int], mf.Part], framework: str) -> None:
    needs(framework)
    words = 7
    part = made(words)
    model = fitted(part, tokens=True)
    rows, _, slopes = drawn(model)
    x = np.random.default_rng(4).integers(0, words, (ROWS, BATCH, FEATURES))
    counts = np.eye(words)[x].sum(axis=2)
    (found,) = named(model, model.pull_back(rows, x.astype(np.float32), slopes)).values()
    assert np.allclose(found, np.swapaxes(counts, 1, 2) @ slopes, atol=CLOSE)


def linear(p: dict[str, Numbers], x: Numbers) -> Any:
    return x @ p["w"]


def linear_gradients(p: dict[str, Numbers], x: Numbers, y: NDArray[np.int64]) -> tuple[Any, dict[str, Any]]:
    losses, slopes = own_models.judged(linear(p, x), y)
    return losses, {"w": np.swapaxes(x, 1, 2) @ slopes}


def linear_pull_back(p: dict[str, Numbers], x: Numbers, slopes: Numbers) -> dict[str, Any]:
    return {"w": np.swapaxes(x, 1, 2) @ slopes}


def of(pull_back: Any, outputs: Any = linear) -> mf.Part:
    return mf.model({"w": (FEATURES, CLASSES)}, outputs, linear_gradients, pull_back=pull_back, label="linear")


def test_a_model_without_it_is_told_what_to_give() -> None:
    part = of(None)
    model = fitted(part)
    rows, x, slopes = drawn(model)
    with pytest.raises(ValueError, match=r"takes gradients of a loss of its own, which needs `pull_back`: give `mf.model\(..., pull_back=...\)`"):
        model.pull_back(rows, x, slopes)


@pytest.mark.parametrize(
    ("pull_back", "words"),
    [
        (lambda p, x, slopes: {}, r"`pull_back` returned gradients by \[\], needed \['w'\]"),
        (lambda p, x, slopes: slopes, r"`pull_back` returned gradients by ndarray, needed \['w'\]"),
        (lambda p, x, slopes: {"w": p["w"][0]}, r"the gradient by `w` that `pull_back` returned is of shape \[6, 3\], needed \[11, 6, 3\]"),
        (lambda p, x, slopes: {"w": p["w"].astype(int)}, "the gradient by `w` that `pull_back` returned is of type int64"),
    ],
)
def test_what_it_returns_is_checked(pull_back: Any, words: str) -> None:
    part = of(pull_back)
    model = fitted(part)
    with pytest.raises(ValueError, match=words):
        model.pull_back(*drawn(model))


def told(model: Fitted, rows: Numbers, x: Numbers, slopes: Numbers) -> list[str]:
    """What a call warns of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.pull_back(rows, x, slopes)
    return [str(warning.message) for warning in caught if warning.category is mf.MeshfoldWarning]


@pytest.mark.parametrize(
    ("factor", "off"), [(1.0, None), (1.05, None), (1.4, "40 %"), (0.0, "100 %"), (-1.0, "200 %"), (1 / BATCH, "75 %")]
)
@pytest.mark.parametrize("rows", [1, 2, ROWS])
def test_gradients_that_are_off_are_told_once(factor: float, off: str | None, rows: int) -> None:
    def backwards(p: dict[str, Numbers], x: Numbers, slopes: Numbers) -> dict[str, Any]:
        return {name: np.float32(factor) * gradient for name, gradient in own_models.pull_back(p, x, slopes).items()}

    part = mf.model(start(), own_models.outputs, own_models.gradients, pull_back=backwards)
    model = fitted(part)
    given = drawn(model, rows)
    found = told(model, *given)
    assert told(model, *given) == []
    if off is None:
        assert found == []
    else:
        (warning,) = found
        assert warning.startswith(f"model: the gradients that `backwards` returns are off by {off}: by the outputs the slope of the sum of `slopes`")
        assert warning.endswith("Each gradient must be that of this sum")


def test_the_comparison_takes_two_rows_of_the_first_call() -> None:
    shapes = []

    def outputs(p: dict[str, Numbers], x: Numbers) -> Any:
        assert not p["w"].flags.writeable
        shapes.append(x.shape)
        return linear(p, x)

    part = of(linear_pull_back, outputs)
    model = fitted(part)
    rows, x, slopes = drawn(model)
    rows.flags.writeable = False
    model.pull_back(rows, x, slopes)
    assert set(shapes) == {(2, BATCH, FEATURES)}
    shapes.clear()
    model.pull_back(rows, x, slopes)
    assert shapes == []


def test_slopes_of_zero_tell_nothing() -> None:
    part = of(lambda p, x, slopes: {"w": 3 * (np.swapaxes(x, 1, 2) @ slopes)})
    model = fitted(part)
    rows, x, slopes = drawn(model)
    assert told(model, rows, x, 0 * slopes) == []


#: What `scaled` multiplies by.
SCALE = 1


def scaled(p: dict[str, Numbers], x: Numbers, slopes: Numbers) -> dict[str, Any]:
    return {"w": SCALE * (np.swapaxes(x, 1, 2) @ slopes)}


def test_the_version_of_a_model_has_its_pull_back_if_there_is_one() -> None:
    without = of(None)
    assert without.version == _digests.of_values({"w": (FEATURES, CLASSES)}, linear, linear_gradients, None)
    assert of(linear_pull_back).version == of(linear_pull_back).version
    assert len({part.version for part in (without, of(linear_pull_back), of(scaled))}) == 3


def test_a_model_that_is_made_again_has_its_pull_back(monkeypatch: pytest.MonkeyPatch) -> None:
    part = of(scaled)
    assert _renewal.renewed(part) is part
    monkeypatch.setitem(globals(), "SCALE", 2)
    renewed = _renewal.renewed(part)
    assert renewed.version != part.version
    model = fitted(renewed)
    rows, x, slopes = drawn(model)
    with pytest.warns(mf.MeshfoldWarning, match="`scaled` returns are off by 100 %"):
        _, (gradient,), _ = model.pull_back(rows, x, slopes)
    assert np.allclose(gradient, 2 * (np.swapaxes(x, 1, 2) @ slopes), rtol=CLOSE)
