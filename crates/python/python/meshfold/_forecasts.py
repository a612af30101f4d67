"""What a round of a published method is expected to take, for plans."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from meshfold.methods._blocks import message_bytes


class Keys:
    """The keys of a method as the configuration has them, else as its class has them."""

    def __init__(self, method: type, settings: dict[str, Any], parameters: int) -> None:
        self._method, self._settings, self.parameters = method, settings, parameters

    def __getattr__(self, key: str) -> Any:
        return self._settings.get(key, getattr(self._method, key, None))

    @property
    def message(self) -> float:
        """The size of a message that `Compressed` makes, in models."""
        if self.compression == "top_k":
            return self.models(8 * max(1, int(self.keep * self.parameters + 1e-9)))
        if self.compression == "qsgd":
            # The norm has 64 bits.
            return self.models(-(-self.bits * self.parameters // 8) + 8)
        return 1.0

    def models(self, size: float) -> float:
        """So many bytes, in models."""
        return size / (4 * self.parameters)

    def steps(self, *, fixed: float = 0.0, local: float = 0.0) -> float:
        """A `fixed` number of steps of each client and so many times those of `local`, as a multiple of the latter.

        How many steps an epoch has is not known here, unless batches are full: then the fixed ones are left out, or taken to be an epoch where a
        method makes no others.
        """
        (unit, count), = self.local.items()
        if unit == "epochs" and self.batch_size != "full":
            return local or 1.0
        return float(local + fixed / count)


def _usual(keys: Keys) -> tuple[float, float]:
    return 1, 1


def _one_step(keys: Keys) -> tuple[float, float]:
    return 1, keys.steps(fixed=1)


def _one_step_of_two(keys: Keys) -> tuple[float, float]:
    return 2, keys.steps(fixed=1)


def _compressed(keys: Keys) -> tuple[float, float]:
    return keys.message, 1


def _private(keys: Keys) -> tuple[float, float]:
    return 1, keys.steps(fixed=keys.private_steps, local=1)


def _lead(keys: Keys) -> tuple[float, float]:
    blocks = keys.compression == "qsgd"
    return keys.models(message_bytes(keys.parameters, keys.bits)) if blocks else keys.message, keys.steps(fixed=1)


#: Models that a client sends to each neighbour in a round, and how many times the steps that `local` asks for it makes: the mean, where they are
#: drawn at random. What depends on more than the keys and the size of a model is not told here: messages that go elsewhere than over the overlay,
#: and the sizes of layers. docs/published.md says what plans then have.
PUBLISHED: dict[str, Callable[[Keys], tuple[float, float]]] = {
    "ad_psgd": _usual,
    "balance": _usual,
    "beer": lambda keys: (2 * keys.message, keys.steps(fixed=1)),
    "bridge": _usual,
    "choco_sgd": _compressed,
    "clipped_gossip": _usual,
    "coordinate_median": _usual,
    "d_adam": _usual,
    "decentlam": _one_step,
    "deep_squeeze": _compressed,
    "dfed_alt": _private,
    "dfed_salt": lambda keys: (1, keys.steps(fixed=keys.private_steps, local=2)),
    "dfedpgp": lambda keys: _usual(keys) if keys.private == [] else _private(keys),
    "dfedsam": lambda keys: (keys.gossip_steps, 2),
    "dispfl": lambda keys: (keys.density, keys.steps(fixed=float(keys.prune > 0), local=1)),
    "ditto": lambda keys: (1, 2 if keys.personal_steps is None else keys.steps(fixed=keys.personal_steps, local=1)),
    "div_share": _usual,
    "dp_dsgd": lambda keys: (1, 1 if "epochs" in keys.local else keys.lot),
    "dsgt_hb": _one_step_of_two,
    "epidemic_learning": _usual,
    "extra": _one_step,
    "fine_tune": _usual,
    "gossip_learning": _usual,
    # On a connected overlay the exact mean takes at most as much as an exchange.
    "gossip_pga": _usual,
    "gt_hsgd": lambda keys: (2, keys.steps(fixed=2)),
    "ios": _usual,
    "k_gt": lambda keys: (2, 1),
    "krum": _usual,
    "lead": _lead,
    "led": _usual,
    "momentum_tracking": _one_step_of_two,
    "muffliato": lambda keys: (keys.gossips, 1),
    "pens": _usual,
    "prox_skip": lambda keys: (1, keys.steps(fixed=1 / keys.p)),
    "push_pull": _one_step_of_two,
    "relay_sgd": lambda keys: (1 + keys.models(8), 1),
    "rfa": _usual,
    "skip_train": lambda keys: (1, keys.training / (keys.training + keys.only_mixing)),
    "slow_mo": _usual,
    "sparse_sharing": lambda keys: (keys.keep + keys.models(8), 1),
    "squarm_sgd": _compressed,
    "swift": _usual,
    "teleportation": _usual,
}


def of(method: type, settings: str, parameters: int) -> tuple[float, float]:
    """The same of any method; once each of one that is not known."""
    is_published = method.__module__.startswith("meshfold.methods.")
    told = PUBLISHED.get(getattr(method, "name", "")) if is_published else None
    if told is None:
        return 1.0, 1.0
    models, steps = told(Keys(method, json.loads(settings), parameters))
    return float(models), float(steps)
