"""pfl-research's benchmark `image_classification` as its `configs/baseline.yaml` has it: `cifar10_iid`, `simple_cnn`, FedAvg.

python pfl_cifar10.py --rounds 11 --seed 0
"""

import argparse
import json

import data
import numpy as np
import torch
import torch.nn.functional as F
from pfl.aggregate.simulate import SimulatedBackend
from pfl.aggregate.weighting import WeightByUser
from pfl.algorithm.base import NNAlgorithmParams
from pfl.algorithm.federated_averaging import FederatedAveraging
from pfl.callback.base import TrainingProcessCallback
from pfl.callback.central_evaluation import CentralEvaluationCallback
from pfl.callback.stopwatch import StopwatchCallback
from pfl.data.dataset import Dataset
from pfl.data.federated_dataset import FederatedDataset
from pfl.data.sampling import get_user_sampler
from pfl.hyperparam import NNEvalHyperParams, NNTrainHyperParams
from pfl.metrics import Metrics, Weighted
from pfl.model.pytorch import PyTorchModel
from torch import nn

USER = 50  # examples of a user


class Network(nn.Sequential):
    def __init__(self):
        super().__init__(
            nn.Conv2d(3, 32, 3),
            nn.ReLU(),
            nn.Conv2d(32, 64, 3),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Dropout(0.25),
            nn.Flatten(),
            nn.Linear(64 * 14 * 14, 128),
            nn.ReLU(),
            nn.Dropout(0.5),
            nn.Linear(128, 10),
        )
        for layer in self:
            if isinstance(layer, nn.Conv2d | nn.Linear):
                nn.init.xavier_uniform_(layer.weight)

    def loss(self, inputs, targets, eval=False):
        self.train(not eval)
        return F.cross_entropy(self(inputs), targets)

    @torch.no_grad()
    def metrics(self, inputs, targets, eval=True):
        self.train(not eval)
        outputs = self(inputs)
        loss = F.cross_entropy(outputs, targets, reduction="sum").item()
        right = (outputs.argmax(1) == targets).sum().item()
        return {"loss": Weighted(loss, len(inputs)), "accuracy": Weighted(right, len(inputs))}


class Kept(TrainingProcessCallback):
    """The accuracy that was judged last."""

    accuracy = None

    def after_central_iteration(self, aggregate_metrics, model, *, central_iteration):
        judged = aggregate_metrics.to_simple_dict()
        self.accuracy = judged.get("Central val | accuracy", self.accuracy)
        return False, Metrics()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    torch.random.manual_seed(args.seed)
    np.random.seed(args.seed)

    images, labels = data.colours("train")
    images = images.astype(np.float32)
    mean, deviation = images.mean((0, 2, 3), keepdims=True), images.std((0, 2, 3), keepdims=True)

    def tensors(images, labels):
        return torch.from_numpy((images - mean) / deviation), torch.from_numpy(labels).long()

    order = np.random.permutation(len(images))
    inputs, targets = tensors(images[order], labels[order])
    users = [(inputs[first : first + USER], targets[first : first + USER]) for first in range(0, len(inputs), USER)]
    training = FederatedDataset.from_slices(users, get_user_sampler("random", range(len(users))))
    test_images, test_labels = data.colours("test")
    central = Dataset(raw_data=list(tensors(test_images.astype(np.float32), test_labels)))

    network = Network()
    model = PyTorchModel(network, torch.optim.SGD, torch.optim.SGD(network.parameters(), 1.0))
    backend = SimulatedBackend(training_data=training, val_data=training, postprocessors=[WeightByUser()])
    evaluation = NNEvalHyperParams(local_batch_size=10000)
    kept = Kept()
    FederatedAveraging().run(
        algorithm_params=NNAlgorithmParams(
            central_num_iterations=args.rounds,
            evaluation_frequency=10,
            train_cohort_size=50,
            val_cohort_size=0,
        ),
        backend=backend,
        model=model,
        model_train_params=NNTrainHyperParams(local_learning_rate=0.1, local_num_epochs=1, local_batch_size=10),
        model_eval_params=evaluation,
        callbacks=[StopwatchCallback(), CentralEvaluationCallback(central, evaluation, frequency=10), kept],
    )
    print(json.dumps({"accuracy": kept.accuracy}))


if __name__ == "__main__":
    main()
