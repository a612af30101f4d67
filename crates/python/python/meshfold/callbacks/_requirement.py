"""Packages that only some call-backs need."""

from __future__ import annotations

import importlib
from typing import Any


def required(module: str, callback: str, package: str | None = None) -> Any:
    """The module, or an error that says what to install."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = package or module
        raise ImportError(
            f"meshfold.callbacks.{callback} needs the package {package}, which cannot be imported ({error}): pip install {package}"
        ) from error
