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

    # Interpretation
    Clients that fail hold up relays: what they would have passed on is missing for as long, and those who miss it count their own model.

    Source: Vogels et al., NeurIPS 2021 (arXiv 2110.04175), Algorithm 1.
    """

    sends_models = False
    mixes_by_weights = False
    needs_lasting_overlay = True
    stacks = 8

    def forecast(self, about: mf.PlannedRound) -> dict[str, float]:
        return {"bytes": about.to_neighbours(about.model_bytes + 8)}

    def start(self, models: mf.Stack, *about: mf.Start) -> None:
        clients = len(models)
        #: The messages of the tree, sender and receiver of each, `[M, 2]`, in the order in which their edges were seen, and the counts in them.
        self.tree = np.zeros((0, 2), dtype=np.int64)
        self.counts = np.zeros(0)
        #: Rows of clients, and below them one for each message.
        self.relayed = models.gather(np.zeros(clients + 2 * (clients - 1), dtype=int)) * 0

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        self.tree = grown(self.tree, round)
        counts = np.pad(self.counts, (0, len(self.tree) - len(self.counts)))
        round.train(models)
        clients = np.arange(round.clients)
        senders, receivers = self.tree.T
        links = {(int(one), int(other)) for one, other in round.edges}
        if not round.directed:
            links |= {(other, one) for one, other in links}
        passes = np.array([(int(one), int(other)) in links for one, other in self.tree], dtype=bool)
        # `heard[a, b]`: whether the sender of message a had message b in the round before, not from a's receiver.
        heard = (senders[:, None] == receivers) & (receivers[:, None] != senders)
        self.counts = np.where(passes, 1 + heard @ counts, 0)
        told = np.concatenate([senders[:, None] == clients, heard], axis=1) * passes[:, None]
        gets = clients[:, None] == receivers
        averages = np.eye(round.clients, told.shape[1]) * (round.clients - gets @ self.counts)[:, None] + gets @ told
        averages[~round.alive] = np.eye(*averages.shape)[~round.alive] * round.clients
        weights = np.zeros((len(self.relayed), len(self.relayed)))
        weights[: len(averages), : told.shape[1]] = averages / round.clients
        weights[round.clients : round.clients + len(told), : told.shape[1]] = told
        self.relayed.scatter(clients, models)
        self.relayed.mix(weights)
        round.send(bytes=4 * models.shape[1] + 8)
        models.scatter(clients, self.relayed.gather(clients))


def grown(tree: NDArray[np.int64], round: mf.Round) -> NDArray[np.int64]:
    """The messages of the tree, with those of edges that are seen for the first time in this round.

    Raises:
        ValueError: if edges make a circle.
    """
    part = np.arange(round.clients)
    for one, other in tree[::2]:
        part[part == part[one]] = part[other]
    known = {(int(one), int(other)) for one, other in tree}
    for one, other in round.edges.astype(np.int64):
        if (int(one), int(other)) in known:
            continue
        if part[one] == part[other]:
            raise ValueError(
                f"relay_sgd: the edge {one}-{other} of round {round.number} closes a circle with those before it, and the overlay must be a tree "
                "that does not change: use path, star, balanced_tree or another tree"
            )
        part[part == part[one]] = part[other]
        known |= {(int(one), int(other)), (int(other), int(one))}
        tree = np.concatenate([tree, [[one, other], [other, one]]])
    return tree
