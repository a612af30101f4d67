"""Published methods, written in Python as a user would write them.

Configurations find them by name: `algorithm: {own: {name: choco_sgd, keep: 0.05, batch_size: 20, learning_rate: 0.1}}`. A method of
your own with the same name takes its place. Each stands in a file of its own, with its formulas and its source: copy one to begin a
method of your own.
"""

from meshfold.methods.beer import Beer
from meshfold.methods.choco_sgd import ChocoSgd
from meshfold.methods.decentlam import DecentLam
from meshfold.methods.deep_squeeze import DeepSqueeze
from meshfold.methods.dfedsam import DFedSam
from meshfold.methods.dsgt_hb import DsgtHb
from meshfold.methods.extra import Extra
from meshfold.methods.gt_hsgd import GtHsgd
from meshfold.methods.k_gt import KGt
from meshfold.methods.lead import Lead
from meshfold.methods.led import Led
from meshfold.methods.momentum_tracking import MomentumTracking
from meshfold.methods.prox_skip import ProxSkip
from meshfold.methods.push_pull import PushPull
from meshfold.methods.relay_sgd import RelaySgd
from meshfold.methods.sparse_sharing import SparseSharing

__all__ = [
    "Beer",
    "ChocoSgd",
    "DFedSam",
    "DecentLam",
    "DeepSqueeze",
    "DsgtHb",
    "Extra",
    "GtHsgd",
    "KGt",
    "Lead",
    "Led",
    "MomentumTracking",
    "ProxSkip",
    "PushPull",
    "RelaySgd",
    "SparseSharing",
]
