"""By how much rows differ from the averages of their neighbours."""

from __future__ import annotations

import numpy as np

import meshfold as mf


def disagreement(stack: mf.Stack, round: mf.Round) -> mf.Stack:
    """`(I - W) stack`, `[N, P]`: each row less the average of its neighbours. `stack` stays as it is.

    What is mixed are the differences of all rows from one of them. In exact numbers that is the same, as the weights of each row sum to one.
    In single precision weights such as 1/3 do not quite: that is an error of 1e-8 of what is mixed, always in the same direction, and it grows
    from round to round in a method that sums up its results. Differences are small where clients nearly agree, and so is that error.
    """
    # The row of a client that takes part: others may have stayed far behind.
    ahead = stack.gather(np.full(len(stack), np.argmax(round.alive)))
    ahead -= stack
    apart = ahead.copy().mix(round.mixing)
    apart -= ahead
    return apart
