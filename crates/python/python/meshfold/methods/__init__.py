"""Published methods, written in Python as a user would write them.

Configurations find them by name: `algorithm: {own: {name: choco_sgd, keep: 0.05, batch_size: 20, learning_rate: 0.1}}`. A method of
your own with the same name takes its place. Each stands in a file of its own, with its formulas and its source: copy one to begin a
method of your own.
"""

from meshfold.methods._attackers import attackers
from meshfold.methods._inbox import Inbox
from meshfold.methods._robust import AssumesAttackers, RobustAveraging
from meshfold.methods.ad_psgd import AdPsgd
from meshfold.methods.balance import Balance
from meshfold.methods.beer import Beer
from meshfold.methods.bridge import Bridge
from meshfold.methods.choco_sgd import ChocoSgd
from meshfold.methods.clipped_gossip import ClippedGossip
from meshfold.methods.coordinate_median import CoordinateMedian
from meshfold.methods.d_adam import DAdam
from meshfold.methods.decentlam import DecentLam
from meshfold.methods.deep_squeeze import DeepSqueeze
from meshfold.methods.dfed_alt import DfedAlt
from meshfold.methods.dfed_salt import DfedSalt
from meshfold.methods.dfedpgp import DFedPgp
from meshfold.methods.dfedsam import DFedSam
from meshfold.methods.dispfl import DisPfl
from meshfold.methods.ditto import Ditto
from meshfold.methods.div_share import DivShare
from meshfold.methods.dp_dsgd import DpDsgd
from meshfold.methods.dsgt_hb import DsgtHb
from meshfold.methods.epidemic_learning import EpidemicLearning
from meshfold.methods.extra import Extra
from meshfold.methods.fed_async import FedAsync
from meshfold.methods.fed_buff import FedBuff
from meshfold.methods.fed_opt import FedOpt
from meshfold.methods.fine_tune import FineTune
from meshfold.methods.gossip_learning import GossipLearning
from meshfold.methods.gossip_pga import GossipPga
from meshfold.methods.gt_hsgd import GtHsgd
from meshfold.methods.ios import Ios
from meshfold.methods.k_gt import KGt
from meshfold.methods.krum import Krum
from meshfold.methods.lead import Lead
from meshfold.methods.led import Led
from meshfold.methods.momentum_tracking import MomentumTracking
from meshfold.methods.muffliato import Muffliato
from meshfold.methods.pens import Pens
from meshfold.methods.prox_skip import ProxSkip
from meshfold.methods.push_pull import PushPull
from meshfold.methods.relay_sgd import RelaySgd
from meshfold.methods.rfa import Rfa
from meshfold.methods.skip_train import SkipTrain
from meshfold.methods.slow_mo import SlowMo
from meshfold.methods.sparse_sharing import SparseSharing
from meshfold.methods.squarm_sgd import SquarmSgd
from meshfold.methods.swift import Swift
from meshfold.methods.teleportation import Teleportation

__all__ = [
    "AdPsgd",
    "AssumesAttackers",
    "Balance",
    "Beer",
    "Bridge",
    "ChocoSgd",
    "ClippedGossip",
    "CoordinateMedian",
    "DAdam",
    "DFedPgp",
    "DFedSam",
    "DecentLam",
    "DeepSqueeze",
    "DfedAlt",
    "DfedSalt",
    "DisPfl",
    "Ditto",
    "DivShare",
    "DpDsgd",
    "DsgtHb",
    "EpidemicLearning",
    "Extra",
    "FedAsync",
    "FedBuff",
    "FedOpt",
    "FineTune",
    "GossipLearning",
    "GossipPga",
    "GtHsgd",
    "Ios",
    "Inbox",
    "KGt",
    "Krum",
    "Lead",
    "Led",
    "MomentumTracking",
    "Muffliato",
    "Pens",
    "ProxSkip",
    "PushPull",
    "RelaySgd",
    "Rfa",
    "RobustAveraging",
    "SkipTrain",
    "SlowMo",
    "SparseSharing",
    "SquarmSgd",
    "Swift",
    "Teleportation",
    "attackers",
]
