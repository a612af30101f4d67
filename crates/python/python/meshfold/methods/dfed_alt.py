"""DFedAlt: clients share some layers of their models and keep the others."""

from __future__ import annotations

import meshfold as mf


class DfedAlt(mf.Method):
    """DFedAlt. The parameters of client i are shared ones u_i, which are averaged, and private ones v_i, which never leave it.

        v_i <- v_i - eta g_i(u_i, v_i)  on v alone, k times
        u_i <- u_i - eta g_i(u_i, v_i)  on u alone, the local steps
        u_i <- sum_j w_ij u_j           # the only message: 4 bytes for each shared parameter

    With `private_steps: 0` both blocks move together in the local steps: FedPer over gossip. With `private: []`, too, it is
    DFedAvg. For how well models fit their own clients, have them judged by `evaluate: {clients: [own]}`.

    # Interpretation
    Momentum begins at zero in each of the two phases. Stragglers make fewer steps in both.

    Source: Shi, Liu, Sun, Lin, Shen, Wang and Tao, 2023 (arXiv 2305.15157). FedPer: Arivazhagan et al., 2019 (arXiv
    1912.00818).

    Attributes:
        private: the layers that clients keep, by the names that `models.by_layer()` has, or `last`, the last one with its bias.
        private_steps: k, the steps on the private layers in a round.
    """

    private: list[str] | str = "last"
    private_steps: int = 5

    def check(self) -> None:
        if isinstance(self.private, str) and self.private != "last":
            raise mf.KeyFault.value("private", "a list of names of layers, or `last`")
        if self.private_steps < 0:
            raise mf.KeyFault.value("private_steps", "a whole number of at least 0")

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        sizes = {name: layer[0].size for name, layer in models.by_layer().items()}
        private = self._private(list(sizes))
        shared = [name for name in sizes if name not in private]
        if self.private_steps == 0:
            round.train(models)
        else:
            round.train(models, layers=private, steps=self.private_steps)
            round.train(models, layers=shared)
        round.send(bytes=4 * sum(sizes[name] for name in shared))
        kept = {name: layer for name, layer in models.by_layer().items() if name in private}
        models.mix(round.mixing)
        models.set(kept)

    def _private(self, layers: list[str]) -> list[str]:
        """The names of the private layers."""
        if self.private == "last":
            last = layers[-1].rpartition(".")[0]
            return [name for name in layers if name.rpartition(".")[0] == last] if last else layers[-1:]
        unknown = [name for name in self.private if name not in layers]
        if unknown:
            raise ValueError(f"private: there is no layer `{unknown[0]}`: there are `{'`, `'.join(layers)}`")
        return list(self.private)
