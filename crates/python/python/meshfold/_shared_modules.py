"""Warns of a method whose code swaps or changes the parameters of a module of PyTorch that all runs of a process share."""

from __future__ import annotations

import ast
import inspect
import sys
import types
import weakref
from collections.abc import Iterator
from typing import Any

from meshfold import _code
from meshfold._errors import warn_user
from meshfold._telling import Telling

_TOLD: weakref.WeakSet[type] = weakref.WeakSet()


def tell_of(kind: type, name: str) -> None:
    """Warns, once for a class, of modules that the code of the method `name` finds outside of the method."""
    torch: Any = sys.modules.get("torch")
    module: type | None = getattr(getattr(torch, "nn", None), "Module", None)
    telling = None if module is None else Telling.of_new_class(kind, _TOLD)
    if module is None or telling is None:
        return
    found = {place: None for function in telling.functions() for place in _Reader(kind, function, module).shared()}
    if found:
        are, them = ("is a module", "it") if len(found) == 1 else ("are modules", "them")
        places = " and ".join(f"`{place}`" for place in found)
        own = next(iter(found)).rpartition(".")[2]
        warn_user(
            f"the method `{name}`: {places} {are} of PyTorch outside of it, which all runs of this process share. `functional_call` swaps the "
            f"parameters of a module while it computes, so that runs that go side by side compute with each other's. Make {them} in `start`, `self._{own} = ...`: each "
            "run then has its own, also one that is resumed"
        )


class _Reader:
    """Reads which modules a function uses otherwise than by calling them, which changes nothing: `net(x)` may be a teacher."""

    def __init__(self, kind: type, function: types.FunctionType, module: type) -> None:
        self._function = function
        self._module = module
        self._variables = {name: value for name, (_, value) in _code.nonlocals_of(function).items()} | dict(_code.defaults_of(function))
        code = function.__code__
        members = [getattr(value, "__func__", value) for base in kind.__mro__ for value in vars(base).values()]
        if code.co_argcount and any(member is function for member in members):
            self._variables[code.co_varnames[0]] = kind
        self._known = _code.words_of(function) | set(self._variables)

    def shared(self) -> Iterator[str]:
        """The names of these modules."""
        for chain in self._chains():
            place = self._of(chain)
            if place is not None:
                yield ".".join(place)

    def _chains(self) -> Iterator[_code.Chain]:
        tree = _code.tree_of(self._function)
        if tree is None:
            yield from sorted(_code.names_of(self._function, None).used)
            return
        nodes = [(node, chain) for node in ast.walk(tree) if (chain := _code.chain_of(node)) is not None]
        calls = [call.func for call in ast.walk(tree) if isinstance(call, ast.Call)]
        called = {id(part) for call in calls if self._is_module(call) for part in ast.walk(call)}
        yield from (chain for node, chain in nodes if id(node) not in called and isinstance(getattr(node, "ctx", None), ast.Load))

    def _is_module(self, node: ast.AST) -> bool:
        """Whether `node` is a module, or an entry of one or of a list of modules."""
        while isinstance(node, ast.Subscript):
            node = node.value
        chain = _code.chain_of(node)
        return chain is not None and self._has_modules(self._value(chain))

    def _of(self, chain: _code.Chain) -> _code.Chain | None:
        """The part of `chain` that names a module, or a list or dict of modules."""
        lengths = range(1, len(chain) + 1)
        return next((chain[:length] for length in lengths if self._has_modules(self._value(chain[:length]))), None)

    def _has_modules(self, value: Any) -> bool:
        held = value.values() if type(value) is dict else value if type(value) in (list, tuple) else [value]
        return any(isinstance(each, self._module) for each in list(held))

    def _value(self, chain: _code.Chain) -> Any:
        """What `chain` is; None if it is a variable of the function's own."""
        name, *attributes = chain
        if name not in self._known:
            return None
        value = self._variables.get(name, self._function.__globals__.get(name))
        for attribute in attributes:
            # A module of PyTorch keeps its parts where only it finds them.
            value = getattr(value, attribute, None) if isinstance(value, self._module) else inspect.getattr_static(value, attribute, None)
        return value
