"""Published methods, written in Python as a user would write them.

Import this module, and configurations find them by name: `algorithm: {own: {name: choco_sgd, keep: 0.05, batch_size: 20,
learning_rate: 0.1}}`. Each stands in a file of its own, with its formulas and its source; copy one to begin a method of your own.
"""

from meshfold.methods.balance import Balance
from meshfold.methods.bridge import Bridge
from meshfold.methods.choco_sgd import ChocoSgd
from meshfold.methods.clipped_gossip import ClippedGossip
from meshfold.methods.coordinate_median import CoordinateMedian
from meshfold.methods.dfed_alt import DfedAlt
from meshfold.methods.ditto import Ditto
from meshfold.methods.epidemic_learning import EpidemicLearning
from meshfold.methods.ios import Ios
from meshfold.methods.krum import Krum
from meshfold.methods.muffliato import Muffliato
from meshfold.methods.pens import Pens
from meshfold.methods.skip_train import SkipTrain
from meshfold.methods.squarm_sgd import SquarmSgd
from meshfold.methods.teleportation import Teleportation

__all__ = [
    "Balance",
    "Bridge",
    "ChocoSgd",
    "ClippedGossip",
    "CoordinateMedian",
    "DfedAlt",
    "Ditto",
    "EpidemicLearning",
    "Ios",
    "Krum",
    "Muffliato",
    "Pens",
    "SkipTrain",
    "SquarmSgd",
    "Teleportation",
]
