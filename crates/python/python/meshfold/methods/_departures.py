"""Methods whose corrections sum up to something over all clients, and begin anew when a client is gone for good."""

from __future__ import annotations

import meshfold as mf


class BeginsAnew:
    """What a method needs whose corrections would otherwise lack the share of a client that is gone, for ever.

    Once a client is gone for good, those left begin anew from their models, as the built-in `gradient_tracking` does. A client that is absent
    for a while keeps its correction.
    """

    def has_lost_clients(self, round: mf.Round) -> bool:
        """Whether other clients are gone for good than in the last round."""
        before = getattr(self, "gone", None)
        #: Which clients are gone, `[N]`.
        self.gone = round.gone
        return bool(self.gone.any() if before is None else (self.gone != before).any())
