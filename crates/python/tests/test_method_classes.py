"""Classes of methods that cannot be run, or that share a name, are told when a run is planned."""

from __future__ import annotations

import enum
import importlib
import operator
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
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
        (
            "def round(self, round, models): pass",
            "Refused: found `round` as parameter 1 of `round` after self, needed it as parameter 2: `def round(self, models, round)`",
        ),
        ("def round(self, round, stack): pass", "found `round` as parameter 1 of `round` after self"),
        ("def round(self, about, models): pass", "found `models` as parameter 2 of `round` after self, needed it as parameter 1"),
        (
            "def round(self, models, round): pass\n    def start(self, about, models): pass",
            "found `about` as parameter 1 of `start` after self, needed it as parameter 2: `def start(self, models, about)`",
        ),
        (
            "def round(self, models, round): pass\n    def check(self, settings, more): pass",
            "found `def check(self, settings, more)`, needed `def check(self, settings)`, where `settings` may be left out",
        ),
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


def test_a_class_called_as_its_base_takes_its_place() -> None:
    def made(called: str, base: Any, **members: Any) -> Any:
        return type(called, (base,), {"__module__": __name__, **members})

    published = importlib.import_module("meshfold.methods").KGt
    mine = made("KGt", published)
    assert mine.name == "k_gt" and _own.METHODS["k_gt"] is mine
    assert made("KGt", mine).name == "k_gt"
    assert made("KGt", published, name="mine").name == "mine"
    assert [made(name, published).name for name in ("Kgt", "MyKGt")] == ["kgt", "my_kgt"]
    assert made("Method", mf.Method).name == "method"


def test_slots_which_no_checkpoint_holds_are_refused() -> None:
    words = "Slotted: the class {} has `__slots__`, and no checkpoint holds attributes in slots"
    with pytest.raises(TypeError, match=words.format("Slotted")):
        type("Slotted", (mf.Method,), {"__slots__": ("velocity",)})
    with pytest.raises(TypeError, match=words.format("Mixin")):
        type("Slotted", (type("Mixin", (), {"__slots__": "velocity"}), mf.Method), {})
    type("Unslotted", (type("Mixin", (), {"__slots__": ()}), mf.Method), {})


class Colour(enum.Enum):
    RED = "red"


@pytest.mark.parametrize(
    ("hint", "default", "words"),
    [
        (float, float("inf"), "Odd.key: its default is inf, needed finite numbers, as configurations have no others: `key: float | None = None`"),
        (list[float], [1.0, float("nan")], r"Odd.key: its default is \[1.0, nan\], needed finite numbers"),
        (Colour, Colour.RED, "Odd.key: its default is of type Colour, needed what a configuration has, .* null: its value, such as a text"),
        (Path, Path("a"), "its default is of type .*Path, needed what a configuration has, .*: a text, of which `start` makes a path"),
        (Any, print, "needed what a configuration has, .*: a text by which `start` finds the function. What is no key needs no type hint"),
        (Any, {1, 2}, "Odd.key: its default is of type set, needed what a configuration has"),
    ],
)
def test_defaults_that_no_configuration_has_are_told(experiment: Experiment, hint: Any, default: Any, words: str) -> None:
    def round(self: Any, models: mf.Stack, round: mf.Round) -> None:
        models *= self.key

    type("Odd", (mf.Method,), {"__annotations__": {"key": hint}, "key": default, "round": round, "__module__": __name__})
    with pytest.raises(mf.ConfigError, match=words):
        mf.plan({**with_algorithm(experiment, "odd"), "sweep": None})


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


def test_a_key_fault_has_the_line_of_the_key_and_a_value_error_its_words(experiment: Experiment) -> None:
    class Checked(mf.Method):
        share: float = 0.5
        kind: str = "a"

        def check(self) -> None:
            if self.share > 1:
                raise mf.KeyFault.value("share", "a number of at most 1")
            if self.kind != "a":
                raise ValueError("the kind is not a")

        def round(self, models: mf.Stack, round: mf.Round) -> None:
            pass

    for keys, path, message in (
        ({"share": 2.0}, "algorithm.own.share", "found the number 2.0, needed a number of at most 1"),
        ({"kind": "b"}, "algorithm.own", "algorithm.own: the kind is not a"),
    ):
        with pytest.raises(mf.ConfigError) as raised:
            mf.plan({**with_algorithm(experiment, "checked", **keys), "sweep": None})
        assert raised.value.path == path and message in raised.value.message
        assert "Error" not in raised.value.message and "Refusal" not in raised.value.message


