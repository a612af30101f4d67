"""The exact mean of all models, over a ring of the clients."""

from __future__ import annotations

import numpy as np

import meshfold as mf


def all_reduced_bytes(about: mf.PlannedRound) -> int:
    """The bytes of an exact mean over all clients, as `all_reduce` sends them."""
    if about.clients < 2:
        return 0
    return about.clients * 4 * 2 * (about.clients - 1) * -(-about.parameters // about.clients)


def bytes_per_round(about: mf.PlannedRound, period: int) -> float:
    """The bytes of a round on average, if every `period` rounds all models are averaged, and neighbours exchange theirs in the others."""
    gossip = about.to_neighbours(about.model_bytes)
    return gossip + (all_reduced_bytes(about) - gossip) * (about.rounds // period) / max(1, about.rounds)


def all_reduce(models: mf.Stack, round: mf.Round) -> None:
    """Gives each client that takes part the mean of the models of all that do, as a ring all-reduce makes it.

    The n clients stand in a ring in the order of their numbers, whatever the overlay is. Each cuts its model into n pieces and sends 2 (n - 1)
    of them to the next client. They are counted as one message.
    """
    clients = np.flatnonzero(round.alive)
    count = len(clients)
    if count < 2:
        return
    piece = -(-models.shape[1] // count)
    round.send(bytes=4 * 2 * (count - 1) * piece, edges=np.stack([clients, np.roll(clients, -1)], axis=1))
    mean = models.mean(round.alive / count)
    models.scatter(clients, mean.gather([0] * count))
