"""Flower's `quickstart-pytorch`: LeNet on CIFAR-10, ten clients, three rounds of FedAvg, in its simulation engine.

python flower_quickstart.py --seed 1
"""

import argparse
import json

import data
import torch
import torch.nn.functional as F
from datasets import load_from_disk
from flwr.app import ArrayRecord, ConfigRecord, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import ServerApp
from flwr.serverapp.strategy import FedAvg
from flwr.simulation import run_simulation
from flwr_datasets.partitioner import IidPartitioner
from torch import nn
from torch.utils.data import DataLoader
from torchvision.transforms import Compose, Normalize, ToTensor

CLIENTS = 10
BATCH = 32
PICTURES = data.FOLDER / "cifar10-pictures"
TRANSFORMS = Compose([ToTensor(), Normalize((0.5, 0.5, 0.5), (0.5, 0.5, 0.5))])


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 6, 5)
        self.pool = nn.MaxPool2d(2, 2)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(16 * 5 * 5, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, 10)

    def forward(self, x):
        x = self.pool(F.relu(self.conv1(x)))
        x = self.pool(F.relu(self.conv2(x)))
        x = x.view(-1, 16 * 5 * 5)
        return self.fc3(F.relu(self.fc2(F.relu(self.fc1(x)))))


def transformed(batch):
    batch["img"] = [TRANSFORMS(picture) for picture in batch["img"]]
    return batch


def load_data(client):
    """Four fifths of a client's pictures to train, the others to judge."""
    partitioner = IidPartitioner(num_partitions=CLIENTS)
    partitioner.dataset = load_from_disk(PICTURES / "train")
    parts = partitioner.load_partition(client).train_test_split(test_size=0.2, seed=42).with_transform(transformed)
    return DataLoader(parts["train"], batch_size=BATCH, shuffle=True), DataLoader(parts["test"], batch_size=BATCH)


def train(net, loader, rate):
    optimizer = torch.optim.SGD(net.parameters(), lr=rate, momentum=0.9)
    net.train()
    total = 0.0
    for batch in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(net(batch["img"]), batch["label"])
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(loader)


@torch.no_grad()
def judged(net, loader):
    right, loss = 0, 0.0
    for batch in loader:
        outputs = net(batch["img"])
        loss += F.cross_entropy(outputs, batch["label"]).item()
        right += (outputs.argmax(1) == batch["label"]).sum().item()
    return loss / len(loader), right / len(loader.dataset)


def received(arrays):
    net = Net()
    net.load_state_dict(arrays.to_torch_state_dict())
    return net


client = ClientApp()


@client.train()
def fit(message, context):
    net = received(message.content["arrays"])
    loader, _ = load_data(context.node_config["partition-id"])
    loss = train(net, loader, message.content["config"]["lr"])
    metrics = MetricRecord({"train_loss": loss, "num-examples": len(loader.dataset)})
    content = RecordDict({"arrays": ArrayRecord(net.state_dict()), "metrics": metrics})
    return Message(content=content, reply_to=message)


@client.evaluate()
def evaluate(message, context):
    _, loader = load_data(context.node_config["partition-id"])
    loss, accuracy = judged(received(message.content["arrays"]), loader)
    metrics = MetricRecord({"eval_loss": loss, "eval_acc": accuracy, "num-examples": len(loader.dataset)})
    return Message(content=RecordDict({"metrics": metrics}), reply_to=message)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rate", type=float, default=0.01)
    args = parser.parse_args()
    server, found = ServerApp(), []

    def judge(_, arrays):
        pictures = load_from_disk(PICTURES / "test").with_transform(transformed)
        loss, accuracy = judged(received(arrays), DataLoader(pictures, batch_size=128))
        found.append(accuracy)
        return MetricRecord({"loss": loss, "accuracy": accuracy})

    @server.main()
    def serve(grid, context):
        torch.manual_seed(args.seed)
        FedAvg(fraction_evaluate=0.5).start(
            grid=grid,
            initial_arrays=ArrayRecord(Net().state_dict()),
            train_config=ConfigRecord({"lr": args.rate}),
            num_rounds=args.rounds,
            evaluate_fn=judge,
        )

    run_simulation(server_app=server, client_app=client, num_supernodes=CLIENTS)
    print(json.dumps({"accuracy": found[-1]}))


if __name__ == "__main__":
    main()
