"""gossipy's examples of gossip on a random regular graph: logistic regression, 100 nodes of 20 neighbours each.

    python gossipy_regular.py --rounds 20 --seed 1

The settings are those of its `main_all2all`; a node sends its model to one neighbour in a round, as in `main_hegedus_2021`.
"""

import argparse
import json

import data
import networkx as nx
import torch
from gossipy import set_seed
from gossipy.core import AntiEntropyProtocol, CreateModelMode, StaticP2PNetwork
from gossipy.data import DataDispatcher
from gossipy.data.handler import ClassificationDataHandler
from gossipy.model.handler import TorchModelHandler
from gossipy.model.nn import LogisticRegression
from gossipy.node import GossipNode
from gossipy.simul import GossipSimulator, SimulationReport
from torch.nn.modules.loss import CrossEntropyLoss


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--seed", type=int, default=42)
    args = parser.parse_args()
    set_seed(args.seed)

    def tensors(split):
        images, labels = data.digits(split)
        pixels = torch.from_numpy(images.reshape(-1, 784)).float() / 255
        return (pixels - 0.1307) / 0.3081, torch.from_numpy(labels).long()

    handler = ClassificationDataHandler(*tensors("train"), *tensors("t10k"))
    dispatcher = DataDispatcher(handler, n=100, eval_on_user=False)
    dispatcher.assign(seed=args.seed)
    graph = nx.random_regular_graph(20, 100, seed=args.seed)
    topology = StaticP2PNetwork(dispatcher.size(), nx.to_numpy_array(graph))
    nodes = GossipNode.generate(
        data_dispatcher=dispatcher,
        p2p_net=topology,
        model_proto=TorchModelHandler(
            net=LogisticRegression(784, 10),
            optimizer=torch.optim.SGD,
            optimizer_params={"lr": 0.1, "weight_decay": 0.01},
            criterion=CrossEntropyLoss(),
            create_model_mode=CreateModelMode.MERGE_UPDATE,
        ),
        round_len=100,
        sync=True,
    )
    simulator = GossipSimulator(
        nodes=nodes,
        data_dispatcher=dispatcher,
        delta=100,
        protocol=AntiEntropyProtocol.PUSH,
        sampling_eval=0.1,
    )
    report = SimulationReport()
    simulator.add_receiver(report)
    simulator.init_nodes(seed=args.seed)
    simulator.start(n_rounds=args.rounds)
    last = report.get_evaluation(False)[-1][1]["accuracy"]
    print(json.dumps({"accuracy": float(last)}))


if __name__ == "__main__":
    main()
