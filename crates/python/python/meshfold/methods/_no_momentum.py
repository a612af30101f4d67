"""Methods whose corrections follow from how far local steps have moved."""

from __future__ import annotations

from collections.abc import Sequence

import meshfold as mf
from meshfold.methods._same_overlay import name_of


def expect_no_momentum(method: object, about: Sequence[mf.Start]) -> None:
    """Refuses `momentum`, by which local steps move further than gradients and corrections say.

    Raises:
        ValueError: if it is not 0.
    """
    momentum = about[0].settings["momentum"] if about else 0
    if momentum != 0:
        raise ValueError(
            f"momentum: found {momentum:.4g}, needed 0: {name_of(method)} corrects gradients by how far local steps have moved, and momentum "
            "moves them further, so that models may grow without bound: momentum_tracking and qg_dsgdm have momentum"
        )
