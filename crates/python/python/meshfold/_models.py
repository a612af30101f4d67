"""Models that are made in Python: functions of the parameters and examples of many clients at once."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Union

import numpy as np
from numpy.typing import NDArray

from meshfold import _arrays, _digests, _late, _means, _renewal, _slopes
from meshfold._errors import MeshfoldWarning
from meshfold._meshfold import ALIGNMENT, Part

Numbers = NDArray[np.float32]
#: The shape of each parameter by its name, or the numbers that all clients start from.
Declared = Mapping[str, Union[Sequence[int], Any]]
#: The same, or a function of `(features, classes)`, the numbers per example and of classes, that returns it.
Parameters = Union[Declared, Callable[[int, int], Declared]]


def model(
    parameters: Parameters,
    outputs: Callable[[dict[str, Numbers], Numbers], Any],
    gradients: Callable[[dict[str, Numbers], Numbers, NDArray[np.int64]], tuple[Any, Mapping[str, Any]]],
    *,
    initial: Callable[[np.random.Generator], Mapping[str, Any]] | None = None,
    pull_back: Callable[[dict[str, Numbers], Numbers, Numbers], Mapping[str, Any]] | None = None,
    label: str | None = None,
    version: str | None = None,
) -> Part:
    """A model for `model`: two functions of the parameters and examples of `R` clients at once.

    One call handles as many clients with batches of the same size as memory allows. The arrays are read-only views of Meshfold's
    memory. The functions must draw nothing at random, and no row may depend on another. Before a run, Meshfold warns if the gradients are
    far from what differences of the losses say.

        def outputs(parameters, x):                     # x [R, B, D]: R clients, B examples each, D numbers
            return x @ parameters["weight"] + parameters["bias"][:, None]

        def gradients(parameters, x, y):                # y [R, B]
            logits = outputs(parameters, x)
            shares = scipy.special.softmax(logits, axis=2)
            chosen = np.take_along_axis(shares, y[..., None], axis=2)
            slopes = (shares - np.eye(10, dtype="f4")[y]) / y.shape[1]
            losses = -np.log(chosen).mean(axis=(1, 2))
            return losses, {"weight": np.swapaxes(x, 1, 2) @ slopes, "bias": slopes.sum(axis=1)}

        logistic = mf.model({"weight": (784, 10), "bias": (10,)}, outputs, gradients)

    Args:
        parameters: the shape of each parameter in one model, without `R`, or the numbers that all clients start from; or a function
            of `(features, classes)` that returns these. Parameters given by shape start uniform in ±1/√inputs, as in PyTorch. The
            inputs of an array are all its axes but the last; a vector has the inputs of the array before it.
        outputs: maps `(parameters, x)` to outputs `[R, B, classes]`, before the softmax. Evaluations compute cross-entropy and
            accuracy from them. If all clients see the same examples, `x` is `[1, B, D]`.
        gradients: maps `(parameters, x, y)` to the mean loss of each client over its batch, `[R]`, and a dict with the gradient with
            respect to each parameter, `[R, ...]`.
        initial: a function of a NumPy generator, seeded by the run, that returns the initial parameters of a model.
        pull_back: maps `(parameters, x, slopes)` to a dict with the gradient of the sum of `slopes` times outputs with respect to each
            parameter, `[R, ...]`. `slopes` `[R, B, classes]` is the gradient of a loss with respect to the outputs. In the example, it
            returns `{"weight": np.swapaxes(x, 1, 2) @ slopes, "bias": slopes.sum(axis=1)}`. Only methods that take gradients of a loss
            of their own need it. Meshfold warns if its first gradients are far from what differences of the outputs say.
        label: what the model is called in tables; the name of `outputs` with a digest if absent.
        version: distinguishes models with the same label, as part of the id of a run. If absent, it is a digest of the arrays, of the
            functions' code, and of all that this refers to, except libraries. Give one if the functions depend on anything else.
    """
    held = _Model(parameters, outputs, gradients, initial, pull_back)

    def again() -> Part:
        return model(parameters, outputs, gradients, initial=initial, pull_back=pull_back, label=label)

    def tell() -> list[Any]:
        # A model without `pull_back` has the version of the other four.
        return [parameters, outputs, gradients, initial, *([] if pull_back is None else [pull_back])]

    version = _digests.version_of(version, "model")
    return made(held, tell, again, outputs, label, version)


def made(
    held: Any, tell: Callable[[], Sequence[Any]], again: Callable[[], Part], named: Any, label: str | None, version: str | None
) -> Part:
    """The part of the model `held`, called after `named` if it has no label, and made `again` if it has no version."""
    digest = version or _digests.of_values(*tell())
    part = Part.model(label or _named(named, digest), digest, held)
    return part if version is not None else _renewal.renewable(part, held, tell, again)


def _named(function: Any, digest: str) -> str:
    own = getattr(function, "__name__", None) or type(function).__name__
    return f"{own.strip('<>')}-{digest[:6]}"


class _Model:
    """The arguments of `model`."""

    def __init__(self, parameters: Parameters, outputs: Any, gradients: Any, initial: Any, pull_back: Any = None) -> None:
        self.parameters = parameters
        self.outputs = outputs
        self.gradients = gradients
        self.initial = initial
        self.pull_back = pull_back
        #: Whether `initial` was asked twice for one start.
        self.is_drawn_again = False

    def fit(self, features: int, classes: int, tokens: bool) -> Fitted:
        declared = self.parameters(features, classes) if callable(self.parameters) else self.parameters
        if not isinstance(declared, Mapping):
            raise TypeError(f"model: `parameters` is {type(declared).__name__}, needed a dict from names to shapes or arrays")
        shapes, given = {}, {}
        for name, value in declared.items():
            if isinstance(value, (tuple, list)) and all(isinstance(length, (int, np.integer)) for length in value):
                shapes[name] = tuple(int(length) for length in value)
            else:
                given[name] = _arrays.numbers(value, f"model: the parameter `{name}`")
                shapes[name] = given[name].shape
        return FittedFunctions(self, Layout(shapes), given, classes)


class Layout:
    """The place of each parameter in a row of a stack."""

    def __init__(self, shapes: Mapping[str, tuple[int, ...]]) -> None:
        self.shapes = dict(shapes)
        self.places: dict[str, slice] = {}
        offset = 0
        for name, shape in self.shapes.items():
            size = math.prod(shape)
            self.places[name] = slice(offset, offset + size)
            offset += -(-size // ALIGNMENT) * ALIGNMENT
        self.width = offset

    def views(self, rows: Any) -> dict[str, Any]:
        """Views of the parameters in `rows` `[R, P_pad]`, each `[R, ...]`."""
        return {name: rows[:, place].reshape(-1, *self.shapes[name]) for name, place in self.places.items()}


class Fitted:
    """A model for examples of a known size, with the functions that the engine calls."""

    def __init__(self, layout: Layout, classes: int) -> None:
        self.layout = layout
        self.classes = classes

    @property
    def shapes(self) -> list[tuple[str, tuple[int, ...]]]:
        return list(self.layout.shapes.items())

    def initial(self, seed: int, row: int) -> list[Numbers] | None:
        """The initial parameters of row `row`, one array each; None if the engine is to draw them."""
        raise NotImplementedError

    def outputs(self, rows: Numbers, x: Numbers) -> Numbers:
        """The outputs `[R, B, classes]` of the models `[R, P_pad]` for `x`, `[R, B, D]` or `[1, B, D]`."""
        raise NotImplementedError

    def gradients(self, rows: Numbers, x: Numbers, y: NDArray[np.int64]) -> tuple[Numbers, list[Numbers], bool]:
        """Losses `[R]`, gradients, and whether these are one array `[R, P_pad]` instead of one per parameter."""
        raise NotImplementedError

    def pull_back(self, rows: Numbers, x: Numbers, slopes: Numbers) -> tuple[Numbers, list[Numbers], bool]:
        """What `gradients` returns, of the sum of `slopes` `[R, B, classes]` times the outputs of each row; the losses are zeros.

        `x` is `[R, B, D]`.
        """
        raise NotImplementedError


def expect_same_start(function: str, what: str, source: str, starts: Sequence[Numbers], again: Sequence[Numbers]) -> None:
    """Refuses a function that draws the initial parameters from anything but what it is given: a run could not be repeated."""
    if not all(np.array_equal(first, second, equal_nan=True) for first, second in zip(starts, again, strict=True)):
        raise ValueError(
            f"{function}: {what} made other parameters when it was called again for the same seed: draw from {source} alone, so that a run can be "
            "repeated and go on from a checkpoint"
        )


class FittedFunctions(Fitted):
    """A model made of functions of stacked parameters."""

    def __init__(self, model: _Model, layout: Layout, given: dict[str, Numbers], classes: int) -> None:
        super().__init__(layout, classes)
        self._model = model
        self._given = given
        self._is_compared = False
        self._is_pull_back_compared = False

    def initial(self, seed: int, row: int) -> list[Numbers] | None:
        generator = np.random.default_rng([seed, row])
        if self._model.initial is not None:
            starts = self._drawn(self._model.initial, generator)
            if not self._model.is_drawn_again:
                self._model.is_drawn_again = True
                again = self._drawn(self._model.initial, np.random.default_rng([seed, row]))
                expect_same_start("model", "`initial`", "its generator", starts, again)
            return starts
        if not self._given:
            return None
        starts, inputs = [], 1
        for name, shape in self.shapes:
            if len(shape) > 1:
                inputs = max(math.prod(shape[:-1]), 1)
            if name in self._given:
                starts.append(self._given[name])
            else:
                bound = 1 / math.sqrt(inputs)
                starts.append(generator.uniform(-bound, bound, shape).astype(np.float32))
        return starts

    def _drawn(self, initial: Callable[[np.random.Generator], Mapping[str, Any]], generator: np.random.Generator) -> list[Numbers]:
        drawn = initial(generator)
        return [self._start(drawn, name, shape) for name, shape in self.shapes]

    def _start(self, drawn: Mapping[str, Any], name: str, shape: tuple[int, ...]) -> Numbers:
        if name not in drawn:
            raise ValueError(f"model: `initial` gives no parameter `{name}`")
        return _arrays.numbers(drawn[name], f"model: the initial `{name}`", shape)

    def outputs(self, rows: Numbers, x: Numbers) -> Numbers:
        outputs = self._model.outputs(self.layout.views(rows), x)
        return _arrays.floats(outputs, "model: what `outputs` returned", (len(rows), x.shape[1], self.classes))

    def gradients(self, rows: Numbers, x: Numbers, y: NDArray[np.int64]) -> tuple[Numbers, list[Numbers], bool]:
        losses, gradients = self._losses_and_gradients(rows, x, y)
        # The first call is that of the trial, which has two rows with three examples each.
        if not self._is_compared:
            self._is_compared = True
            self._compare(rows, x, y, losses, gradients)
            _means.warn_of_sum("model", lambda x, y: self._losses_and_gradients(rows, x, y)[0], losses, x, y)
        return losses, gradients, False

    def _losses_and_gradients(self, rows: Numbers, x: Numbers, y: NDArray[np.int64]) -> tuple[Numbers, list[Numbers]]:
        returned = self._model.gradients(self.layout.views(rows), x, y)
        if not isinstance(returned, tuple) or len(returned) != 2:
            raise TypeError(f"model: `gradients` returned {type(returned).__name__}, needed a pair: losses [R] and a dict of gradients")
        losses, by_name = returned
        gradients = self._in_order("gradients", by_name, len(rows))
        return _arrays.floats(losses, "model: the losses that `gradients` returned", (len(rows),)), gradients

    def pull_back(self, rows: Numbers, x: Numbers, slopes: Numbers) -> tuple[Numbers, list[Numbers], bool]:
        if self._model.pull_back is None:
            raise ValueError(
                "model: a method takes gradients of a loss of its own, which needs `pull_back`: give `mf.model(..., pull_back=...)` a function of "
                "`(parameters, x, slopes)` that returns the gradient of the sum of `slopes` times outputs by each parameter"
            )
        by_name = self._model.pull_back(self.layout.views(rows), x, slopes)
        gradients = self._in_order("pull_back", by_name, len(rows))
        if not self._is_pull_back_compared:
            self._is_pull_back_compared = True
            # Two rows are enough, as in the trial: a call may have all clients.
            self._compare_pull_back(rows[:2], x[:2], slopes[:2], [gradient[:2] for gradient in gradients])
        return np.zeros(len(rows), np.float32), gradients, False

    def _in_order(self, function: str, by_name: Any, rows: int) -> list[Numbers]:
        """The gradients that `function` returned, in the order of the parameters."""
        if not isinstance(by_name, Mapping) or set(by_name) != set(self.layout.shapes):
            found = sorted(by_name) if isinstance(by_name, Mapping) else type(by_name).__name__
            raise ValueError(f"model: `{function}` returned gradients by {found}, needed {sorted(self.layout.shapes)}")
        return [
            _arrays.floats(by_name[name], f"model: the gradient by `{name}` that `{function}` returned", (rows, *shape))
            for name, shape in self.shapes
        ]

    def _compare(self, rows: Numbers, x: Numbers, y: NDArray[np.int64], losses: Numbers, gradients: list[Numbers]) -> None:
        """Warns if the gradients are not those of the losses."""
        wrong = self._wrong_slope(lambda others: self._losses_and_gradients(others, x, y)[0], rows, losses, gradients)
        if wrong is not None:
            called = getattr(self._model.gradients, "__name__", "gradients")
            told = _told_of(wrong, called, "its losses the slope", "the mean loss over the batch")
            warnings.warn(told, MeshfoldWarning, stacklevel=4)

    def _compare_pull_back(self, rows: Numbers, x: Numbers, slopes: Numbers, gradients: list[Numbers]) -> None:
        """Warns if the gradients are not those of the sum of slopes times outputs."""

        def sums_at(others: Numbers) -> NDArray[np.float64]:
            sums: NDArray[np.float64] = (slopes * self.outputs(others, x)).sum(axis=(1, 2), dtype=np.float64)
            return sums

        wrong = self._wrong_slope(sums_at, rows, sums_at(rows), gradients)
        if wrong is not None:
            called = getattr(self._model.pull_back, "__name__", "pull_back")
            # A run calls it on a thread of its own.
            _late.say(_told_of(wrong, called, "the outputs the slope of the sum of `slopes` times outputs", "this sum"))

    def _wrong_slope(
        self, losses_of: Callable[[Numbers], Any], rows: Numbers, losses: NDArray[Any], gradients: list[Numbers]
    ) -> _slopes.Slope | None:
        """A slope by which the gradients are not those of `losses`, which are the `losses_of` the models `rows`."""
        padded = np.zeros(rows.shape, np.float32)
        for (name, _), gradient in zip(self.shapes, gradients, strict=True):
            self.layout.views(padded)[name][...] = gradient

        def losses_at(others: Numbers) -> Any:
            others.flags.writeable = False
            return losses_of(others)

        return _slopes.wrong_slope(losses_at, rows, losses, padded)


def _told_of(wrong: _slopes.Slope, called: str, source: str, needed: str) -> str:
    """What to tell of the gradients of the function `called`."""
    return (
        f"model: the gradients that `{called}` returns are off by {100 * abs(wrong.claimed / wrong.found - 1):.0f} %: by {source} along a random "
        f"direction is {wrong.found:.3g}, by its gradients {wrong.claimed:.3g}. Each gradient must be that of {needed}"
    )
