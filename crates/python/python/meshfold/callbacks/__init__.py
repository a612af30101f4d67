"""Call-backs, which `meshfold.run` calls while runs are carried out.

`meshfold.run(experiment, callbacks=[...])` takes functions `on_record(run, record)` and objects with the hooks of `Callback`. The
ready-made ones log runs to TensorBoard, Weights & Biases, MLflow and Aim, prune the trials of Optuna, and end runs early.

Runs are carried out on threads of their own, but call-backs are called one after the other, on the thread that called
`meshfold.run`. So a call-back needs no lock, and a slow one delays no run, unless a call-back is `awaited`. It gets a record shortly
after it was written.
Calls of `meshfold.run` on several threads may share the ready-made ones.
"""

from meshfold._run_info import RunInfo
from meshfold.callbacks._aim import Aim
from meshfold.callbacks._callback import Callback, OnRecord
from meshfold.callbacks._early_stopping import EarlyStopping
from meshfold.callbacks._mlflow import MLflow
from meshfold.callbacks._optuna import OptunaPruning
from meshfold.callbacks._tensorboard import TensorBoard
from meshfold.callbacks._wandb import WandB

__all__ = [
    "Aim",
    "Callback",
    "EarlyStopping",
    "MLflow",
    "OnRecord",
    "OptunaPruning",
    "RunInfo",
    "TensorBoard",
    "WandB",
]
