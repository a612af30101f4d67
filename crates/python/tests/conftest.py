"""What the tests share."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest


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