@pytest.mark.parametrize("function", ["start", "round"])
def test_a_key_fault_of_a_run_names_the_key_and_its_value(experiment: Experiment, function: str) -> None:
    exec(
        f"class Later(mf.Method):\n    reach: int = 1\n    def round(self, models, round): pass\n    def {function}(self, models, about):\n"
        "        if self.reach > about.clients: raise mf.KeyFault.value('reach', f'at most {about.clients}')",
        {"mf": mf, "__name__": __name__},
    )
    with pytest.raises(mf.RunFailed) as raised:
        mf.run({**with_algorithm(experiment, "later", reach=11), "sweep": None}, progress=False)
    (words,) = raised.value.failures.values()
    assert words.endswith("later failed: algorithm.own.reach: found 11, needed at most 10")


def test_a_key_that_is_an_array_is_refused(experiment: Experiment) -> None:
    class Weighed(mf.Method):
        weights: np.ndarray | None = None

        def round(self, models: mf.Stack, round: mf.Round) -> None:
            print(self.weights)

    with pytest.raises(mf.ConfigError, match=r"Weighed.weights: its type hint is an array, .* let it be `list\[float\]`"):
        mf.plan({**with_algorithm(experiment, "weighed", weights=2.0), "sweep": None})


def test_keys_that_no_code_reads_are_told_once(experiment: Experiment) -> None:
    class Unread(mf.Method):
        read: float = 0.5
        forgotten: float = 0.5
        by_name: float = 0.5

        def round(self, models: mf.Stack, round: mf.Round) -> None:
            half(self, models)

    def half(method: Unread, models: mf.Stack) -> None:
        models *= method.read + float(operator.attrgetter("by_name")(method))

    def told(**keys: float) -> list[str]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            mf.plan({**with_algorithm(experiment, "unread", **keys), "sweep": None})
        return [str(warning.message) for warning in caught]

    assert told(read=1.0, by_name=1.0) == [] and told() == []
    (words,) = told(read=1.0, forgotten=1.0)
    assert words.startswith("algorithm.own.forgotten has no effect: no code of the method `unread` reads `self.forgotten`")
    assert told(read=1.0, forgotten=2.0) == []


