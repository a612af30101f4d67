"""The workloads in PyTorch.

    python torch_rival.py w2 --impl loop

loop    a module and an optimizer for each client, visited in turn: the usual program of research on decentralized learning
vmap    stacked parameters under torch.func
bmm     stacked parameters, products batched by hand (W1 to W3)
csr, gather, dense (W6)   the mixing as a sparse product, as a sum of gathered rows, as a dense product
"""

import sys
import warnings

import numpy as np
import torch
import torch.nn.functional as F

import torch_models
from protocol import command_line, cores, report, timed
from torch_models import MODELS, batch, from_torch, lstm_by_cells, mean_loss, mixed_precision, on_device, to_torch
from workloads import MIXED, initial, metropolis, regular_overlay, synthetic

TRAINING, MIXING = ("loop", "vmap", "bmm"), ("csr", "gather", "dense")


class Mixing:
    """Products with the Metropolis weights of a regular overlay; an array has the clients first."""

    def __init__(self, neighbours, impl="gather"):
        self.neighbours = on_device(neighbours).long()
        self.own, self.edges = (on_device(weights) for weights in metropolis(neighbours))
        self.of_array = self.gather
        if impl != "gather":
            matrix = torch.diag(self.own).scatter_(1, self.neighbours, self.edges)
            matrix = matrix.to_sparse_csr() if impl == "csr" else matrix
            self.of_array = lambda stack: matrix @ stack

    def gather(self, stack):
        flat = stack.reshape(len(stack), -1)
        mixed = flat * self.own[:, None]
        for neighbour, weight in zip(self.neighbours.T, self.edges.T):
            mixed.addcmul_(flat.index_select(0, neighbour), weight[:, None])
        return mixed.view_as(stack)


class Loop:
    """A module and an optimizer for each client."""

    def __init__(self, case, data, mixing, model):
        self.case, self.mixing, (self.inputs, self.targets) = case, mixing, data
        self.modules = [MODELS[case.model](case).to(torch_models.DEVICE) for _ in range(case.clients)]
        for module in self.modules:
            module.load_state_dict({name: to_torch(name, values) for name, values in model.items()}, strict=False)
        self.trained = [[p for p in module.parameters() if p.requires_grad] for module in self.modules]
        self.optimizers = [torch.optim.SGD(p, lr=case.rate, momentum=case.momentum) for p in self.trained]

    def round(self, rows):
        """A round on the batches `rows`, [N, K, B]; returns the mean loss."""
        total = torch.zeros((), device=torch_models.DEVICE)
        for module, optimizer, of_client in zip(self.modules, self.optimizers, rows):
            if not self.case.keeps_velocity:
                optimizer.state.clear()
            for of_step in of_client:
                inputs, targets = batch(self.inputs, self.targets, of_step)
                optimizer.zero_grad(set_to_none=True)
                with mixed_precision(self.case):
                    loss = mean_loss(module(inputs), targets)
                loss.backward()
                optimizer.step()
                total += loss.detach()
        self.mix()
        return total / rows.shape[:2].numel()

    @torch.no_grad()
    def mix(self):
        stack = torch.stack([torch.cat([p.view(-1) for p in trained]) for trained in self.trained])
        for trained, row in zip(self.trained, self.mixing.of_array(stack)):
            for parameter, values in zip(trained, row.split([p.numel() for p in trained])):
                parameter.copy_(values.view_as(parameter))

    def models(self):
        """All models, name to array, as `workloads` has them."""
        names = [name for name, p in self.modules[0].named_parameters() if p.requires_grad]
        stacks = [torch.stack(parameters).detach() for parameters in zip(*self.trained)]
        return {name: from_torch(name, stack) for name, stack in zip(names, stacks)}


