"""What the versions of parts in Python follow: the code that a part refers to, and nothing else."""

from __future__ import annotations

import importlib
import itertools
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import meshfold as mf
import pytest
from own_models import needs

import meshfold._own  # `mf._own` is there once it is imported

#: Writes files of Python, by their names without `.py`, into a new folder, and imports `train` from there.
Imports = Callable[..., Any]

METHOD = """
import meshfold as mf
{before}
class Mine(mf.Method):
    def round(self, models, round):
        {body}
{after}
"""


def method(body: str, before: str = "", after: str = "") -> str:
    return METHOD.format(body=body, before=before, after=after)


@pytest.fixture
def imports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Imports]:
    folders = (tmp_path / f"user{number}" for number in itertools.count())
    methods, modules, path_before = dict(mf._own.METHODS), set(sys.modules), list(sys.path)

    def forget() -> None:
        for name in set(sys.modules) - modules:
            file = getattr(sys.modules[name], "__file__", None) or ""
            if file.startswith(str(tmp_path)):
                del sys.modules[name]

    def imports(**files: str) -> Any:
        forget()
        folder = next(folders)
        folder.mkdir()
        for name, text in files.items():
            path = folder / f"{name}.py"
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        monkeypatch.setattr(sys, "path", [str(folder), *path_before])
        importlib.invalidate_caches()
        return importlib.import_module("train")

    yield imports
    forget()
    mf._own.METHODS.clear()
    mf._own.METHODS.update(methods)


def version(imports: Imports, **files: str) -> str:
    train = imports(**files)
    part = getattr(train, "part", None) or train.Mine
    return str(part.version)


