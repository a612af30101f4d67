"""Call-backs: what is called while runs go on.

`meshfold.run(experiment, callbacks=[...])` takes functions `on_record(run, record)` and objects with the hooks of `Callback`. Ready
ones follow runs in TensorBoard, Weights & Biases, MLflow and Aim, and prune the trials of Optuna.

Runs go on side by side on threads of their own, but call-backs are called one after the other, on the thread that called
`meshfold.run`: a call-back needs no lock, and a slow one holds up no run. It hears of a record a moment after it was written.
Calls of `meshfold.run` on several threads may share the ready ones.
"""

from meshfold._run_info import RunInfo
from meshfold.callbacks._aim import Aim
from meshfold.callbacks._callback import Callback, OnRecord
from meshfold.callbacks._mlflow import MLflow
from meshfold.callbacks._optuna import OptunaPruning
from meshfold.callbacks._tensorboard import TensorBoard
from meshfold.callbacks._wandb import WandB

__all__ = [
    "Aim",
    "Callback",
    "MLflow",
    "OnRecord",
    "OptunaPruning",
    "RunInfo",
    "TensorBoard",
    "WandB",
]
