"""PyTorch's global generator, from which modules draw their first parameters, and which all runs of a process share."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_LOCK = threading.RLock()


@contextmanager
def alone() -> Iterator[None]:
    """Within, no other run makes modules: what is drawn after a seed was set follows from that seed."""
    if "torch" not in sys.modules:
        yield
        return
    with _LOCK:
        yield


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Within, the global generator has the seed; then it goes on from where it was."""
    import torch

    with _LOCK, torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield
