"""Classes of methods that cannot be run, or that share a name, are told when a run is planned."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import pytest
from test_own_methods import Experiment, with_algorithm

import meshfold as mf
from meshfold import _own


@pytest.fixture(autouse=True)
def no_new_methods() -> Iterator[None]:
    """Forgets the methods that a test defines."""
    before = dict(_own.METHODS)
    yield
    _own.METHODS.clear()
    _own.METHODS.update(before)


def refused(experiment: Experiment) -> str:
    with pytest.raises(mf.ConfigError) as raised:
        mf.plan({**with_algorithm(experiment, "refused"), "sweep": None})
    assert "Traceback" not in raised.value.message
    return raised.value.message


@pytest.mark.parametrize(
    ("function", "words"),
    [
        ("def rounds(self, models, round): pass", "the class Refused has no `round`: define `def round(self, models, round)`"),
        ("def round(self, models): pass", "Refused: found `def round(self, models)`, needed `def round(self, models, round)`"),
        ("def round(self, models, round, more): pass", "found `def round(self, models, round, more)`, needed"),
        ("def round(self, models, round, *, more): pass", "found `def round(self, models, round, *, more)`, needed"),
        ("def round(models, round): pass", "found `def round(models, round)`, needed"),
        (
            "def round(self, models, round): pass\n    def start(self): pass",
            "found `def start(self)`, needed `def start(self, models, about)`, where `about` may be left out",
        ),
        ("def round(self, models, round): pass\n    def check(self, key): pass", "found `def check(self, key)`, needed `def check(self)`"),
    ],
)
def test_functions_that_cannot_be_called_are_told_before_a_run(experiment: Experiment, function: str, words: str) -> None:
    exec(f"class Refused(mf.Method):\n    {function}", {"mf": mf, "__name__": __name__})
    assert words in refused(experiment)


@pytest.mark.parametrize(
    "functions",
    [
        "def round(self, *both): pass",
        "def round(self, models, round, more=1): pass\n    def start(self, models): pass",
        "def round(self, models, round): pass\n    def start(self, models, about=None): pass",
        "@staticmethod\n    def round(models, round): pass",
    ],
)
def test_functions_that_can_be_called_are_taken(experiment: Experiment, functions: str) -> None:
    exec(f"class Taken(mf.Method):\n    {functions}", {"mf": mf, "__name__": __name__})
    (run,) = mf.run({**with_algorithm(experiment, "taken"), "sweep": None}, progress=False)
    assert run.is_finished


def of_name(qualname: str) -> None:
    """Defines a method called `twice`."""

    def round(self: Any, models: mf.Stack, round: mf.Round) -> None:
        pass

    type(qualname, (mf.Method,), {"name": "twice", "round": round, "__module__": __name__, "__qualname__": qualname})


def told(experiment: Experiment, name: str) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        mf.plan({**with_algorithm(experiment, name), "sweep": None})
    return [str(warning.message) for warning in caught if "are called" in str(warning.message)]


def test_two_methods_of_one_name_are_told_once(experiment: Experiment) -> None:
    of_name("First")
    of_name("First")
    assert told(experiment, "twice") == [], "a cell of a notebook that is run again"
    of_name("Second")
    assert told(experiment, "my_dsgd") == [], "nothing is run that has this name"
    (warning,) = told(experiment, "twice")
    assert warning.startswith(f"two methods are called `twice`: {__name__}.First and, defined later, {__name__}.Second, which is the one")
    assert told(experiment, "twice") == []


def test_a_method_called_as_a_published_one_is_not_told(experiment: Experiment) -> None:
    class ChocoSgd(mf.Method):
        def round(self, models: mf.Stack, round: mf.Round) -> None:
            pass

    assert _own.METHODS["choco_sgd"] is ChocoSgd
    assert told(experiment, "choco_sgd") == []


def test_a_method_that_goes_by_edges_alone_is_told_of_weights_and_of_nothing_that_they_do(experiment: Experiment) -> None:
    class ByWeights(mf.Method):
        def round(self, models: mf.Stack, round: mf.Round) -> None:
            round.train(models)

    class ByEdges(ByWeights):
        mixes_by_weights = False

    def told(name: str, **keys: Any) -> list[str]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            mf.plan({**with_algorithm(experiment, name), "sweep": None, "topology": "star", **keys})
        return [str(warning.message) for warning in caught]

    negative = "the weights give a client as little as"
    assert any(negative in words for words in told("by_weights", weights="laplacian"))
    (words,) = told("by_edges", weights="laplacian")
    assert "`weights` changes nothing: by_edges averages models in its own way" in words
    assert told("by_edges") == []
    with pytest.raises(TypeError, match="Wrong.mixes_by_weights is 1, needed true or false"):
        type("Wrong", (mf.Method,), {"mixes_by_weights": 1})