class Stacked:
    """All parameters of a name in one array, [N, ...]."""

    def __init__(self, case, data, mixing, model):
        self.case, self.mixing, (self.inputs, self.targets) = case, mixing, data
        self.names = list(model)
        starts = [to_torch(name, values) for name, values in model.items()]
        self.parameters = [start.expand(case.clients, *start.shape).clone() for start in starts]
        self.velocity = [torch.zeros_like(p) for p in self.parameters] if case.momentum else []

    def round(self, rows):
        """A round on the batches `rows`, [N, K, B]; returns the mean loss."""
        if self.velocity and not self.case.keeps_velocity:
            torch._foreach_zero_(self.velocity)
        total = torch.zeros((), device=torch_models.DEVICE)
        for of_step in rows.unbind(1):
            with mixed_precision(self.case):
                gradients, loss = self.gradients(*batch(self.inputs, self.targets, of_step))
            if self.case.momentum:
                torch._foreach_mul_(self.velocity, self.case.momentum)
                torch._foreach_add_(self.velocity, gradients)
                gradients = self.velocity
            torch._foreach_add_(self.parameters, gradients, alpha=-self.case.rate)
            total += loss
        self.parameters = [self.mixing.of_array(parameter) for parameter in self.parameters]
        return total / rows.shape[1]

    def models(self):
        """All models, name to array, as `workloads` has them."""
        return {name: from_torch(name, stack) for name, stack in zip(self.names, self.parameters)}


class Vmap(Stacked):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        module = MODELS[self.case.model](self.case).to("meta")

        def loss(parameters, inputs, targets):
            model = dict(zip(self.names, parameters))
            logits = (
                lstm_by_cells(model, inputs)
                if self.case.model == "lstm"
                else torch.func.functional_call(module, model, (inputs,))
            )
            return mean_loss(logits, targets)

        self.of_clients = torch.func.vmap(torch.func.grad_and_value(loss))

    def gradients(self, inputs, targets):
        gradients, losses = self.of_clients(self.parameters, inputs, targets)
        return list(gradients), losses.mean()


class Bmm(Stacked):
    def gradients(self, inputs, targets):
        leaves = [parameter.detach().requires_grad_() for parameter in self.parameters]
        hidden = inputs
        for n, (weight, bias) in enumerate(zip(leaves[::2], leaves[1::2])):
            hidden = torch.baddbmm(bias[:, None], F.relu(hidden) if n else hidden, weight.transpose(1, 2))
        # The clients' mean losses are summed: none has a part in another's gradient.
        loss = mean_loss(hidden, targets) * self.case.clients
        return list(torch.autograd.grad(loss, leaves)), loss.detach() / self.case.clients


RIVALS = {"loop": Loop, "vmap": Vmap, "bmm": Bmm}


def tensors(data):
    """The inputs and, of images, the targets."""
    targets = None if data.targets is None else on_device(data.targets).long()
    return on_device(data.inputs), targets


def training(case, impl, neighbours, rng):
    """A function that runs one repeat, with batches drawn from the clients' own rows with replacement, and returns its
    mean loss."""
    data = synthetic(case, rng)
    shards = on_device(data.shards).long()
    rival = RIVALS[impl](case, tensors(data), Mixing(neighbours), initial(case, rng))

    def run():
        total = 0.0
        for _ in range(case.rounds):
            drawn = torch.randint(case.samples, (case.clients, case.steps * case.batch), device=torch_models.DEVICE)
            rows = shards.gather(1, drawn).view(case.clients, case.steps, case.batch)
            total += rival.round(rows).item()
        return total / case.rounds

    return run


def mixing_alone(case, impl, neighbours, rng):
    mix = Mixing(neighbours, impl).of_array
    stack = on_device(rng.standard_normal((case.clients, MIXED), dtype=np.float32))

    def run():
        nonlocal stack
        for _ in range(case.rounds):
            stack = mix(stack)
        return stack[0, 0].item()  # waits for the device

    return run


def main():
    case, args = command_line(__doc__, TRAINING, MIXING, ("f32", "bf16"))
    if args.impl == "bmm" and case.model != "dense":
        sys.exit("bmm takes w1, w2 or w3")
    warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta")
    if args.device == "gpu":
        torch_models.DEVICE = torch.device("cuda")
    torch.set_num_threads(cores())
    torch.manual_seed(1)
    rng = np.random.default_rng(0)
    neighbours = regular_overlay(case.clients, case.degree, rng)
    make = training if case.steps else mixing_alone
    run = make(case, args.impl, neighbours, rng)
    report(case, args, timed(run, args), "torch", torch.__version__)


if __name__ == "__main__":
    main()