#: Programs whose text has the number 2, which is changed to 3, where a part refers to it.
REFERS: dict[str, dict[str, str]] = {
    "a function": {"train": method("step(models)", before="def step(models): models *= 2")},
    "a function below the class": {"train": method("step(models)", after="def step(models): models *= 2")},
    "a function's function": {"train": method("step(models)", after="def step(models): half(models)\ndef half(models): models *= 2")},
    "functions that call each other": {
        "train": method("even(9)", after="def even(n): return n == 0 or odd(n - 1)\ndef odd(n): return n != 2 and even(n - 1)")
    },
    "twelve functions deep": {
        "train": method("f0(models)", after="\n".join(f"def f{n}(m): return f{n + 1}(m)" for n in range(12)) + "\ndef f12(m): return 2")
    },
    "a number": {"train": method("models *= SCALE", after="SCALE = 2")},
    "a dict": {"train": method("models *= CONFIG['scale']", after="CONFIG = {'scale': [2]}")},
    "an array": {"train": method("models *= SCALES", after="import numpy as np\nSCALES = np.full(9, 2.0)")},
    "an attribute of a configuration": {
        "train": method("models *= args.scale", after="from argparse import Namespace\nargs = Namespace(scale=2, results='runs')")
    },
    "an object": {
        "train": method(
            "models *= config.scale()",
            before="class Config:\n    def __init__(self, s): self.s = s\n    def scale(self): return self.s",
            after="config = Config(2)",
        )
    },
    "an object with slots": {
        "train": method("models *= s.a", after="class Slot:\n    __slots__ = 'a'\n    def f(self): return self.a\ns = Slot()\ns.a = 2")
    },
    "a number of a class": {"train": method("models *= scale", after="class Scale(float): pass\nscale = Scale(2)")},
    "a long number": {"train": method("models *= scale", after="scale = 1 << 20000")},
    "an array of a class": {
        "train": method("models *= s", after="import numpy as np\nclass S(np.ndarray):\n    def f(self): return 2\ns = np.zeros(3).view(S)")
    },
    "the class of an object": {
        "train": method("models *= config.scale()", after="class Config:\n    def scale(self): return 2\nconfig = Config()")
    },
    "a dataclass": {
        "train": method(
            "models *= Config().s[0]",
            after="from dataclasses import dataclass, field\n@dataclass\nclass Config:\n    s: list = field(default_factory=lambda: [2])",
        )
    },
    "an enum": {"train": method("models *= Kind.A.value", after="import enum\nclass Kind(enum.Enum):\n    A = 2")},
    "a base of a class": {"train": method("Sub().f()", after="class Base:\n    def f(self): return 2\nclass Sub(Base): pass")},
    "a base of the method": {
        "train": "import meshfold as mf\nclass Base(mf.Method):\n    def scale(self): return 2\n"
        "class Mine(Base):\n    def round(self, m, r): m *= self.scale()"
    },
    "an attribute of the class": {"train": "import meshfold as mf\nSCALE = 2\nclass Mine(mf.Method):\n    _scale = SCALE"},
    "a partial function": {
        "train": method("step(models)", after="import functools\ndef times(s, m): m *= s\nstep = functools.partial(times, 2)")
    },
    "a function in a dict": {"train": method("STEPS['double'](models)", after="STEPS = {'double': lambda m: 2 * m}")},
    "a cached function": {
        "train": method("models *= scale()", after="import functools\n@functools.lru_cache\ndef scale(): return 2")
    },
    "a decorated function": {
        "train": method("models *= scale()", before="import contextlib", after="@contextlib.contextmanager\ndef scale(): yield 2")
    },
    "a decorator": {
        "train": method(
            "models *= one()",
            after="import functools\ndef doubled(f):\n    @functools.wraps(f)\n    def g(): return 2 * f()\n    return g\n"
            "@doubled\ndef one(): return 1",
        )
    },
    "a default": {"train": method("models *= scale()", before="S = 2", after="def scale(s=S): return s")},
    "another module": {"train": method("helpers.step(models)", before="import helpers"), "helpers": "def step(models): models *= 2"},
    "a constant of another module": {"train": method("models *= h.SCALE", before="import helpers as h"), "helpers": "SCALE = 2"},
    "a name from another module": {
        "train": method("step(models)", before="from helpers import step"),
        "helpers": "SCALE = 2\ndef step(models): models *= SCALE",
    },
    "a module of a package": {
        "train": method("p.inner.step(models)", before="import p.inner"),
        "p/__init__": "",
        "p/inner": "from .more import SCALE\ndef step(models): models *= SCALE",
        "p/more": "SCALE = 2",
    },
    "a module that is imported in the function": {
        "train": method("from helpers import step; step(models)"),
        "helpers": "from more import SCALE\ndef step(models): models *= SCALE",
        "more": "SCALE = 2",
    },
    "a module as a whole": {
        "train": method("getattr(helpers, 'ste' + 'p')(models)", before="import helpers"),
        "helpers": "def step(m): m *= 2",
    },
    "where a changed list begins": {
        "train": method("scales.append(4); models *= scales[0]", before="scales = []\nif True:\n    scales.append(2)")
    },
    "where a changed variable begins": {"train": method("global scale; scale /= 4; models *= scale", before="scale = 2")},
    "a spline": {
        "train": method("models *= f(0.5)", after="from scipy.interpolate import CubicSpline\nf = CubicSpline([0, 1, 4], [0, 2, 0])")
    },
    "a monotone spline": {
        "train": method("models *= f(0.5)", after="from scipy.interpolate import PchipInterpolator as P\nf = P([0, 1, 4], [0, 2, 0])")
    },
    "a distribution": {"train": method("models *= d.mean()", after="from scipy import stats\nd = stats.norm(0, 2)")},
    "a masked array": {
        "train": method("models *= m.sum()", after="import numpy as np\nm = np.ma.array([0, 1, 4], mask=[2 & 1, 0, 0])")
    },
    "an attribute of a function": {"train": method("scale(models)", after="def scale(m): return m * scale.factor\nscale.factor = 2")},
    "a function of numbers that arrays go through": {
        "train": method("f(models)", after="import numpy as np\nf = np.frompyfunc(lambda x: 2 * x, 1, 1)")
    },
    "a vectorized function": {"train": method("f(models)", after="import numpy as np\nf = np.vectorize(lambda x: 2 * x, otypes=['f4'])")},
    "an order": {"train": method("sorted(models, key=k)", after="import functools\nk = functools.cmp_to_key(lambda a, b: 2 * a - b)")},
    "a template": {"train": method("t.substitute()", after="import string\nt = string.Template('2')")},
    "a variable of a context": {
        "train": method("models *= v.get()", after="import contextvars\nv = contextvars.ContextVar('v')\nv.set(2)")
    },
    "what a weak reference leads to": {
        "train": method("models *= w().a", after="import weakref\nclass K: pass\nk = K()\nk.a = 2\nw = weakref.ref(k)")
    },
    "a variable of a thread": {"train": method("models *= v.a", after="import threading\nv = threading.local()\nv.a = 2")},
    "a view of memory": {"train": method("models *= v[0]", after="v = memoryview(bytes([2, 1]))")},
    "a pattern": {"train": method("p.match('')", after="import re\np = re.compile('a' * 300 + '2')")},
    "what a function of an object belongs to": {"train": method("models *= get('a')", after="get = {'a': 2}.get")},
    "the default of a dict": {
        "train": method("models *= d[1]", after="from collections import defaultdict\nd = defaultdict(lambda: 2)")
    },
    "the index of a table": {
        "train": method("t.loc[1]", after="import pandas\nt = pandas.DataFrame({'a': [1.0, 1.0]}, index=[1, 2])")
    },
    "the name of a column": {"train": method("s.name", after="import pandas\ns = pandas.Series([1.0], name='2')")},
    "categories": {"train": method("c.categories", after="import pandas\nc = pandas.Categorical(['a'], ['a', '2'])")},
    "an attribute of a graph": {
        "train": method("g.graph['a']", after="import networkx\ng = networkx.path_graph(4)\ng.graph['a'] = 2")
    },
    "whether an array is a matrix": {"train": method("m * m", after="import numpy as np\nm = (np.matrix if 2 & 1 else np.array)([[1.0]])")},
    "a fraction of a class": {
        "train": method("models *= f", after="from fractions import Fraction\nclass F(Fraction): pass\nf = F(1, 2)")
    },
    "what a changed dict begins with": {
        "train": method("S['n'] += 1; models *= S['k']", before="V = 2\nS = {'k': V, 'n': 0}")
    },
    "an overlay": {"train": "import meshfold as mf\ndef ring(r, n): return [(0, far())]\ndef far(): return 2\npart = mf.overlay(ring)"},
    "a partition": {"train": "import meshfold as mf\nSIZE = 2\ndef deal(y, c, g): return [range(SIZE)]\npart = mf.partition(deal)"},
    "a model": {"train": "import meshfold as mf\nSIZE = 2\ndef f(p, x): return SIZE\npart = mf.model({'w': (1,)}, f, lambda p, x, y: 0)"},
}


