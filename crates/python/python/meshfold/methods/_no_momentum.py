"""Methods whose corrections follow from how far local steps have moved."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import meshfold as mf
from meshfold.methods._same_overlay import name_of


def expect_no_momentum(method: object, settings: Mapping[str, Any]) -> None:
    """Refuses `momentum`, by which local steps move further than gradients and corrections say.

    Raises:
        KeyFault: if it is not 0.
    """
    if settings["momentum"] != 0:
        raise mf.KeyFault.value(
            "momentum",
            f"0: {name_of(method)} corrects gradients by how far local steps have moved, and momentum moves them further, so that models may grow "
            "without bound: momentum_tracking and qg_dsgdm have momentum",
        )
