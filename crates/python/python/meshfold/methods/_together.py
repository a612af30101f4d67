"""Vectors that travel with the models in one message."""

from __future__ import annotations

import meshfold as mf


def send_with_models(models: mf.Stack, others: int, round: mf.Round) -> None:
    """Counts one message from each client to each neighbour: its model and `others` vectors of as many parameters."""
    # This shows what is sent, for `evaluate: {membership: {models: sent}}`, and counts nothing.
    round.send(models, edges=[])
    round.send(bytes=4 * (1 + others) * models.shape[1])
