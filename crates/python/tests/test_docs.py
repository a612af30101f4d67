"""The programs of the documentation run."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

import meshfold as mf

PAGE = Path(__file__).parents[3] / "docs" / "own.md"


def test_the_programs_of_the_page_on_own_parts_run(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert len(blocks) == 4
    names: dict[str, object] = {}
    before = dict(mf._own.METHODS)
    try:
        for block in blocks:
            exec(compile(block, str(PAGE), "exec"), names)
        for framework, call in (("jax", "in_jax"), ("torch", "in_torch")):
            if find_spec(framework) is not None:
                runs = names[call]()  # type: ignore[operator]
                assert all(run.is_finished for run in runs)
    finally:
        mf._own.METHODS.clear()
        mf._own.METHODS.update(before)
    told = capsys.readouterr().out
    assert "gamma=0.1" in told and "matchings" in told
