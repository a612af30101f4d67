"""Packages that only some call-backs need."""

from __future__ import annotations

import importlib
from typing import Any


def required(module: str, callback: str) -> Any:
    """Imports the module; if that fails, the error says what to install."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(
            f"meshfold.callbacks.{callback} needs the package {module}, which cannot be imported ({error}): pip install {module}"
        ) from error
