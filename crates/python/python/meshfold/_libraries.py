"""Whose code it is: that of libraries, which users do not edit, or that of the user's files."""

from __future__ import annotations

import ast
import functools
import importlib.util
import os
import sys
import types
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_LIBRARIES = (os.path.dirname(os.path.realpath(os.__file__)), os.path.dirname(os.path.realpath(__file__)))
#: Published methods, whose code counts as that of a user's method does: another one makes other runs.
_PUBLISHED = os.path.join(_LIBRARIES[1], "methods") + os.sep


def is_of_library(it: Any) -> bool:
    """Whether a class, function or module comes with Python or an installed package, so that users do not edit it."""
    if isinstance(it, types.FunctionType):
        # A decorator gives its function the module of the function that it wraps.
        file = it.__code__.co_filename
        return _is_library_module(it.__module__ or "") if file.startswith("<") else is_library_file(file)
    if isinstance(it, types.ModuleType):
        return _is_library_module(it.__name__)
    module = getattr(it, "__module__", None) or ""
    if module == "builtins" and isinstance(it, type):
        return not any(isinstance(value, types.FunctionType) for value in vars(it).values())
    return _is_library_module(module)


def _is_library_module(name: str) -> bool:
    top = name.partition(".")[0]
    # Some tools run a user's classes in a main module whose file is the tool's own.
    if top == "__main__":
        return False
    if top == "meshfold":
        return not name.startswith("meshfold.methods")
    file = getattr(sys.modules.get(name), "__file__", None)
    return top in sys.stdlib_module_names if file is None else is_library_file(file)


@functools.lru_cache(maxsize=4096)
def is_library_file(file: str) -> bool:
    """Whether a file comes with Python, Meshfold (but for its published methods) or an installed package."""
    real = os.path.realpath(file)
    if real.startswith(_PUBLISHED):
        return False
    if file.startswith("<frozen ") or not {"site-packages", "dist-packages"}.isdisjoint(Path(file).parts):
        return True
    return any(real.startswith(folder + os.sep) for folder in _LIBRARIES)


@dataclass(frozen=True)
class Source:
    """A file of the user's, and the package that it belongs to."""

    path: Path
    package: str

    def tree(self) -> ast.Module:
        """Its syntax tree.

        Raises:
            OSError, SyntaxError, ValueError: if it is no program of Python.
        """
        return ast.parse(self.path.read_bytes())


def source_of(module: types.ModuleType) -> Source | None:
    """The source of a module of the user's; None for a library, and if there is none."""
    file = getattr(module, "__file__", None)
    return None if file is None or is_of_library(module) else Source(Path(file), module.__package__ or "")


def imported(tree: ast.AST, package: str) -> list[tuple[str, Source]]:
    """The modules of the user's that `tree`, which belongs to `package`, imports."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            try:
                module = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
            except ImportError:
                continue
            names.update(f"{module}.{alias.name}" for alias in node.names)
    found = ((name, _found(name)) for name in sorted(names))
    return [(name, source) for name, source in found if source is not None and not is_library_file(str(source.path))]


def _found(name: str) -> Source | None:
    """The source of a module, found without importing it; for `module.name`, that of the module if it is no package."""
    top, *rest = name.split(".")
    try:
        spec = importlib.util.find_spec(top)
    except (ImportError, ValueError, AttributeError):
        return None
    if spec is None:
        return None
    if not spec.submodule_search_locations:
        return Source(Path(spec.origin), "") if spec.origin is not None and spec.origin.endswith(".py") else None
    path, package = Path(list(spec.submodule_search_locations)[0]), top
    for part in rest:
        if (path / f"{part}.py").is_file():
            return Source(path / f"{part}.py", package)
        if not (path / part).is_dir():
            break
        path, package = path / part, f"{package}.{part}"
    return Source(path / "__init__.py", package) if (path / "__init__.py").is_file() else None
