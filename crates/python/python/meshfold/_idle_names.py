"""Warns of attributes of a method with the names of common keys, such as `self.learning_rate`: local steps do not go by them."""

from __future__ import annotations

import numpy as np

from meshfold import _late
from meshfold._own import COMMON, Method

#: The attribute of a method that says that its user was told.
_TOLD = "_meshfold_told_of_names"


def tell_of(method: Method) -> None:
    """Warns, once in a run, of such attributes; called after each round. Stacks and arrays are something of the method's own."""
    if _TOLD in vars(method):
        return
    found = [key for key in COMMON if isinstance(getattr(method, key, None), (bool, int, float, str, dict, np.generic))]
    if not found:
        return
    vars(method)[_TOLD] = True
    names = " and ".join(f"`self.{key}`" for key in found)
    have, them = ("has", "it") if len(found) == 1 else ("have", "them")
    _late.say(
        f"the method `{method.name}`: {names} {have} no effect on local steps, which go by the keys of the configuration, "
        f"`algorithm.own.{found[0]}`. Set {them} there; for other steps take `steps` of round.train, or gradients from round.gradients. If it is "
        "something else, give it another name"
    )