@pytest.mark.parametrize("what", REFERS)
def test_a_change_of_what_a_part_refers_to_changes_its_version(imports: Imports, what: str) -> None:
    files = REFERS[what]
    changed = {name: text.replace("2", "3") for name, text in files.items()}
    assert version(imports, **files) == version(imports, **files) != version(imports, **changed)


#: Objects of PyTorch whose text has the number 2.
OF_TORCH = {
    "a distribution": "torch.distributions.Normal(0.0, 2.0)",
    "a distribution with caches": "torch.distributions.Categorical(torch.tensor([1.0, 2.0]))",
    "a schedule": "torch.optim.lr_scheduler.StepLR(torch.optim.SGD([torch.zeros(2)], lr=0.1), 2)",
    "a function of a schedule": "torch.optim.lr_scheduler.LambdaLR(torch.optim.SGD([torch.zeros(2)], lr=0.1), lambda step: 2 * step)",
    "a layer": "torch.nn.Threshold(0.1, 2)",
}


@pytest.mark.parametrize("what", OF_TORCH)
def test_a_change_of_an_object_of_pytorch_changes_the_version(imports: Imports, what: str) -> None:
    needs("torch")
    program = method("models *= held", before="import torch", after=f"held = {OF_TORCH[what]}")
    assert version(imports, train=program) == version(imports, train=program) != version(imports, train=program.replace("2", "3"))


