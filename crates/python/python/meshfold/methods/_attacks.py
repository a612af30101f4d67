"""What clients that attack send instead of their models."""

from __future__ import annotations

from statistics import NormalDist
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

import meshfold as mf
from meshfold.methods._inbox import Inbox, Indices, Numbers

Attack = Literal["none", "sign_flip", "update_flip", "gaussian", "ipm", "alie", "min_max", "min_sum", "dissensus"]

#: The strength of each attack if the configuration gives none. That of `alie` follows from the number of attackers.
STRENGTHS = {
    "none": 0.0,
    "sign_flip": 1.0,
    "update_flip": 1.0,
    "gaussian": 1.0,
    "ipm": 0.1,
    "min_max": 1.0,
    "min_sum": 1.0,
    "dissensus": 1.5,
}


class Attackers(NamedTuple):
    """Who attacks, and how.

    Attributes:
        attack: what they send.
        strength: the s of the attack.
        honest: which clients do not attack, `[N]`.
        before: the models before local work, `[N, P]`, where the attack asks for them.
    """

    attack: Attack
    strength: float
    honest: NDArray[np.bool_]
    before: mf.Stack | None = None


def attacked(inbox: Inbox, by: Attackers, round: mf.Round) -> Inbox:
    """The messages, with lies of attackers to honest clients in place of their models."""
    senders, receivers = inbox.rows, inbox.receivers
    lying = ~by.honest[senders] & by.honest[receivers]
    if by.attack == "none" or not lying.any():
        return inbox
    by_sender = by.attack in ("sign_flip", "update_flip", "gaussian")
    clients, tellers = len(inbox.models), np.unique(senders[lying])
    if by.attack == "sign_flip":
        lies = -by.strength * inbox.models
    elif by.attack == "update_flip":
        assert by.before is not None
        lies = by.before.copy().add_scaled(inbox.models - by.before, -by.strength)
    elif by.attack == "gaussian":
        lies = inbox.models.copy()
        noise = inbox.models.gather(tellers)
        draws = [np.random.default_rng([round.seed, round.number, liar]) for liar in tellers]
        noise.set(np.float32(by.strength) * np.array([draw.standard_normal(noise.shape[1], dtype=np.float32) for draw in draws]))
        lies.scatter(tellers, noise)
    else:
        lies = _about(inbox, by, lying)
    sent = inbox.models.gather(np.tile(inbox.clients, 2))
    sent.scatter(np.arange(clients, 2 * clients), lies)
    rows = np.where(lying, clients + (senders if by_sender else receivers), senders)
    return inbox._replace(sent=sent, rows=rows)


def _about(inbox: Inbox, by: Attackers, lying: NDArray[np.bool_]) -> mf.Stack:
    """What attackers send to each client, `[N, P]`: it depends on what honest clients have there. Of messages it says which are `lying`."""
    told = inbox.per_client(lying) > 0
    truthful = by.honest[inbox.rows] & told[inbox.receivers]
    # Whoever is told no lies has a row, too, as rows of one size find the memory of the round before.
    edges = inbox.edges(truthful)
    if by.attack == "dissensus":
        of_liars = np.where(told, inbox.per_client(np.where(lying, inbox.weights, 0.0)), 1.0)
        of_truthful = inbox.per_client(np.where(truthful, inbox.weights, 0.0))
        pulls = (inbox.weights / of_liars[inbox.receivers])[truthful]
        return inbox.models.weighted_sums(edges, np.concatenate([-by.strength * pulls, 1 + by.strength * of_truthful / of_liars]))
    mean = inbox.models.weighted_sums(edges, 1 / np.bincount(edges[:, 1])[edges[:, 1]])
    if by.attack == "ipm":
        return -by.strength * mean
    deviations = inbox.models.deviations(edges)
    if by.attack == "alie":
        return mean.add_scaled(deviations, -by.strength)
    with np.errstate(invalid="ignore"):
        farthest = _farthest(by.attack, inbox.models, edges, mean, deviations)
    # Where models diverge, distances overflow. The run ends once it judges the models.
    return mean.add_scaled(deviations, -by.strength * np.where(np.isfinite(farthest), farthest, 0))


def _farthest(attack: Attack, models: mf.Stack, edges: Indices, mean: mf.Stack, deviations: mf.Stack) -> Numbers:
    """The largest g of each client, `[N]`, with which `mean - g deviations` is as near to honest models as these are to each other."""
    clients = len(models)
    order = np.argsort(edges[:, 1], kind="stable")
    around = np.split(edges[order, 0], np.cumsum(np.bincount(edges[:, 1], minlength=clients))[:-1])
    # Neighbourhoods share most of their pairs.
    pairs = [np.stack(np.meshgrid(rows, rows), axis=-1).reshape(-1, 2) for rows in around]
    codes, places = np.unique(np.sort(np.concatenate(pairs), axis=1) @ [clients, 1], return_inverse=True)
    squares = (models.distances(np.stack(np.divmod(codes, clients), axis=1)) ** 2)[places.reshape(-1)]
    apart = [each.reshape(len(rows), -1) for each, rows in zip(np.split(squares, np.cumsum([len(pair) for pair in pairs])[:-1]), around, strict=True)]
    from_mean = models.distances(edges, mean) ** 2
    size = deviations.norms().astype(float) ** 2
    divisors = np.where(size > 0, size, 1)
    receivers = edges[:, 1]
    if attack == "min_sum":
        allowed = np.array([each.sum(axis=1).max() for each in apart])
        counts = np.bincount(receivers, minlength=clients)
        room = np.maximum(0, allowed - np.bincount(receivers, from_mean, minlength=clients))
        return np.where(size > 0, np.sqrt(room / (counts * divisors)), 0)
    allowed = np.array([each.max() for each in apart])
    moved = models.distances(edges, mean - deviations) ** 2
    along = (from_mean + size[receivers] - moved) / 2
    room = np.maximum(0, allowed[receivers] - from_mean)
    roots = (along + np.sqrt(along**2 + size[receivers] * room)) / divisors[receivers]
    least = np.full(clients, np.inf)
    np.minimum.at(least, receivers, roots)
    return np.where(size > 0, least, 0)


def usual_strength(attack: Attack, honest: NDArray[np.bool_]) -> float:
    """The strength of an attack of those that are not `honest`, `[N]`, if the configuration gives none.

    Raises:
        KeyFault: if attackers are a majority, for which `alie` has none.
    """
    if attack != "alie":
        return STRENGTHS[attack]
    clients, attackers = len(honest), int((~honest).sum())
    supporters = clients // 2 + 1 - attackers
    if supporters < 1:
        raise mf.KeyFault.value("strength", f"a number above 0 beside `attack: alie`: {attackers} of {clients} clients attack, a majority")
    return NormalDist().inv_cdf((clients - attackers - supporters) / (clients - attackers))
