"""Digests of the content of parts. Runs of different parts have different ids because the digests differ."""

from __future__ import annotations

import dataclasses
import enum
import functools
import hashlib
import inspect
import re
import sys
import tokenize
import types
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: How deep functions and objects inside a function are followed.
_DEEPEST = 4


def of_arrays(*arrays: NDArray[Any]) -> str:
    """A digest of the types, shapes and contents of `arrays`."""
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(f"{array.dtype} {array.shape}".encode())
        # The bytes of an array of objects are addresses.
        digest.update(repr(array.tolist()).encode() if array.dtype.hasobject else np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:16]


def of_source(function: Callable[..., Any]) -> str:
    """A digest of the source of `function`, or of its code if the source is not known, and of the values it encloses."""
    enclosed = _enclosed(function, 0)
    text = _source(function, 0) + (repr(enclosed) if enclosed else "")
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def of_classes(kinds: Iterable[type], but: Callable[[type], Collection[str]]) -> str:
    """A digest of the source of classes, or of their functions and attributes if the source does not say everything. `but` names
    the attributes of a class to leave out.

    Raises:
        TypeError: if a value has no text but its address in memory.
    """
    text = "".join(_class_source(kind, 0, but(kind)) for kind in kinds)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def version_of(given: Any, part: str) -> str | None:
    """The version that a user gave, or None.

    Raises:
        TypeError: if it is not text.
    """
    if given is not None and not isinstance(given, str):
        raise TypeError(f"{part}: version is {given!r}, needed text, such as {str(given)!r}")
    return given


def of_values(*values: Any) -> str:
    """A digest of functions, arrays, numbers, text, and lists, dicts, sets and objects of them.

    Raises:
        TypeError: if a value has no text but its address in memory.
    """
    return hashlib.sha256(repr([_told(value, 0) for value in values]).encode()).hexdigest()[:16]


def _source(function: Any, depth: int) -> str:
    """The source of a function, or else its code, or else the class of a callable object, or else a name."""
    code = _code_of(function)
    source = _written(function)
    if source is None and code is not None:
        return repr(_told_code(code))
    if source is None:
        kind = type(function)
        if isinstance(function, type) or inspect.isroutine(function) or is_of_library(kind):
            return repr(getattr(function, "__qualname__", kind.__qualname__))
        return repr(_told_class(kind, depth))
    if code is not None and code.co_name == "<lambda>" and not _is_alone(code, source):
        return source + repr(_told_code(code))
    return source


def _written(it: Any) -> str | None:
    """The source of a function or class, if Python finds one."""
    try:
        return inspect.getsource(it)
    except (OSError, TypeError, SyntaxError, IndexError, tokenize.TokenError):
        return None


def _code_of(function: Any) -> types.CodeType | None:
    try:
        code = getattr(inspect.unwrap(function), "__code__", None)
    except ValueError:
        return None
    return code if isinstance(code, types.CodeType) else None


def _is_alone(code: types.CodeType, source: str) -> bool:
    """Whether `source`, which starts at the line of a lambda, holds the whole lambda and no other one."""
    return len(re.findall(r"\blambda\b", source)) == 1 and _last_line(code) < code.co_firstlineno + len(source.splitlines())


def _last_line(code: types.CodeType) -> int:
    within = [_last_line(const) for const in code.co_consts if isinstance(const, types.CodeType)]
    return max([code.co_firstlineno, *within, *(line for _, _, line in code.co_lines() if line is not None)])


def _told_code(code: types.CodeType) -> list[Any]:
    """The bytecode of a function; it differs between versions of Python."""
    names = (code.co_names, code.co_varnames, code.co_freevars)
    counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
    return [code.co_code.hex(), [_told_constant(const) for const in code.co_consts], names, counts]


def _told_constant(const: Any) -> Any:
    if isinstance(const, types.CodeType):
        return _told_code(const)
    if isinstance(const, tuple):
        return [_told_constant(entry) for entry in const]
    # The order of a set differs between processes.
    return sorted(map(repr, const)) if isinstance(const, frozenset) else repr(const)


def is_of_library(kind: type) -> bool:
    """Whether a class comes with Python or an installed package, so that users do not edit it."""
    module = kind.__module__ or ""
    top = module.partition(".")[0]
    if module == "builtins":
        return not any(isinstance(value, types.FunctionType) for value in vars(kind).values())
    # Some tools run a user's classes in a main module whose file is the tool's own.
    if top == "__main__":
        return False
    if top == "meshfold" or top in sys.stdlib_module_names:
        return True
    file = getattr(sys.modules.get(module), "__file__", None)
    return file is not None and not {"site-packages", "dist-packages"}.isdisjoint(Path(file).parts)


def _told_class(kind: type, depth: int) -> Any:
    """The source of a class and of its bases that the user wrote."""
    if depth >= _DEEPEST:
        return kind.__qualname__
    bases = [base for base in kind.__mro__[1:] if not is_of_library(base)]
    return (_class_source(kind, depth), {"bases": [_class_source(base, depth) for base in bases]} if bases else {})


def _class_source(kind: type, depth: int, but: Collection[str] = ()) -> str:
    """The source of a class; or its functions, with the variables they enclose, and its attributes. The latter is for classes in a
    function, which may use variables of that function, and classes whose source Python does not find, as in notebooks."""
    source = _written(kind)
    if source is not None and "<locals>" not in kind.__qualname__ and _is_source_of(kind, source):
        return source
    if is_of_library(kind):
        return source or repr(kind.__qualname__)
    return repr([kind.__qualname__, _members(kind, depth, but)])