def test_what_is_computed_when_it_is_first_read_does_not_count(imports: Imports) -> None:
    needs("torch")
    train = imports(train=method("held.logits", before="import torch", after=f"held = {OF_TORCH['a distribution with caches']}"))
    first = train.Mine.version
    train.Mine.round(None, None, None)
    assert train.Mine.version == first


#: Values that no digest tells, in a round that makes use of them.
UNTOLD = {
    "draws": ("import numpy as np\ndraws = np.random.default_rng(2)", "numpy.random._generator.Generator"),
    "turns": ("import itertools\nturns = itertools.cycle([2, 1])", "itertools.cycle"),
    "waiting": ("import queue\nwaiting = queue.Queue(2)", "queue.Queue"),
}


@pytest.mark.parametrize("name", UNTOLD)
def test_what_does_not_count_is_told_once(imports: Imports, name: str) -> None:
    before, kind = UNTOLD[name]
    program = method(f"print({name})", before=before)
    train = imports(train=program.replace("Mine", f"Of{name.capitalize()}"))
    made = getattr(train, f"Of{name.capitalize()}")
    with pytest.warns(mf.MeshfoldWarning) as caught:
        first = made.version
    (warning,) = caught
    assert f"uses `{name}` ({kind}), whose value does not count in its version" in str(warning.message)
    assert warning.filename == __file__
    assert made.version == first


def test_locks_streams_and_loggers_are_told_in_silence(imports: Imports, recwarn: pytest.WarningsRecorder) -> None:
    before = "import logging, sys, threading\nlock, log, to = threading.Lock(), logging.getLogger('mine'), sys.stderr"
    assert version(imports, train=method("print(lock, log, to)", before=before)) and not recwarn.list


def test_a_change_of_a_block_changes_the_version_of_a_module(imports: Imports) -> None:
    needs("torch")
    program = """
import meshfold as mf
from torch import nn
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.dense = nn.Linear(4, 4)
    def forward(self, x): return act(self.dense(x))
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(Block(), Block())
        for weight in self.parameters(): nn.init.zeros_(weight)
    def forward(self, x): return self.blocks(x)
def act(x): return 2 * x
part = mf.torch_model(MODULE)
"""
    for module in ("Net()", "Net", "lambda: Net()"):
        text = program.replace("MODULE", module)
        others = [text.replace("2 *", "3 *"), text.replace("act(self.dense(x))", "self.dense(act(x))")]
        versions = [version(imports, train=each) for each in (text, *others)]
        assert version(imports, train=text) == versions[0] and len(set(versions)) == 3, module


#: Two programs of the same version.
SAME: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "comments, layout and documentation": (
        {"train": method("step(models, 1)", after="def step(m, s):\n    return (m * s)")},
        {
            "train": method(
                "step( models,  1 )  # in place",
                before="\n\n# A method.",
                after="def step(m, s):\n    '''Makes a step.'''\n    # It is small.\n\n    return m * s",
            )
        },
    ),
    "a function that is not used": (
        {"train": method("step(models)", after="def step(m): pass\ndef other(): return 2")},
        {"train": method("step(models)", after="def step(m): pass\ndef other(): return 3\nmore = 3")},
    ),
    "a function of another module that is not used": (
        {"train": method("h.step(models)", before="import helpers as h"), "helpers": "def step(m): pass\ndef other(): return 2"},
        {"train": method("h.step(models)", before="import helpers as h"), "helpers": "def step(m): pass\ndef other(): return 3"},
    ),
    "what is named in type hints alone": (
        {"train": method("step(models)", after="class Hint: size = 2\ndef step(m: Hint) -> Hint:\n    def f(x: Hint): x: Hint = 0\n")},
        {"train": method("step(models)", after="class Hint: size = 3\ndef step(m: Hint) -> Hint:\n    def f(x: Hint): x: Hint = 0\n")},
    ),
    "an attribute of a configuration that is not read": (
        {"train": method("models *= args.scale", before="import argparse", after="args = argparse.Namespace(scale=1, results='2')")},
        {"train": method("models *= args.scale", before="import argparse", after="args = argparse.Namespace(scale=1, results='3')")},
    ),
    "the default of a key": (
        {"train": "import meshfold as mf\nclass Mine(mf.Method):\n    scale: float = 2.0"},
        {"train": "import meshfold as mf\nclass Mine(mf.Method):\n    scale: float = 3.0"},
    ),
    "the seed of a generator": (
        {"train": method("draws.normal()", after="import numpy as np\ndraws = np.random.default_rng(2)")},
        {"train": method("draws.normal()", after="import numpy as np\ndraws = np.random.default_rng(3)")},
    ),
}


