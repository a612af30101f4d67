"""Models that are written in PyTorch for a single client."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meshfold import _arrays, _digests, _means, _torch_draws
from meshfold._meshfold import Part
from meshfold._models import Fitted, Layout, Numbers, expect_same_start, made
from meshfold._torch_modes import expect_no_running_statistics, warn_of_training_mode


def torch_model(
    module: Any,
    *,
    loss: Callable[[Any, Any], Any] | None = None,
    label: str | None = None,
    version: str | None = None,
) -> Part:
    """A model for `model`, written in PyTorch as if there were one client: `torch.func` runs it for all of them.

        model = mf.torch_model(lambda: nn.Sequential(nn.Linear(784, 200), nn.ReLU(), nn.Linear(200, 10)))

    The module is used in evaluation mode, in training steps as well: nothing is drawn at random, and dropout is off, of which there is
    a warning. A module that keeps statistics of batches, such as `nn.BatchNorm1d`, is refused. Parameters with
    `requires_grad=False` are not trained. Like buffers, they are the same for all clients, are not part of the models, and must not
    depend on the run's seed.

    Args:
        module: an `nn.Module` that all clients start from, or a function that makes one, such as its class, called with PyTorch's
            generator seeded by the run. It maps examples `[B, D]` to outputs `[B, classes]`, before the softmax;
            `nn.Unflatten(1, (channels, height, width))` turns examples into images.
        loss: maps `(outputs, y)` with `y` `[B]` to the loss of the batch, a number, or of each example, `[B]`; the cross-entropy if
            absent. It is the loss of training alone; evaluations report cross-entropy and accuracy.
        label: what the model is called in tables; the name of the module with a digest if absent.
        version: as in `model`.
    """
    import torch

    is_module = isinstance(module, torch.nn.Module)
    held = _TorchModel(module, loss)

    def again() -> Part:
        return torch_model(module, loss=loss, label=label)

    def tell() -> list[Any]:
        return [_told(module) if is_module else module, loss, *_frozen(module)]

    version = _digests.version_of(version, "torch_model")
    return made(held, tell, again, type(module) if is_module else module, label, version)


def _told(module: Any) -> Any:
    """All that determines what a module computes: its text, its numbers, and the classes, attributes and hooks of its submodules."""
    import torch

    internal = vars(torch.nn.Module()).keys()
    parts = {}
    for path, part in module.named_modules():
        attributes = {name: value for name, value in vars(part).items() if name not in internal}
        hooks = [list(vars(part)[name].values()) for name in ("_forward_pre_hooks", "_forward_hooks")]
        parts[path] = (type(part), attributes, hooks)
    # `names` lists a parameter that two parts share once; the state may leave out buffers.
    names = [name for name, _ in module.named_parameters()]
    return repr(module), parts, names, dict(module.state_dict()), dict(module.named_buffers())


def _frozen(module: Any) -> list[str]:
    """The names of the parameters that are not trained; empty for a function, whose source already says which."""
    import torch

    if not isinstance(module, torch.nn.Module):
        return []
    return [name for name, value in module.named_parameters() if not value.requires_grad]


def _fixed(module: Any) -> dict[str, Any]:
    """The buffers of the module, and the parameters that are not trained."""
    frozen = {name: value for name, value in module.named_parameters() if not value.requires_grad}
    return {**dict(module.named_buffers()), **frozen}


def _expect_same(fixed: dict[str, Any], other: dict[str, Any]) -> None:
    """Requires that what is not trained is the same for two seeds: `fixed` and `other`."""
    for name, value in fixed.items():
        again = other.get(name)
        is_same = again is not None and again.shape == value.shape
        # NaN equals NaN here.
        if not is_same or not bool(((value == again) | ((value != value) & (again != again))).all()):
            raise ValueError(
                f"torch_model: `{name}` is drawn by the run's seed, but it is not trained, and so the same in all runs: draw it with a "
                "`torch.Generator` of its own, or make it a parameter that is trained"
            )


class _TorchModel:
    def __init__(self, module: Any, loss: Any) -> None:
        self.module = module
        self.loss = loss
        #: Whether the user has been told of what training mode would change.
        self.has_warned = False
        #: Whether the loss was looked at, and the function asked twice for one start.
        self.is_loss_known = loss is None
        self.is_drawn_again = False

    def made(self, seed: int, row: int) -> Any:
        """The module that row `row` starts from."""
        import torch

        if isinstance(self.module, torch.nn.Module):
            return self.module
        mixed = np.random.SeedSequence([seed, row]).generate_state(1, np.uint64)[0]
        with _torch_draws.seeded(int(mixed) & 0x7FFF_FFFF_FFFF_FFFF):
            module = self.module()
        if not isinstance(module, torch.nn.Module):
            raise TypeError(f"torch_model: the function made {type(module).__name__}, needed an nn.Module")
        return module

    def fit(self, features: int, classes: int, tokens: bool) -> Fitted:
        return _FittedTorch(self, features, classes, tokens)


class _FittedTorch(Fitted):
    def __init__(self, model: _TorchModel, features: int, classes: int, tokens: bool) -> None:
        import copy

        import torch
        from torch.func import functional_call, grad, grad_and_value, vmap

        module = copy.deepcopy(model.made(0, 0)).eval()
        expect_no_running_statistics(module)
        if not model.has_warned:
            model.has_warned = True
            warn_of_training_mode(module)
        shapes = {name: tuple(value.shape) for name, value in module.named_parameters() if value.requires_grad}
        if not shapes:
            raise ValueError("torch_model: the module has no parameter that is trained, one with `requires_grad=True`")
        super().__init__(Layout(shapes), classes)
        self._model = model
        # A call swaps parameters into the module and out again, so that two runs must not use it at once.
        self._lock = threading.Lock()
        fixed = _fixed(module)
        _expect_same(fixed, _fixed(model.made(1, 0)))

        def single(parameters: Any, x: Any) -> Any:
            try:
                return functional_call(module, (parameters, fixed), (x.long() if tokens else x,))
            except RuntimeError as error:
                if "input to conv" not in str(error):
                    raise
                raise ValueError(
                    f"torch_model: an example comes as a row of {features} numbers, but the module begins with a convolution: put "
                    "`nn.Unflatten(1, (channels, height, width))` before it"
                ) from error

        loss = model.loss or torch.nn.functional.cross_entropy

        def loss_of(parameters: Any, x: Any, y: Any) -> Any:
            return loss(single(parameters, x), y).mean()

        def weighed(parameters: Any, x: Any, slopes: Any) -> Any:
            return (single(parameters, x) * slopes).sum()

        self._step = vmap(grad_and_value(loss_of))
        self._pull_back = vmap(grad(weighed))
        self._score = vmap(single)
        self._score_same = vmap(single, in_dims=(0, None))

    def initial(self, seed: int, row: int) -> list[Numbers] | None:
        starts = self._drawn(seed, row)
        if not self._model.is_drawn_again:
            self._model.is_drawn_again = True
            expect_same_start("torch_model", "the function", "PyTorch's generator", starts, self._drawn(seed, row))
        return starts

    def _drawn(self, seed: int, row: int) -> list[Numbers]:
        parameters = dict(self._model.made(seed, row).named_parameters())
        return [_arrays.numbers(parameters[name], f"torch_model: the parameter `{name}`", shape) for name, shape in self.shapes]

    def outputs(self, rows: Numbers, x: Numbers) -> Numbers:
        import torch

        parameters, inputs = self.layout.views(_tensor(rows)), _tensor(x)
        same = len(x) == 1 and len(rows) > 1
        with self._lock, torch.no_grad():
            outputs = self._score_same(parameters, inputs[0]) if same else self._score(parameters, inputs)
        return _arrays.floats(outputs, "torch_model: what the module returned", (len(rows), x.shape[1], self.classes))

    def gradients(self, rows: Numbers, x: Numbers, y: NDArray[np.int64]) -> tuple[Numbers, list[Numbers], bool]:
        with self._lock:
            gradients, losses = self._step(self.layout.views(_tensor(rows)), _tensor(x), _tensor(y))
        # The first call is that of the trial.
        if not self._model.is_loss_known:
            self._model.is_loss_known = True
            _means.warn_of_sum("torch_model", lambda x, y: self._losses(rows, x, y), losses.detach().numpy(), x, y)
        return _arrays.floats(losses, "torch_model: the losses", (len(rows),)), self._in_order(gradients, len(rows)), False

    def pull_back(self, rows: Numbers, x: Numbers, slopes: Numbers) -> tuple[Numbers, list[Numbers], bool]:
        with self._lock:
            gradients = self._pull_back(self.layout.views(_tensor(rows)), _tensor(x), _tensor(slopes))
        return np.zeros(len(rows), np.float32), self._in_order(gradients, len(rows)), False

    def _in_order(self, gradients: Any, rows: int) -> list[Numbers]:
        """The gradients by name in the order of the parameters."""
        return [
            _arrays.floats(gradients[name], f"torch_model: the gradient by `{name}`", (rows, *shape))
            for name, shape in self.shapes
        ]

    def _losses(self, rows: Numbers, x: Numbers, y: NDArray[np.int64]) -> Any:
        with self._lock:
            return self._step(self.layout.views(_tensor(rows)), _tensor(x), _tensor(y))[1].detach().numpy()


def _tensor(array: NDArray[Any]) -> Any:
    """A tensor that shares the memory of `array`; it must not be written to."""
    import torch

    with warnings.catch_warnings():
        # PyTorch has no read-only tensors, and warns.
        warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
        return torch.from_numpy(array)
