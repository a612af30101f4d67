"""The programs of the documentation run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import meshfold as mf

PAGE = Path(__file__).parents[3] / "docs" / "own.md"


def test_the_programs_of_the_page_on_own_parts_run(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert len(blocks) == 2
    names: dict[str, object] = {}
    before = dict(mf._own.METHODS)
    try:
        for block in blocks:
            exec(compile(block, str(PAGE), "exec"), names)
    finally:
        mf._own.METHODS.clear()
        mf._own.METHODS.update(before)
    told = capsys.readouterr().out
    assert "gamma=0.1" in told and "matchings" in told