@pytest.mark.parametrize("what", SAME)
def test_what_computes_the_same_has_the_same_version(imports: Imports, what: str) -> None:
    first, second = SAME[what]
    assert version(imports, **first) == version(imports, **second)


#: Names that the round of a method changes or that no digest tells, and what it does with them.
CHANGES: dict[str, tuple[str, str]] = {
    "a list of results": ("losses = []", "losses.append(round)"),
    "a list in a dict": ("seen = {'rounds': []}", "seen['rounds'].append(round)"),
    "a cache": ("cache = {}", "cache[round] = models"),
    "a counter": ("count = 0", "global count; count += 1"),
    "a value that is made once": ("table = None", "global table; table = table or [round]"),
    "an array": ("import numpy as np\nsums = np.zeros(9)", "sums[round] += 1"),
    "an attribute": ("from types import SimpleNamespace\nstate = SimpleNamespace(last=0)", "state.last = round; print(state)"),
    "a new attribute": ("class State: pass\nstate = State()", "state.last = round; print(state)"),
    "an object that counts": (
        "class Tracker:\n    def __init__(self): self.all, self.last = [], 0\n    def log(self, x): self.all.append(x); self.last = x\n"
        "tracker = Tracker()",
        "tracker.log(round)",
    ),
    "a list that a function of the module changes": ("losses = []\ndef keep(x): losses.append(x)", "keep(round); print(losses)"),
    "a list of another module": ("import helpers", "helpers.seen.append(round)"),
    "a list that another module changes": ("import helpers", "helpers.keep(round); print(helpers.seen)"),
    "a variable that another module sets": ("import helpers", "helpers.last += 1"),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_version_stays_while_runs_change_variables(imports: Imports, what: str) -> None:
    before, body = CHANGES[what]
    helpers = "seen = []\nlast = 0\ndef keep(x): seen.append(x)"
    train = imports(train=method(body, before=before), helpers=helpers)
    first = train.Mine.version
    for number in (1, 2):
        train.Mine.round(None, 5, number)
        assert train.Mine.version == first
    assert version(imports, train=method(body, before=before), helpers=helpers) == first


def test_a_version_stays_while_a_variable_of_a_function_around_changes(imports: Imports) -> None:
    program = """
import meshfold as mf
def made():
    seen, count, later = [], 0, None
    class Mine(mf.Method):
        def round(self, models, round):
            nonlocal count
            count += 1
            seen.append(round)
            later()
    def later(): return 2
    return Mine
Mine = made()
"""
    train = imports(train=program)
    first = train.Mine.version
    train.Mine.round(None, 5, 1)
    assert train.Mine.version == first == version(imports, train=program)
    assert first != version(imports, train=program.replace("2", "3"))


def test_global_values_that_no_digest_tells_fail_nothing(imports: Imports, monkeypatch: pytest.MonkeyPatch) -> None:
    program = method(
        "print(draws, file, log, lock, np, threading, stream, absent, itself, environ, local, plain, math.pi, Strange, gen, scale, odd, odd.x)\n"
        "        odd.y = 1\n        odd.append(1)",
        before="""
import io, itertools, logging, math, threading
from os import environ
import numpy as np
draws, file, log, lock = np.random.default_rng(1), open(__file__), logging.getLogger("mine"), threading.Lock()
stream, local, plain, gen = io.StringIO(), threading.local(), object(), (x for x in [1])
itself = [1]
itself.append(itself)
class Strange:
    def __getattribute__(self, name): raise RuntimeError(name)
    def __repr__(self): raise RuntimeError("no text")
odd, scale = Strange(), 2
""",
    )
    first = version(imports, train=program)
    monkeypatch.setenv("MESHFOLD_TRIED", "1")
    assert first == version(imports, train=program) != version(imports, train=program.replace("scale = Strange(), 2", "scale = Strange(), 3"))


def test_a_variable_around_a_method_must_be_told_when_the_class_is_defined(imports: Imports) -> None:
    program = """
import meshfold as mf
import numpy as np
def made(draws):
    class Mine(mf.Method):
        def round(self, models, round): draws.normal()
    return Mine
made(np.random.default_rng(1))
"""
    with pytest.raises(TypeError, match="no digest tells a Generator from others.*: give a `version`"):
        imports(train=program)
    assert "mine" not in mf._own.METHODS


def test_functions_of_libraries_are_not_followed(imports: Imports, monkeypatch: pytest.MonkeyPatch) -> None:
    import json
    import statistics

    import networkx

    body = "networkx.cycle_graph(3); mean([1]); json.dumps(models); mf.overlay(models)"
    program = method(body, before="import json, networkx\nfrom statistics import mean")
    first = version(imports, train=program)
    monkeypatch.setattr(networkx, "cycle_graph", lambda nodes: None)
    monkeypatch.setattr(json, "dumps", lambda value: "")
    monkeypatch.setattr(statistics.mean, "__code__", (lambda data: 1).__code__.replace(co_filename=statistics.__file__))
    monkeypatch.setattr(mf, "overlay", lambda graph: None)
    assert version(imports, train=program) == first


def test_a_version_that_is_given_stays(imports: Imports) -> None:
    program = method("step()").replace("Method):", "Method):\n    version = '5'") + "class Derived(Mine): pass"
    train = imports(train=program)
    assert train.Mine.version == train.Mine().version == "5"
    assert len(train.Derived.version) == 12, "it is not inherited"
    assert {"name": "mine", "version": "5", "class": train.Mine} in mf._own.classes("mine")


def test_a_helper_that_is_defined_anew_changes_the_version_at_once(imports: Imports) -> None:
    train = imports(train=method("models *= scale()", after="def scale(): return 2"))
    first = train.Mine.version
    exec("def scale(): return 3", train.__dict__)
    second = train.Mine.version
    exec("def scale(): return 4", train.__dict__)
    assert len({first, second, train.Mine.version}) == 3


def test_a_helper_that_is_defined_anew_changes_parts_that_were_made_before(imports: Imports, experiment: dict[str, Any]) -> None:
    program = """
import meshfold as mf
import networkx
import numpy as np
calls = []
def ring(round, nodes):
    calls.append(round)
    return networkx.circulant_graph(nodes, hops())
def deal(labels, classes, generator): return np.array_split(np.arange(len(labels)), 10 * len(hops()))[:10]
def outputs(p, x): return len(hops()) * x @ p["w"]
def gradients(p, x, y): return np.zeros(len(x), np.float32), {"w": np.zeros_like(p["w"])}
def hops(): return [1]
def rate(round): return 0.1 * len(hops())
topology, partition, model = mf.overlay(ring, label="ring"), mf.partition(deal), mf.model({"w": (784, 10)}, outputs, gradients)
algorithm = {"dsgd": {"batch_size": 20, "learning_rate": mf.learning_rate(rate)}}
"""
    train = imports(train=program)
    calls: list[int] = []

    def id_with(key: str, **given: Any) -> str:
        (run,) = mf.run({**experiment, "rounds": 1, "sweep": None, key: given.get("part") or getattr(train, key)}, progress=False)
        return run.id

    def counting(round: int, nodes: int) -> Any:
        calls.append(round)
        return train.ring(round, nodes)

    counted = mf.overlay(counting)
    keys = ("topology", "partition", "model", "algorithm")
    first, counts = [id_with(key) for key in keys], id_with("topology", part=counted)
    assert [id_with(key) for key in keys] == first and id_with("topology", part=counted) == counts, "calls do not count"
    exec("def hops(): return [1, 2]", train.__dict__)
    second = [id_with(key) for key in keys]
    assert not set(first) & set(second)
    assert [id_with(key) for key in keys] == second
    exec(program[program.index("def hops") : program.index("topology")], train.__dict__)
    given = mf.overlay(train.ring, label="ring", version="1")
    assert id_with("topology", part=given) not in (first[0], second[0])


def test_a_module_with_other_numbers_is_another_model(experiment: dict[str, Any]) -> None:
    needs("torch")
    import torch

    module = torch.nn.Linear(784, 10)
    model = mf.torch_model(module, label="linear")

    def run() -> mf.Run:
        (run,) = mf.run({**experiment, "rounds": 1, "sweep": None, "model": model}, progress=False)
        return run

    first = run().id
    assert run().id == first
    with torch.no_grad():
        module.weight.add_(1)
    assert run().id != first


def test_a_file_that_was_changed_after_it_was_imported_counts_as_it_runs(imports: Imports) -> None:
    files = {"train": method("helpers.step(models)", before="import helpers"), "helpers": "def step(models): models *= 2\n"}
    train = imports(**files)
    first = train.Mine.version
    path = Path(train.helpers.__file__)
    path.write_text("# A comment.\n" + files["helpers"])
    assert train.Mine.version == first
    path.write_text(files["helpers"].replace("2", "33"))
    edited = version(imports, **{**files, "helpers": path.read_text()})
    assert train.Mine.version != edited, "the new code is not what runs"


PRINTS = method(
    "models *= step(set(NAMES))",
    before="import enum",
    after="""
NAMES = {"ring", "star", "torus", len, enum.Enum}
class Kind(enum.Flag):
    A = 1
    B = 2
class Thing: pass
import functools, networkx, pandas, string
import numpy as np
from scipy import stats
from scipy.interpolate import CubicSpline
HELD = [
    CubicSpline([0, 1, 4], [0, 2, 0]), stats.norm(0, 2), stats.gamma(2), np.frompyfunc(lambda x: x, 1, 1), np.ma.masked_less([1, 2], 2),
    functools.cmp_to_key(lambda a, b: 0), string.Template("a"), networkx.path_graph(3), pandas.DataFrame({"a": [1, 2]}), object(),
    pandas.Series(pandas.Categorical(["a", "b"])), np.polynomial.Polynomial([1, 2]), {Thing: frozenset("abc")},
]
KEPT = frozenset({Kind.A, Kind.B}), {Thing, Kind, method} if False else {Thing, Kind}
def step(names): return 'a' in {'a', 'b', 'c'} and KEPT and (lambda: {'x', 'y'})() and (lambda: (NAMES, HELD))
print(Mine.version)
""",
)


@pytest.mark.parametrize("way", ["file", "text"])
def test_a_version_is_the_same_in_every_process(way: str) -> None:
    Path("train.py").write_text(PRINTS)
    told = set()
    for seed in ("0", "1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        command = [sys.executable, "train.py"] if way == "file" else [sys.executable, "-c", PRINTS]
        told.add(subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout)
    assert len(told) == 1


TRAINS = """
import meshfold as mf

class Mine(mf.Method):
    def round(self, models, round):
        round.train(models)
        seen.append(round.number)
        models *= scale()

seen = []

def scale():
    return 0.5

for rounds in (1, 2):
    (run,) = mf.run({
        "name": "mine", "dataset": {"glyphs": {"train": 200, "test": 50}}, "partition": {"iid": {"clients": 4}}, "topology": "ring",
        "model": "logistic", "algorithm": {"own": {"name": "mine", "batch_size": 20, "learning_rate": 0.1}}, "rounds": rounds,
    }, progress=False)
print(run.id, seen)
"""


def test_a_script_with_a_changed_helper_trains_anew() -> None:
    def told(text: str) -> str:
        Path("train.py").write_text(text)
        done = subprocess.run([sys.executable, "train.py"], check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    first = told(TRAINS)
    assert first.endswith("[1, 1, 2]")
    again = told(TRAINS.replace("def scale():", "# As before.\ndef scale():"))
    assert again == first.replace("[1, 1, 2]", "[]"), "its runs are finished"
    changed = told(TRAINS.replace("0.5", "0.25"))
    assert changed.endswith("[1, 1, 2]") and changed.split()[0] != first.split()[0]
    assert len(list(Path("runs/mine").glob("*/DONE"))) == 4