@pytest.mark.parametrize(
    "line", ["models *= round.settings[''.join(['si', 'ze'])]", "models *= getattr(self, ''.join(['si', 'ze']))", "copy.copy(self)", "self.step()"]
)
def test_keys_of_a_method_that_may_read_any_are_not_told(
    experiment: Experiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    """That of a library's class neither: nobody looks into it."""
    library = "import meshfold as mf\nclass Base(mf.Method):\n    def step(self): pass\n"
    text = (
        "import copy, meshfold as mf\nfrom a_library import Base\n"
        f"class Sized({'Base' if 'step' in line else 'mf.Method'}):\n    size: float = 0.5\n    def round(self, models, round):\n        {line}\n"
    )
    for name, content in (("site-packages/a_library", library), ("of_a_user", text)):
        (tmp_path / f"{name}.py").parent.mkdir(exist_ok=True)
        (tmp_path / f"{name}.py").write_text(content)
    monkeypatch.setattr(sys, "path", [str(tmp_path), str(tmp_path / "site-packages"), *sys.path])
    for module in ("a_library", "of_a_user"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    importlib.import_module("of_a_user")
    with warnings.catch_warnings():
        warnings.simplefilter("error", mf.MeshfoldWarning)
        mf.plan({**with_algorithm(experiment, "sized", size=1.0), "sweep": None})


@pytest.mark.parametrize(
    ("line", "call"),
    [
        ("np.random.default_rng()", "np.random.default_rng()"),
        ("np.random.default_rng(None)", "np.random.default_rng()"),
        ("np.random.Generator(np.random.PCG64())", "np.random.PCG64()"),
        ("random.Random()", "random.Random()"),
        ("helper()", "np.random.RandomState()"),
        ("from numpy.random import default_rng; default_rng()", "default_rng()"),
        ("np.random.default_rng([round.seed, round.number]); random.Random(round.seed); random.random", None),
    ],
)
def test_generators_without_a_seed_are_told_of(experiment: Experiment, tmp_path: Path, line: str, call: str | None) -> None:
    text = (
        "import random\nimport numpy as np\nimport meshfold as mf\ndef helper(): return np.random.RandomState()\n"
        f"class Unseeded(mf.Method):\n    def round(self, models, round):\n        {line}\n"
    )
    file = tmp_path / f"unseeded_{abs(hash(line))}.py"
    file.write_text(text)
    exec(compile(text, str(file), "exec"), {"__name__": "unseeded"})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        mf.plan({**with_algorithm(experiment, "unseeded"), "sweep": None})
    words = [str(warning.message) for warning in caught]
    assert len(words) == (0 if call is None else 1)
    assert all(f"`{call}` in " in each and "`np.random.default_rng([round.seed, round.number])`" in each for each in words)


def test_attributes_with_names_of_common_keys_are_told_of(experiment: Experiment) -> None:
    class Idle(mf.Method):
        batch_size = 5

        def start(self, models: mf.Stack) -> None:
            self.momentum = models.zeros_like()

        def round(self, models: mf.Stack, round: mf.Round) -> None:
            self.learning_rate = 0.0
            round.train(models, velocity=self.momentum)
            round.send(models)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        mf.run({**with_algorithm(experiment, "idle"), "sweep": None, "rounds": 2}, progress=False)
    (words,) = [str(warning.message) for warning in caught]
    assert "the method `idle`: `self.batch_size` and `self.learning_rate` have no effect on local steps" in words


@pytest.mark.parametrize(
    ("line", "is_told"),
    [
        ("models.set(np.asarray(models).mean(axis=0) + 0 * np.asarray(models))", True),
        ("models.set(np.full((10, 10), 0.1) @ np.asarray(models))", True),
        ("models.set(np.asarray(models).mean(axis=0) + 0 * np.asarray(models)); round.send(models)", False),
        ("models.set(np.asarray(models) + 1)", False),
    ],
)
def test_exchanges_by_arrays_that_nobody_counts_are_told_of(experiment: Experiment, tmp_path: Path, line: str, is_told: bool) -> None:
    text = f"class Quiet(mf.Method):\n    def round(self, models, round): {line}\n"
    file = tmp_path / "quiet.py"
    file.write_text(text)
    names = {"mf": mf, "np": np, "__name__": "quiet"}
    exec(compile(text, str(file), "exec"), names)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        mf.run({**with_algorithm(experiment, "quiet"), "sweep": None, "rounds": 1}, progress=False)
    words = [str(warning.message) for warning in caught]
    assert len(words) == is_told
    assert all("the method `quiet` makes models of several rows by arrays and never calls round.send" in each for each in words)


@pytest.mark.parametrize(
    ("line", "instead"),
    [
        ("np.sin(models)", "`np.exp(np.asarray(models))` is an array, and `models.set(array)` brings one back"),
        ("np.mean(models)", "`np.asarray(models).mean(axis=0)` is an array, and `models.mean()` a stack of one row"),
        ("abs(models)", "`abs(np.asarray(models))` is an array"),
        ("models.sqrt()", "arrays have more functions: `np.asarray(models)`"),
        ("models[0]", "models.gather([0, 1]) is a stack of some of its rows"),
        ("models[0] = 1", "`models.scatter([3], stack)` overwrites rows"),
        ("models ** 2", "`models.set(np.asarray(models) ** 2)`"),
        ("1 / models", "`models.set(np.asarray(models) ** 2)`"),
        ("__import__('copy').deepcopy(models)", "`models.copy()` another stack"),
        ("round.mixing @ models", "`models.mix(round.mixing)` mixes in place"),
        ("np.eye(10) @ models", "models.mix(matrix) mixes in place"),
    ],
)
def test_operations_that_stacks_do_not_have_are_told_with_what_to_write(experiment: Experiment, line: str, instead: str) -> None:
    exec(f"class Wrong(mf.Method):\n    def round(self, models, round): {line}", {"mf": mf, "np": np, "__name__": __name__})
    with pytest.raises(mf.RunFailed) as raised:
        mf.run({**with_algorithm(experiment, "wrong"), "sweep": None}, progress=False)
    assert ("AttributeError: " if "sqrt" in line else "TypeError: ") in str(raised.value) and instead in str(raised.value)


def test_a_check_sees_the_keys_of_all_methods(experiment: Experiment) -> None:
    seen: list[dict[str, Any]] = []

    class Plain(mf.Method):
        share: float = 0.5

        def check(self, settings: dict[str, Any]) -> None:
            seen.append(settings)
            if settings["momentum"] > 0:
                raise mf.KeyFault.value("momentum", "0: plain has none")

        def round(self, models: mf.Stack, round: mf.Round) -> None:
            round.train(models)
            round.send(models)
            models.mix(round.mixing)

    mf.plan(with_algorithm(experiment, "plain"))
    assert seen[-1]["share"] == 0.5
    assert (seen[-1]["batch_size"], seen[-1]["learning_rate"], seen[-1]["nesterov"]) == (20, 0.1, False)
    with pytest.raises(mf.ConfigError, match="algorithm.own.momentum: found the number 0.9, needed 0: plain has none"):
        mf.plan(with_algorithm(experiment, "plain", momentum=0.9))
    sweep = {"grid": {"algorithm.own.momentum": [0, 0.5]}}
    with pytest.raises(mf.ConfigError, match="found the number 0.5, needed 0: plain has none"):
        mf.plan({**with_algorithm(experiment, "plain"), "sweep": sweep})
