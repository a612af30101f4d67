"""Modules of PyTorch that all runs of a process share are told."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from own_models import is_there, needs
from test_own_methods import Experiment, with_algorithm

import meshfold as mf
from meshfold import _own

Body = Callable[[Any, mf.Round], object]

#: Set where PyTorch is installed.
net: Any = None
nets: list[Any] = []
held = SimpleNamespace(net=None)


def module() -> Any:
    from torch import nn

    return nn.Sequential(nn.Linear(784, 4), nn.ReLU(), nn.Linear(4, 10))


@pytest.fixture(autouse=True)
def modules() -> Iterator[None]:
    global net
    methods = dict(_own.METHODS)
    if is_there("torch"):
        net = held.net = module()
        nets[:] = [net]
    yield
    _own.METHODS.clear()
    _own.METHODS.update(methods)


def called(used: Any, x: Any) -> Any:
    import torch

    return torch.func.functional_call(used, dict(used.named_parameters()), x)


def swaps(self: Any, round: mf.Round) -> None:
    called(net, None)


def takes_one_of_a_list(self: Any, round: mf.Round) -> None:
    called(nets[0], None)


def takes_one_of_an_object(self: Any, round: mf.Round) -> None:
    held.net.load_state_dict({})


def takes_that_of_its_class(self: Any, round: mf.Round) -> None:
    called(self.shared, None)


def takes_that_of_a_class_by_name(self: Any, round: mf.Round) -> None:
    called(Owner.shared, None)


def asks_a_helper(self: Any, round: mf.Round) -> None:
    swapped()


def swapped() -> None:
    called(net, None)


class Owner:
    """Has a module for all."""

    shared: Any = None


SHARING: list[tuple[Body, str]] = [
    (swaps, "`net`"),
    (takes_one_of_a_list, "`nets`"),
    (takes_one_of_an_object, "`held.net`"),
    (takes_that_of_its_class, "`self.shared`"),
    (takes_that_of_a_class_by_name, "`Owner.shared`"),
    (asks_a_helper, "`net`"),
]


def has_its_own(self: Any, round: mf.Round) -> None:
    called(self._net, None)


def only_asks_a_teacher(self: Any, round: mf.Round) -> None:
    net(net[0](round.seed))
    held.net(round.seed)


def makes_one(self: Any, round: mf.Round) -> None:
    net = module()
    called(net, None)


def told(experiment: Experiment, body: Body) -> list[str]:
    """What a plan of a method with this code warns of."""

    class Mine(mf.Method):
        def start(self, models: mf.Stack) -> None:
            self._net = module()

        def round(self, models: mf.Stack, round: mf.Round) -> None:
            body(self, round)
            round.send(bytes=0)

    setattr(Mine, "shared", net)
    setattr(Mine, "body", body)
    Owner.shared = net
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        mf.plan({**with_algorithm(experiment, "mine"), "sweep": None})
    said = [str(warning.message) for warning in caught if warning.category is mf.MeshfoldWarning]
    return [words for words in said if "PyTorch" in words]


@pytest.mark.parametrize(("body", "place"), SHARING)
def test_a_module_that_all_runs_share_is_told(experiment: Experiment, body: Body, place: str) -> None:
    needs("torch")
    (said,) = told(experiment, body)
    assert said.startswith(f"the method `mine`: {place} is a module of PyTorch outside of it, which all runs of this process share.")
    own = place.strip("`").rpartition(".")[2]
    assert f"Make it in `start`, `self._{own} = ...`: each run then has its own" in said


def test_a_module_of_a_function_around_and_of_a_default_are_told(experiment: Experiment) -> None:
    needs("torch")
    inner = module()

    def encloses(self: Any, round: mf.Round, other: Any = net) -> None:
        called(inner, None)
        called(other, None)

    (said,) = told(experiment, encloses)
    assert "`inner` and `other` are modules of PyTorch" in said or "`other` and `inner` are modules of PyTorch" in said


@pytest.mark.parametrize("body", [has_its_own, only_asks_a_teacher, makes_one])
def test_modules_of_a_run_and_modules_that_stay_as_they_are_are_not_told(experiment: Experiment, body: Body) -> None:
    needs("torch")
    assert told(experiment, body) == []


def test_without_pytorch_nothing_is_told(experiment: Experiment, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    assert told(experiment, swaps) == []


class OfThePage(mf.Method):
    """Takes outputs by a module that `start` makes, and records how far they are from those of Meshfold."""

    def start(self, models: mf.Stack) -> None:
        self._net = module()

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        import torch

        round.train(models)
        batch = round.batch()
        expected = round.outputs(models, batch)
        shapes = {name: value.shape for name, value in self._net.named_parameters()}
        off = np.zeros(round.clients)
        for client in range(round.clients):
            parameters = {name: torch.tensor(array[client]).reshape(shapes[name]) for name, array in models.by_layer().items()}
            found = torch.func.functional_call(self._net, parameters, (torch.tensor(batch.features[client]),))
            off[client] = np.abs(found.detach().numpy() - expected[client])[batch.indices[client] >= 0].max()
        round.record("off", off)
        round.send(models)
        models.mix(round.mixing)


class Halted(Exception):
    """What ends runs before they are done."""


def test_a_module_that_start_makes_serves_runs_side_by_side_and_resumed_ones(experiment: Experiment) -> None:
    needs("torch")
    study = {**with_algorithm(experiment, "of_the_page"), "model": mf.torch_model(module), "checkpoint": {"every": 1}, "rounds": 4}
    study["sweep"] = {"grid": {"seed": [1, 2, 3]}}

    def halt(run: mf.RunInfo, record: dict[str, Any]) -> None:
        if record["round"] == 2:
            raise Halted

    with warnings.catch_warnings():
        warnings.simplefilter("error", mf.MeshfoldWarning)
        with pytest.raises(Halted):
            mf.run(study, progress=False, at_once=3, on_record=halt)
        resumed = mf.run(study, progress=False, at_once=3).metrics().to_polars()
        whole = mf.run({**study, "name": "whole"}, progress=False, at_once=1).metrics().to_polars()
    assert resumed["own.off.max"].max() < 1e-4  # type: ignore[operator]
    assert resumed["train_loss"].to_list() == whole["train_loss"].to_list()
