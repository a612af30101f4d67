"""Models that are written in JAX for a single client."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meshfold import _arrays, _digests, _means
from meshfold._meshfold import Part
from meshfold._models import Fitted, Layout, Numbers, expect_same_start, made


def jax_model(
    outputs: Callable[[Any, Any], Any],
    parameters: Any,
    *,
    loss: Callable[[Any, Any], Any] | None = None,
    over: str = "map",
    label: str | None = None,
    version: str | None = None,
) -> Part:
    """A model for `model`, written in JAX as if there were one client: Meshfold runs it for all of them.

        def mlp(parameters, x):                         # x [B, D]: the batch of one client
            hidden = jax.nn.relu(x @ parameters["w1"] + parameters["b1"])
            return hidden @ parameters["w2"] + parameters["b2"]

        model = mf.jax_model(mlp, initial)              # initial(key) -> parameters

    Args:
        outputs: maps `(parameters, x)` with `x` `[B, D]` to the outputs `[B, classes]`, before the softmax.
        parameters: a tree of arrays that all clients start from, or a function that returns one, called with a `jax.random` key
            made from the run's seed.
        loss: maps `(outputs, y)` with `y` `[B]` to the loss of the batch, a number, or of each example, `[B]`; the cross-entropy if
            absent. It is the loss of training alone; evaluations report cross-entropy and accuracy.
        over: `map` computes the clients of a call one after another, `vmap` in batched products. On processors `map` is faster for
            most models.
        label: what the model is called in tables; the name of `outputs` with a digest if absent.
        version: as in `model`.
    """
    if over not in ("map", "vmap"):
        raise ValueError(f"jax_model: over is {over!r}, needed 'map' or 'vmap'")
    held = _JaxModel(outputs, parameters, loss, over)

    def again() -> Part:
        return jax_model(outputs, parameters, loss=loss, over=over, label=label)

    version = _digests.version_of(version, "jax_model")
    return made(held, lambda: [outputs, _leaves(parameters), loss, over], again, outputs, label, version)


def _leaves(parameters: Any) -> Any:
    if callable(parameters):
        return parameters
    import jax

    return [(jax.tree_util.keystr(path), np.asarray(leaf)) for path, leaf in jax.tree_util.tree_flatten_with_path(parameters)[0]]


class _JaxModel:
    def __init__(self, outputs: Any, parameters: Any, loss: Any, over: str) -> None:
        self.outputs = outputs
        self.parameters = parameters
        self.loss = loss
        self.over = over
        #: Whether the loss was looked at.
        self.is_loss_known = loss is None
        #: Whether the function of parameters was asked twice for one start.
        self.is_drawn_again = not callable(parameters)
        self._fitted: dict[tuple[int, int, bool], Fitted] = {}

    def drawn(self, seed: int, row: int) -> Any:
        """The tree that row `row` starts from."""
        import jax

        if not callable(self.parameters):
            return self.parameters
        key = jax.random.key(seed & 0xFFFFFFFF)
        return self.parameters(jax.random.fold_in(jax.random.fold_in(key, seed >> 32), row))

    def fit(self, features: int, classes: int, tokens: bool) -> Fitted:
        # Later runs reuse what JAX has compiled.
        key = (features, classes, tokens)
        if key not in self._fitted:
            self._fitted[key] = _FittedJax(self, classes, tokens)
        return self._fitted[key]


class _FittedJax(Fitted):
    """Passes rows `[R, P_pad]` to JAX as one array, and gets the gradients with respect to them as one array."""

    def __init__(self, model: _JaxModel, classes: int, tokens: bool) -> None:
        import jax
        import jax.numpy as jnp

        leaves, tree = jax.tree_util.tree_flatten_with_path(model.drawn(0, 0))
        shapes = {jax.tree_util.keystr(path, simple=True, separator="."): tuple(np.shape(leaf)) for path, leaf in leaves}
        layout = Layout(shapes)
        super().__init__(layout, classes)
        self._model = model

        def unflattened(row: Any) -> Any:
            parts = [row[place].reshape(shapes[name]) for name, place in layout.places.items()]
            return jax.tree_util.tree_unflatten(tree, parts)

        def single(row: Any, x: Any) -> Any:
            return model.outputs(unflattened(row), x.astype(jnp.int32) if tokens else x)

        def cross_entropy(outputs: Any, y: Any) -> Any:
            chosen = jnp.take_along_axis(outputs, y[:, None], axis=-1)[:, 0]
            return jax.nn.logsumexp(outputs, axis=-1) - chosen

        loss = model.loss or cross_entropy

        def loss_of(row: Any, x: Any, y: Any) -> Any:
            return jnp.mean(loss(single(row, x), y))

        def weighed(row: Any, x: Any, slopes: Any) -> Any:
            return jnp.sum(single(row, x) * slopes)

        def over_rows(function: Any) -> Any:
            if model.over == "vmap":
                return jax.vmap(function)
            return lambda *arrays: jax.lax.map(lambda row: function(*row), arrays)

        self._step = jax.jit(over_rows(jax.value_and_grad(loss_of)))
        self._pull_back = jax.jit(over_rows(jax.grad(weighed)))
        self._score = jax.jit(over_rows(single))
        self._score_same = jax.jit(lambda rows, x: over_rows(lambda row: single(row, x))(rows))

    def initial(self, seed: int, row: int) -> list[Numbers] | None:
        starts = self._drawn(seed, row)
        if not self._model.is_drawn_again:
            self._model.is_drawn_again = True
            expect_same_start("jax_model", "the function of parameters", "its key", starts, self._drawn(seed, row))
        return starts

    def _drawn(self, seed: int, row: int) -> list[Numbers]:
        import jax

        leaves = jax.tree_util.tree_leaves(self._model.drawn(seed, row))
        return [
            _arrays.numbers(leaf, f"jax_model: the parameter `{name}`", shape)
            for leaf, (name, shape) in zip(leaves, self.shapes, strict=True)
        ]

    def outputs(self, rows: Numbers, x: Numbers) -> Numbers:
        same = len(x) == 1 and len(rows) > 1
        outputs = self._score_same(rows, x[0]) if same else self._score(rows, x)
        return _arrays.floats(outputs, "jax_model: what `outputs` returned", (len(rows), x.shape[1], self.classes))

    def gradients(self, rows: Numbers, x: Numbers, y: NDArray[np.int64]) -> tuple[Numbers, list[Numbers], bool]:
        losses, gradients = self._stepped(rows, x, y)
        # The first call is that of the trial.
        if not self._model.is_loss_known:
            self._model.is_loss_known = True
            _means.warn_of_sum("jax_model", lambda x, y: self._stepped(rows, x, y)[0], losses, x, y)
        return losses, [gradients], True

    def pull_back(self, rows: Numbers, x: Numbers, slopes: Numbers) -> tuple[Numbers, list[Numbers], bool]:
        count = len(rows)
        rows, x, slopes = _padded(rows), _padded(x), _padded(slopes)
        gradients = _arrays.floats(self._pull_back(rows, x, slopes), "jax_model: the gradient", rows.shape)
        return np.zeros(count, np.float32), [gradients[:count]], True

    def _stepped(self, rows: Numbers, x: Numbers, y: NDArray[np.int64]) -> tuple[Numbers, Numbers]:
        """Losses `[R]` and gradients `[R, P_pad]`."""
        count = len(rows)
        rows, x, labels = _padded(rows), _padded(x), _padded(y.astype(np.int32))
        losses, gradients = self._step(rows, x, labels)
        losses = _arrays.floats(losses, "jax_model: the losses", (len(rows),))
        gradients = _arrays.floats(gradients, "jax_model: the gradient", rows.shape)
        return losses[:count], gradients[:count]


#: Up to so many rows are never padded.
_FEW = 4


def _padded(rows: Any) -> Any:
    """`rows`, padded with copies of the last row: JAX compiles once for each number of rows, so few numbers must occur.

    Above `_FEW`, these have three significant bits or one significant decimal digit: 96, 100, 112, 128.
    """
    count = len(rows)
    bits, digits = 1 << max(count.bit_length() - 3, 0), 10 ** (len(str(count)) - 1)
    wanted = min(-(-count // step) * step for step in (bits, digits))
    if wanted == count or count <= _FEW:
        return rows
    return np.concatenate([rows, np.repeat(rows[-1:], wanted - count, axis=0)])
