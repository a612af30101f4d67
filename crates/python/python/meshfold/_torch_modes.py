"""What a module of PyTorch would do otherwise in training mode, in which Meshfold never uses it."""

from __future__ import annotations

import dis
import types
from collections.abc import Iterable, Iterator
from typing import Any

from meshfold._errors import warn_user

#: Most submodules that a warning names of one kind.
_NAMED = 3


def expect_no_running_statistics(module: Any) -> None:
    """Requires that no part of `module` normalises by statistics of the batches that it has seen.

    # Interpretation
    This is an error and no warning. The statistics would stay as they are at first, so that a new layer would normalise nothing: a run
    would train another model than the one that was asked for.
    """
    for name, part in module.named_modules():
        if getattr(part, "track_running_stats", False):
            raise ValueError(
                f"torch_model: {_called(name, part)} keeps statistics of the batches that it has seen. They are no parameters: clients "
                "would neither update nor average them, and the layer would keep those that it starts with. Use nn.GroupNorm or nn.LayerNorm in "
                "its place, which normalise each example by itself"
            )


def warn_of_training_mode(module: Any) -> None:
    """Warns, once for each kind, of the parts of `module` that training mode would change, and that use statistics of a batch."""
    parts = list(module.named_modules())
    random = [_called(name, part) for name, part in parts if _draws_in_training(part)]
    asking = [_called(name, part) for name, part in parts if _asks_for_mode(type(part))]
    by_batch = [_called(name, part) for name, part in parts if _normalises_batches(part)]
    if random:
        _warn(
            f"nothing is drawn at random by {_listed(random)}: a module is used in evaluation mode, in training steps as well, so that "
            "dropout is off. Set it to 0 if that is meant; `weight_decay` of the method is another way to regularise"
        )
    if asking:
        _warn(
            f"`self.training` is always False in {_listed(asking)}: a module is used in evaluation mode, in training steps as well, so that "
            "what it does in training mode alone, such as dropout, is off"
        )
    if by_batch:
        _warn(
            f"statistics of the batch normalise examples in {_listed(by_batch)}, in evaluations as well: the outputs for an example depend "
            "on the examples that are scored beside it. nn.GroupNorm and nn.LayerNorm normalise each example by itself"
        )


def _draws_in_training(part: Any) -> bool:
    """Whether a layer of PyTorch's own that `vmap` can run draws at random in training mode."""
    from torch import nn

    if isinstance(part, nn.modules.dropout._DropoutNd):
        return bool(part.p > 0)
    return isinstance(part, nn.MultiheadAttention) and bool(part.dropout > 0)


def _normalises_batches(part: Any) -> bool:
    from torch import nn

    return isinstance(part, nn.modules.batchnorm._BatchNorm)


def _asks_for_mode(kind: type) -> bool:
    """Whether the code of a module's class, other than those of PyTorch, reads `training`."""
    written = [base for base in kind.__mro__ if base.__module__.split(".")[0] not in ("torch", "builtins")]
    functions = [value for base in written for name, value in vars(base).items() if name not in ("train", "eval")]
    codes = [function.__code__ for function in functions if isinstance(function, types.FunctionType)]
    return any(step.opname == "LOAD_ATTR" and step.argval == "training" for code in _with_inner(codes) for step in dis.get_instructions(code))


def _with_inner(codes: Iterable[types.CodeType]) -> Iterator[types.CodeType]:
    """Codes, and those of the functions within them."""
    for code in codes:
        yield code
        yield from _with_inner(inner for inner in code.co_consts if isinstance(inner, types.CodeType))


def _called(name: str, part: Any) -> str:
    kind = type(part).__name__
    return f"`{name}` ({kind})" if name else f"the module ({kind})"


def _listed(names: list[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def _warn(told: str) -> None:
    warn_user(f"torch_model: {told}")
