"""What a round of a published method is expected to take, for plans."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any


class Keys:
    """The keys of a method as the configuration has them, else as its class has them."""

    def __init__(self, method: type, settings: dict[str, Any], parameters: int) -> None:
        self._method, self._settings, self.parameters = method, settings, parameters

    def __getattr__(self, key: str) -> Any:
        return self._settings.get(key, getattr(self._method, key, None))

    @property
    def message(self) -> float:
        """The size of a message that `Compressed` makes, in models."""
        whole = 4 * self.parameters
        if self.compression == "top_k":
            return float(8 * max(1, int(self.keep * self.parameters + 1e-9))) / whole
        if self.compression == "qsgd":
            return float(-(-self.bits * self.parameters // 8) + 4) / whole
        return 1.0


#: Models that a client sends to each neighbour in a round, and how many times the steps that `local` asks for it makes. What goes over other
#: edges than those of the overlay is left out.
_PUBLISHED: dict[str, Callable[[Keys], tuple[float, float]]] = {
    "beer": lambda keys: (2 * keys.message, 1),
    "choco_sgd": lambda keys: (keys.message, 1),
    "deep_squeeze": lambda keys: (keys.message, 1),
    "dfedsam": lambda keys: (keys.gossip_steps, 2),
    "dsgt_hb": lambda keys: (2, 1),
    "gossip_pga": lambda keys: (1 - 1 / keys.period, 1),
    "gt_hsgd": lambda keys: (2, 2),
    "k_gt": lambda keys: (2, 1),
    "lead": lambda keys: (keys.message, 1),
    "momentum_tracking": lambda keys: (2, 1),
    "muffliato": lambda keys: (keys.gossips, 1),
    "push_pull": lambda keys: (2, 1),
    "skip_train": lambda keys: (1, keys.training / (keys.training + keys.only_mixing)),
    "squarm_sgd": lambda keys: (keys.message, 1),
}


def of(method: type, settings: str, parameters: int) -> tuple[float, float]:
    """The same of any method; once each of one that is not known."""
    is_published = method.__module__.startswith("meshfold.methods.")
    told = _PUBLISHED.get(getattr(method, "name", "")) if is_published else None
    if told is None:
        return 1.0, 1.0
    models, steps = told(Keys(method, json.loads(settings), parameters))
    return float(models), float(steps)
