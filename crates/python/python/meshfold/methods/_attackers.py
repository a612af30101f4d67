"""Which clients attack."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import meshfold as mf


def honest_clients(attackers: int | list[int] | None, clients: int, seed: int) -> NDArray[np.bool_]:
    """Which clients are honest, `[N]`, where so many attack, drawn by the seed, or those of a list.

    Raises:
        KeyFault: if a client does not exist, or all of them attack.
    """
    if isinstance(attackers, list):
        if attackers and max(attackers) >= clients:
            raise mf.KeyFault.value("attackers", f"clients from 0 to {clients - 1}")
        drawn = attackers
    elif attackers is not None and attackers > clients:
        raise mf.KeyFault.value("attackers", f"fewer than the {clients} clients")
    else:
        drawn = np.random.default_rng([seed, 0]).choice(clients, attackers or 0, replace=False).tolist()
    if len(drawn) == clients:
        raise mf.KeyFault.value("attackers", f"fewer than the {clients} clients: if all attack, there is nobody to be attacked")
    return ~np.isin(np.arange(clients), drawn)


def attackers(run: mf.Run) -> list[int]:
    """The clients that attack in a run of a robust method, ascending: those of its key `attackers`, or as many as that says, drawn by the seed.

        who = meshfold.methods.attackers(run)
        honest = run.clients().to_polars().filter(~polars.col("row").is_in(who))

    Raises:
        ValueError: if the method has no key `attackers`, or the run has not begun.
    """
    algorithm = run.config["algorithm"]
    keys = algorithm.get("own", {}) if isinstance(algorithm, dict) else {}
    if "attackers" not in keys:
        raise ValueError(f"the run {run.label}: its method has no key `attackers`: robust methods of meshfold.methods have")
    if run.partition is None:
        raise ValueError(f"the run {run.label} has not begun")
    seed = (run.config.get("seeds") or {}).get("methods")
    honest = honest_clients(keys["attackers"], len(run.partition.examples), run.config["seed"] if seed is None else seed)
    return [int(client) for client in np.flatnonzero(~honest)]
