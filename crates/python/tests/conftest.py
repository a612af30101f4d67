"""Fixtures that the tests share."""

from __future__ import annotations

import importlib
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import meshfold as mf
import pytest

# The tests need no network.
os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")

#: Packages of call-backs that CI leaves out, as they take too long to install.
LEFT_OUT: set[str] = set()


def required(module: str) -> Any:
    """The module; if it is missing, the tests are skipped, or fail where all packages must be installed."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        if os.environ.get("MESHFOLD_CI") and module not in LEFT_OUT:
            raise
        pytest.skip(f"{module} is not installed: {error}", allow_module_level=True)


class Halt(Exception):
    """What ends runs in a test."""


def halt_at(round: int) -> Callable[[mf.RunInfo, dict[str, Any]], None]:
    """A call-back that ends all runs after the record of a round."""

    def halt(run: mf.RunInfo, record: dict[str, Any]) -> None:
        if record["round"] == round:
            raise Halt

    return halt


@pytest.fixture
def wandb(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Weights & Biases, which keeps to the folder that it was first used in until it is told to forget it."""
    monkeypatch.setenv("WANDB_SILENT", "true")
    module = required("wandb")
    module.teardown()
    yield module
    module.teardown()


@pytest.fixture
def experiment() -> dict[str, Any]:
    """Four short runs."""
    return {
        "name": "small",
        "dataset": {"glyphs": {"train": 600, "test": 100}},
        "partition": {"shards": {"clients": 10}},
        "topology": "ring",
        "model": "logistic",
        "algorithm": {"dsgd": {"batch_size": 20, "learning_rate": 0.1}},
        "rounds": 5,
        "sweep": {"grid": {"topology": ["ring", "complete"], "seed": [1, 2]}},
    }


@pytest.fixture(autouse=True)
def working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every test works in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def program() -> str:
    """The program, named by MESHFOLD_PROGRAM or found on the path."""
    found = os.environ.get("MESHFOLD_PROGRAM") or shutil.which("meshfold")
    if found is None:
        if os.environ.get("MESHFOLD_CI"):
            pytest.fail("MESHFOLD_PROGRAM names no program")
        pytest.skip("there is no program meshfold: name it by MESHFOLD_PROGRAM")
    return found
