"""RelaySGD: on a tree, neighbours relay sums of models, so that everybody averages over all clients, late but exactly."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import meshfold as mf


class RelaySgd(mf.Method):
    """RelaySGD. What client i tells its neighbour j is a sum of models, and how many they are:

        h_i = x_i after the local steps
        m_ij <- h_i + sum of the m_ki that i has from its other neighbours k, of the round before
        n_ij <- 1 + sum of these n_ki
        x_i <- (h_i (N - sum_j n_ji) + sum_j m_ji) / N

    A message has the size of a model and a count of 8 bytes. The overlay must be a tree that does not change; the mixing weights of the
    configuration have no effect.

    Clients that fail hold up relays: what they would have passed on is missing for as long, and those who miss it count their own model.

    Source: Vogels et al., NeurIPS 2021 (arXiv 2110.04175), Algorithm 1.
    """

    stacks = 8

    def start(self, models: mf.Stack) -> None:
        clients = len(models)
        # Rows of clients, and below them one for each message of the tree.
        self.relayed = models.gather(np.r_[np.arange(clients), np.zeros(2 * (clients - 1), dtype=int)]) * 0
        self.counts = np.zeros(2 * (clients - 1))
        self.tree = np.zeros((0, 2), dtype=np.int64)

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        if round.number == 1:
            self.tree = tree_of(round)
        round.train(models)
        clients = np.arange(round.clients)
        linked = {(int(one), int(other)) for one, other in round.edges}
        passes = np.array([(one, other) in linked or (other, one) in linked for one, other in self.tree])
        # `heard[a, b]`: whether the sender of message a has message b of the round before from another neighbour than a's receiver.
        senders, receivers = self.tree.T
        heard = (senders[:, None] == receivers) & (receivers[:, None] != senders)
        counts = np.where(passes, 1 + heard @ self.counts, 0)
        gets = clients[:, None] == receivers
        told = np.concatenate([(senders[:, None] == clients) * 1.0, heard], axis=1) * passes[:, None]
        own = np.diag(round.clients - gets @ counts)
        averages = (np.concatenate([own, np.zeros_like(gets)], axis=1) + gets @ told) / round.clients
        averages[~round.alive] = np.eye(round.clients, told.shape[1])[~round.alive]
        self.relayed.scatter(clients, models)
        self.relayed.mix(np.concatenate([averages, told]))
        self.counts = counts
        round.send(bytes=4 * models.shape[1] + 8)
        models.scatter(clients, self.relayed.gather(clients))


def tree_of(round: mf.Round) -> NDArray[np.int64]:
    """The messages of the tree: sender and receiver of each, `[2 (N - 1), 2]`.

    Raises:
        ValueError: if the overlay is no tree.
    """
    edges = round.edges.astype(np.int64)
    part = np.arange(round.clients)
    for one, other in edges:
        part[part == part[one]] = part[other]
    if len(edges) != round.clients - 1 or np.ptp(part) > 0 or round.directed:
        raise ValueError(
            f"relay_sgd: the overlay of round 1 has {len(edges)} edges between {round.clients} clients and is no tree: "
            "use path, star, balanced_tree or another tree, and let nobody fail in round 1"
        )
    return np.concatenate([edges, edges[:, ::-1]])
