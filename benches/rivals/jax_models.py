"""The losses of the models in JAX: `loss(model, inputs, targets)` of one client's batch."""

import jax
import jax.numpy as jnp
from jax import lax

from workloads import HIDDEN, LAYERS, WINDOW


def in_bf16(loss):
    """The loss with weights and all that the layers hand on in bfloat16, as policies of mixed precision have it."""

    def of_rounded(model, inputs, targets):
        return loss(jax.tree.map(lambda weight: weight.astype(jnp.bfloat16), model), inputs, targets)

    return of_rounded


def cross_entropy(logits, targets):
    logits = logits.astype(jnp.float32)
    picked = jnp.take_along_axis(logits, targets[..., None], axis=-1)[..., 0]
    return jnp.mean(jax.nn.logsumexp(logits, axis=-1) - picked)


def pixels(inputs, dtype):
    return (inputs.astype(jnp.float32) * (2 / 255.0) - 1.0).astype(dtype)


def dense(model, inputs, targets):
    hidden = pixels(inputs, model["layers.0.weight"].dtype)
    layers = len(model) // 2
    for n in range(layers):
        hidden = hidden @ model[f"layers.{n}.weight"] + model[f"layers.{n}.bias"]
        if n < layers - 1:
            hidden = jax.nn.relu(hidden)
    return cross_entropy(hidden, targets)


def lenet(model, inputs, targets):
    hidden = pixels(inputs, model["out.weight"].dtype).transpose(0, 2, 3, 1)
    for n in range(3):
        hidden = convolution(hidden, model[f"convs.{n}.weight"]) + model[f"convs.{n}.bias"]
        hidden = group_norm(hidden, model[f"norms.{n}.weight"], model[f"norms.{n}.bias"])
        hidden = maximum(jax.nn.relu(hidden))
    flat = hidden.transpose(0, 3, 1, 2).reshape(hidden.shape[0], -1)
    return cross_entropy(flat @ model["out.weight"] + model["out.bias"], targets)


def convolution(images, weight):
    """Shifted copies side by side and one product: on a processor faster than XLA's own operator."""
    height, width = images.shape[1:3]
    edge = WINDOW // 2
    padded = jnp.pad(images, ((0, 0), (edge, edge), (edge, edge), (0, 0)))
    shifted = [padded[:, i : i + height, j : j + width] for i in range(WINDOW) for j in range(WINDOW)]
    return jnp.concatenate(shifted, axis=-1) @ weight


def group_norm(images, scale, shift, groups=2, epsilon=1e-5):
    batch, height, width, channels = images.shape
    grouped = images.reshape(batch, height * width, groups, channels // groups)
    mean = grouped.mean((1, 3), keepdims=True)
    variance = grouped.var((1, 3), keepdims=True)
    return ((grouped - mean) * lax.rsqrt(variance + epsilon)).reshape(images.shape) * scale + shift


def maximum(images):
    """Over 3 x 3 places, stride 2, padding 1; of shifted copies, as the convolution."""
    height, width = images.shape[1:3]
    padded = jnp.pad(images, ((0, 0), (1, 1), (1, 1), (0, 0)), constant_values=-jnp.inf)
    rows = jnp.maximum(jnp.maximum(padded[:, 0:height:2], padded[:, 1 : height + 1 : 2]), padded[:, 2 : height + 2 : 2])
    return jnp.maximum(jnp.maximum(rows[:, :, 0:width:2], rows[:, :, 1 : width + 1 : 2]), rows[:, :, 2 : width + 2 : 2])


def lstm(model, text, _):
    inputs, targets = text[:, :-1].astype(jnp.int32).T, text[:, 1:].astype(jnp.int32).T
    hidden = model["embed.weight"][inputs]  # [characters, batch, embedding]
    for n in range(LAYERS):
        gates = hidden @ model[f"lstm.weight_ih_l{n}"] + model[f"lstm.bias_ih_l{n}"]  # of all characters at once
        hidden = recurrence(gates, model[f"lstm.weight_hh_l{n}"])
    return cross_entropy(hidden @ model["out.weight"] + model["out.bias"], targets)


@jax.custom_vjp
def recurrence(gates, weight):
    """The outputs of a layer, `[characters, batch, hidden]`, from what its inputs give to the gates."""
    return recurrence_forward(gates, weight)[0]


def recurrence_forward(gates, weight):
    def step(carry, of_input):
        output, memory = carry
        i, f, g, o = jnp.split(of_input + output @ weight, 4, axis=-1)
        i, f, g, o = jax.nn.sigmoid(i), jax.nn.sigmoid(f), jnp.tanh(g), jax.nn.sigmoid(o)
        memory = f * memory + i * g
        following = o * jnp.tanh(memory)
        return (following, memory), (following, output, memory, jnp.concatenate([i, f, g, o], -1))

    zero = jnp.zeros((gates.shape[1], HIDDEN), gates.dtype)
    _, (outputs, before, memories, opened) = lax.scan(step, (zero, zero), gates)
    return outputs, (weight, before, memories, opened)


def recurrence_backward(saved, gradient):
    """The gradient by the weight is one product over all characters, where differentiation by JAX adds one for each."""
    weight, before, memories, opened = saved
    memories_before = jnp.concatenate([jnp.zeros_like(memories[:1]), memories[:-1]])

    def step(carry, at):
        by_output, by_memory = carry
        of_loss, memory, memory_before, gates = at
        i, f, g, o = jnp.split(gates, 4, axis=-1)
        squashed = jnp.tanh(memory)
        by_output = by_output + of_loss
        by_memory = by_memory + by_output * o * (1 - squashed * squashed)
        by_i, by_f = by_memory * g * i * (1 - i), by_memory * memory_before * f * (1 - f)
        by_g, by_o = by_memory * i * (1 - g * g), by_output * squashed * o * (1 - o)
        by_gates = jnp.concatenate([by_i, by_f, by_g, by_o], -1)
        return (by_gates @ weight.T, by_memory * f), by_gates

    zero = jnp.zeros_like(memories[0])
    _, by_gates = lax.scan(step, (zero, zero), (gradient, memories, memories_before, opened), reverse=True)
    return by_gates, jnp.einsum("tbh,tbg->hg", before, by_gates)


recurrence.defvjp(recurrence_forward, recurrence_backward)

LOSSES = {"dense": dense, "lenet": lenet, "lstm": lstm}