def _is_source_of(kind: type, source: str) -> bool:
    """Whether `source` is that of `kind`. Python looks for it by name, and a file may have several classes of one name."""
    try:
        lines, first = inspect.getsourcelines(kind)
        file = inspect.getsourcefile(kind)
        whole = "".join(inspect.findsource(kind)[0])
    except (OSError, TypeError):
        return False
    own = [value for value in map(_function_of, vars(kind).values()) if value is not None]
    own = [function for function in own if function.__qualname__.rpartition(".")[0] == kind.__qualname__]
    # Some are generated, such as `__init__` of a dataclass.
    own = [function for function in own if function.__code__.co_filename != "<string>"]
    if not own:
        return len(re.findall(rf"^\s*class\s+{kind.__name__}\b", whole, re.MULTILINE)) == 1
    within = range(first, first + len(lines))
    return all(each.__code__.co_firstlineno in within and inspect.getsourcefile(each) == file for each in own)


def _function_of(value: Any) -> types.FunctionType | None:
    """The function behind an attribute of a class, such as a method or a property; None if there is none."""
    if isinstance(value, (staticmethod, classmethod)):
        value = value.__func__
    elif isinstance(value, property):
        value = value.fget
    elif isinstance(value, functools.cached_property):
        value = value.func
    return value if isinstance(value, types.FunctionType) else None


def _members(kind: type, depth: int, but: Collection[str]) -> dict[str, Any]:
    """The functions and attributes of a class, by their names."""
    members: dict[str, Any] = {}
    for name, value in sorted(vars(kind).items()):
        if name in but or name in ("_abc_impl", "__annotate__", "__annotate_func__"):
            continue
        accessors = (value.fget, value.fset, value.fdel) if isinstance(value, property) else (value,)
        functions = [function for function in map(_function_of, accessors) if function is not None]
        if functions:
            # `__class__` is the class itself, which `super()` uses.
            members[name] = [(_source(each, depth), _enclosed(each, depth, ("__class__",))) for each in functions]
        elif not name.startswith("__"):
            try:
                members[name] = _told(value, depth + 1)
            except TypeError as error:
                raise TypeError(f"{kind.__qualname__}.{name}: {error}") from None
    return members


def _enclosed(function: Any, depth: int, but: Collection[str] = ()) -> dict[str, Any]:
    """The values that `function` encloses, by name: variables of functions around it, defaults of its parameters, arguments of a
    partial function, the object of a method, attributes of a callable object. Those named in `but` are left out."""
    if isinstance(function, functools.partial):
        parts = {"function": function.func, "arguments": function.args, "keywords": function.keywords}
        return {name: _told(value, depth + 1) for name, value in parts.items()}
    plain = getattr(function, "__func__", function)
    if inspect.isfunction(plain):
        variables = _nonlocals(plain)
    else:
        variables = {} if isinstance(function, type) else dict(getattr(function, "__dict__", {}))
    for name, value in _defaults(function):
        variables.setdefault(f"{name}=", value)
    if inspect.ismethod(function):
        variables["__self__"] = getattr(function.__self__, "__dict__", {})
    return {name: _told(value, depth + 1) for name, value in sorted(variables.items()) if name not in but}


def _nonlocals(function: types.FunctionType) -> dict[str, Any]:
    """The variables of enclosing functions that `function` uses, if they have a value."""
    variables = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            variables[name] = cell.cell_contents
        except ValueError:
            continue
    return variables


def _defaults(function: Any) -> list[tuple[str, Any]]:
    if not inspect.isroutine(function):
        return []
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    return [(each.name, each.default) for each in parameters if each.default is not each.empty]


def _told(value: Any, depth: int) -> Any:
    """`value` in a form whose text does not depend on addresses in memory."""
    if value is None or isinstance(value, (bool, int, float, str, bytes)):
        return value
    if isinstance(value, (list, tuple)):
        return [_told(entry, depth) for entry in value]
    if isinstance(value, Mapping):
        return {str(key): _told(entry, depth) for key, entry in value.items()}
    if hasattr(value, "number_of_nodes") and hasattr(value, "edges"):
        return [repr(list(value.nodes)), repr(list(value.edges))]
    if hasattr(value, "tocoo"):
        entries = value.tocoo()
        return of_arrays(entries.row, entries.col, entries.data, np.array(value.shape))
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        return of_arrays(np.asarray(value.detach() if hasattr(value, "detach") else value))
    if hasattr(value, "to_numpy"):
        return [repr(list(getattr(value, "columns", []))), _told(value.to_numpy(), depth)]
    if isinstance(value, type):
        return _told_class(value, depth)
    if callable(value):
        return (_source(value, depth), _enclosed(value, depth)) if depth < _DEEPEST else type(value).__qualname__
    return _told_object(value, depth)


def _told_object(value: Any, depth: int) -> Any:
    """The form for an object that is not a number, text, an array or callable."""
    kind = type(value).__qualname__
    if isinstance(value, (set, frozenset)):
        return [kind, *sorted((_told(entry, depth) for entry in value), key=repr)]
    if isinstance(value, enum.Enum):
        return [kind, value.name, _told(value.value, depth)]
    if isinstance(value, types.ModuleType):
        return [kind, value.__name__]
    if dataclasses.is_dataclass(value):
        fields: Any = {each.name: getattr(value, each.name) for each in dataclasses.fields(value)}
    else:
        fields = getattr(value, "__dict__", None)
    if fields is not None:
        return [kind, _told(fields, depth + 1)] if depth < _DEEPEST else kind
    text = repr(value)
    # A text with an address differs between processes.
    made: Any = type(value)
    if made.__repr__ is object.__repr__ or " at 0x" in text:
        raise TypeError(
            f"no digest tells a {kind} from others, by which runs are known: give a `version`, and another one where it changes"
        )
    return [kind, text]
