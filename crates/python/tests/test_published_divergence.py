"""Published methods whose models grow without bound: all end by the same error, and none by a traceback."""

from __future__ import annotations

import re
from typing import Any, get_args

import pytest

import meshfold as mf
import meshfold.methods
from meshfold.methods._attacks import Attack

METHODS = {method.name: method for method in vars(meshfold.methods).values() if isinstance(method, type) and issubclass(method, mf.Method)}
ROBUST = sorted(name for name, method in METHODS.items() if issubclass(method, meshfold.methods.RobustAveraging))
#: The steps of these have a bound, whatever the gradients are; in `fed_opt` those of a server that is adaptive.
BOUNDED = {"d_adam", "dp_dsgd", "fed_opt"}
#: The rate at which models first overflow in their distances, and one at which they do so within few steps.
RATES = [0.3, 3.0]
#: Whether models are finite is looked at where they are judged: at the end.
ROUNDS = 40
ENDS = re.compile(
    r"(the model of row \d+ became infinite or NaN in round \d+: lower the learning rate, or set `clip_norm`"
    # Clients that do not go in rounds train versions of their models.
    r"|row \d+ of a stack other than `models`, given to round\.train of client \d+'s examples, became infinite or NaN in round \d+: "
    r"see what it is made of, lower the learning rate, or set `clip_norm`"
    # It rounds numbers one by one, and has keys that help.
    r"|lead: the message of client \d+ became infinite or NaN in round \d+: lower the learning rate or `gamma`, or give more `bits`)$"
)

pytestmark = pytest.mark.filterwarnings("ignore::meshfold.MeshfoldWarning")


def failures(algorithms: list[dict[str, Any]], **keys: Any) -> dict[str, str]:
    """How runs of these methods of a linear model end."""
    with pytest.raises(mf.RunFailed) as raised:
        mf.run(
            {
                "name": "diverging",
                "dataset": {"glyphs": {"train": 200, "test": 50}},
                "partition": {"shards": {"clients": 10}},
                "model": "linear",
                "rounds": ROUNDS,
                "evaluate": {"every": ROUNDS},
                "sweep": {"grid": {"algorithm": [{"own": {"batch_size": 10, "local": {"steps": 3}, **own}} for own in algorithms]}},
                **keys,
            },
            progress=False,
        )
    assert len(raised.value.failures) == len(algorithms)
    return raised.value.failures


@pytest.mark.parametrize("rule", ROBUST)
@pytest.mark.parametrize("rate", RATES)
def test_robust_rules_and_attacks_leave_the_end_to_the_run(rule: str, rate: float) -> None:
    keys = {"name": rule, "learning_rate": rate}
    attacks = [{"attack": attack, "attackers": 2, **({} if attack == "none" else {"strength": 1.0})} for attack in get_args(Attack)]
    ends = failures([keys, *({**keys, **attack} for attack in attacks)], topology="complete")
    assert {label: end for label, end in ends.items() if not ENDS.search(end) or "Traceback" in end} == {}


@pytest.mark.parametrize("name", sorted({*METHODS} - BOUNDED - {*ROBUST}))
def test_no_other_method_ends_in_a_traceback(name: str) -> None:
    topology = {} if not METHODS[name].overlay else {"topology": "path" if name == "relay_sgd" else "ring"}
    ends = failures([{"name": name, "learning_rate": rate} for rate in RATES], **topology)
    assert {label: end for label, end in ends.items() if not ENDS.search(end) or "Traceback" in end} == {}


def test_a_server_that_is_not_adaptive_ends_so_too() -> None:
    ends = failures([{"name": "fed_opt", "optimizer": "momentum", "server_rate": 1.0, "learning_rate": rate} for rate in RATES])
    assert {label: end for label, end in ends.items() if not ENDS.search(end) or "Traceback" in end} == {}
