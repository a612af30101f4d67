"""What clients that attack send instead of their models."""

from __future__ import annotations

from statistics import NormalDist
from typing import Literal

import numpy as np
from numpy.typing import NDArray

import meshfold as mf
from meshfold.methods._inbox import Inbox

Attack = Literal["none", "sign_flip", "gaussian", "ipm", "alie", "dissensus"]

#: The strength of each attack if the configuration gives none. That of `alie` follows from the number of attackers.
STRENGTHS = {"none": 0.0, "sign_flip": 1.0, "gaussian": 1.0, "ipm": 0.1, "dissensus": 1.5}


def attacked(inbox: Inbox, attack: Attack, strength: float, honest: NDArray[np.bool_], round: mf.Round) -> Inbox:
    """The messages, with lies of attackers to clients that are `honest`, `[N]`, in place of their models."""
    senders, receivers = inbox.rows, inbox.receivers
    lying = ~honest[senders] & honest[receivers]
    if attack == "none" or not lying.any():
        return inbox
    by_sender = attack in ("sign_flip", "gaussian")
    clients, tellers = len(inbox.models), np.unique(senders[lying])
    if attack == "sign_flip":
        lies = -strength * inbox.models
    elif attack == "gaussian":
        lies = inbox.models.copy()
        noise = inbox.models.gather(tellers)
        draws = [np.random.default_rng([round.seed, round.number, liar]) for liar in tellers]
        noise.set(np.float32(strength) * np.array([draw.standard_normal(noise.shape[1], dtype=np.float32) for draw in draws]))
        lies.scatter(tellers, noise)
    else:
        lies = _about(inbox, attack, strength, honest, lying)
    sent = inbox.models.gather(np.tile(inbox.clients, 2))
    sent.scatter(np.arange(clients, 2 * clients), lies)
    rows = np.where(lying, clients + (senders if by_sender else receivers), senders)
    return inbox._replace(sent=sent, rows=rows)


def _about(inbox: Inbox, attack: Attack, strength: float, honest: NDArray[np.bool_], lying: NDArray[np.bool_]) -> mf.Stack:
    """What attackers send to each client, `[N, P]`: it depends on what honest clients have there. Of messages it says which are `lying`."""
    told = inbox.per_client(lying) > 0
    truthful = honest[inbox.rows] & told[inbox.receivers]
    # Whoever is told no lies has a row, too, as rows of one size find the memory of the round before.
    edges = inbox.edges(truthful)
    if attack == "dissensus":
        of_liars = np.where(told, inbox.per_client(np.where(lying, inbox.weights, 0.0)), 1.0)
        of_truthful = inbox.per_client(np.where(truthful, inbox.weights, 0.0))
        pulls = (inbox.weights / of_liars[inbox.receivers])[truthful]
        return inbox.models.weighted_sums(edges, np.concatenate([-strength * pulls, 1 + strength * of_truthful / of_liars]))
    mean = inbox.models.weighted_sums(edges, 1 / np.bincount(edges[:, 1])[edges[:, 1]])
    if attack == "ipm":
        return -strength * mean
    return mean.add_scaled(inbox.models.deviations(edges), -strength)


def usual_strength(attack: Attack, honest: NDArray[np.bool_]) -> float:
    """The strength of an attack of those that are not `honest`, `[N]`, if the configuration gives none."""
    if attack != "alie":
        return STRENGTHS[attack]
    clients, attackers = len(honest), int((~honest).sum())
    supporters = clients // 2 + 1 - attackers
    if supporters < 1:
        raise ValueError(f"alie: {attackers} of {clients} clients attack, a majority: give a `strength`")
    return NormalDist().inv_cdf((clients - attackers - supporters) / (clients - attackers))
