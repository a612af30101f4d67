"""What `import meshfold` offers."""

from meshfold import callbacks
from meshfold._comparison import Comparison
from meshfold._drawn import overlay_figure, partition_figure
from meshfold._errors import (
    ConfigError,
    DataError,
    DeviceError,
    MeshfoldError,
    MeshfoldWarning,
    ResultsError,
    RunFailed,
)
from meshfold._meshfold import VERSION as __version__
from meshfold._meshfold import Batch, Figure, Mixing, Network, Part, PlannedRound, Round, Stack, Start, Table
from meshfold._jax_models import jax_model
from meshfold._learning_rates import learning_rate
from meshfold._models import model
from meshfold._overlays import overlay
from meshfold._own import KeyFault, Method
from meshfold._parts import dataset, partition, weights
from meshfold._run import plan, run
from meshfold._run_info import RunInfo
from meshfold._runs import Overlay, Partition, Run, Runs, read
from meshfold._torch_models import torch_model

__all__ = [
    "Batch",
    "Comparison",
    "ConfigError",
    "DataError",
    "DeviceError",
    "Figure",
    "KeyFault",
    "MeshfoldError",
    "MeshfoldWarning",
    "Method",
    "Mixing",
    "Network",
    "Overlay",
    "Part",
    "Partition",
    "PlannedRound",
    "ResultsError",
    "Round",
    "Run",
    "RunFailed",
    "RunInfo",
    "Runs",
    "Stack",
    "Start",
    "Table",
    "__version__",
    "callbacks",
    "dataset",
    "jax_model",
    "learning_rate",
    "model",
    "overlay",
    "overlay_figure",
    "partition",
    "partition_figure",
    "plan",
    "read",
    "run",
    "torch_model",
    "weights",
]
