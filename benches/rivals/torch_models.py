"""The models in PyTorch, put together from its layers, and how models of `workloads` become theirs.

The parameters have the names that `workloads` gives them. PyTorch's matrices are `[outputs, inputs]`.
"""

import itertools

import torch
import torch.nn.functional as F
from torch import nn

from workloads import CHANNELS, CLASSES, EMBEDDING, HIDDEN, LAYERS, SIDE, SYMBOLS, WINDOW

# Where a program computes.
DEVICE = torch.device("cpu")


class Dense(nn.Module):
    def __init__(self, case):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(i, o) for i, o in itertools.pairwise(case.widths))

    def forward(self, hidden):
        for layer in self.layers[:-1]:
            hidden = F.relu(layer(hidden))
        return self.layers[-1](hidden)


class Lenet(nn.Module):
    def __init__(self, _):
        super().__init__()
        pairs = itertools.pairwise(CHANNELS)
        self.convs = nn.ModuleList(nn.Conv2d(i, o, WINDOW, padding=WINDOW // 2) for i, o in pairs)
        self.norms = nn.ModuleList(nn.GroupNorm(2, channels) for channels in CHANNELS[1:])
        self.out = nn.Linear((SIDE >> 3) ** 2 * CHANNELS[-1], CLASSES)

    def forward(self, hidden):
        for conv, norm in zip(self.convs, self.norms):
            hidden = F.max_pool2d(F.relu(norm(conv(hidden))), 3, 2, 1)
        return self.out(hidden.flatten(1))


class Lstm(nn.Module):
    """PyTorch's layer has two biases for each gate; the second is zero and is not trained."""

    def __init__(self, _):
        super().__init__()
        self.embed = nn.Embedding(SYMBOLS, EMBEDDING)
        self.lstm = nn.LSTM(EMBEDDING, HIDDEN, LAYERS, batch_first=True)
        self.out = nn.Linear(HIDDEN, SYMBOLS)
        for n in range(LAYERS):
            nn.init.zeros_(getattr(self.lstm, f"bias_hh_l{n}")).requires_grad_(False)

    def forward(self, text):
        return self.out(self.lstm(self.embed(text))[0])


def lstm_by_cells(model, text):
    """What `Lstm` gives, of a dict of parameters: PyTorch's layer does not go under `vmap`."""
    hidden = F.embedding(text, model["embed.weight"])
    for n in range(LAYERS):
        gates = F.linear(hidden, model[f"lstm.weight_ih_l{n}"], model[f"lstm.bias_ih_l{n}"])
        output = memory = torch.zeros(hidden.shape[0], HIDDEN, device=hidden.device)
        outputs = []
        for at in range(hidden.shape[1]):
            i, f, g, o = (gates[:, at] + F.linear(output, model[f"lstm.weight_hh_l{n}"])).chunk(4, -1)
            memory = torch.sigmoid(f) * memory + torch.sigmoid(i) * torch.tanh(g)
            output = torch.sigmoid(o) * torch.tanh(memory)
            outputs.append(output)
        hidden = torch.stack(outputs, 1)
    return F.linear(hidden, model["out.weight"], model["out.bias"])


MODELS = {"dense": Dense, "lenet": Lenet, "lstm": Lstm}


def batch(inputs, targets, rows):
    """What a network takes of the rows, and what it should give."""
    if targets is None:
        text = inputs[rows].long()
        return text[..., :-1], text[..., 1:]
    return inputs[rows].float().mul_(2 / 255).sub_(1), targets[rows]


def mixed_precision(case):
    """The context in which products take bfloat16, if the case says so: PyTorch's autocast."""
    return torch.autocast(DEVICE.type, torch.bfloat16, enabled=case.precision == "bf16")


def mean_loss(logits, targets):
    return F.cross_entropy(logits.flatten(0, -2), targets.flatten())


def on_device(values):
    """An array of `workloads` where the program computes."""
    return torch.from_numpy(values).to(DEVICE)


def to_torch(name, values):
    """An array of `workloads` as PyTorch has it."""
    values = on_device(values)
    if values.ndim == 1 or name == "embed.weight":
        return values
    if name.startswith("convs"):
        return values.reshape(WINDOW, WINDOW, -1, values.shape[1]).permute(3, 2, 0, 1).contiguous()
    return values.T.contiguous()


def from_torch(name, stack):
    """The reverse of `to_torch`, for arrays that have the clients first."""
    if stack.ndim == 5:
        stack = stack.permute(0, 3, 4, 2, 1).flatten(1, 3)
    elif stack.ndim == 3 and name != "embed.weight":
        stack = stack.transpose(1, 2)
    return stack.cpu().numpy()
