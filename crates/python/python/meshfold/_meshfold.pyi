"""The compiled part of meshfold."""

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

VERSION: str
ALIGNMENT: int

class Table:
    """A table in memory. Libraries that support Arrow's PyCapsule interface read it without a copy."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    @property
    def column_names(self) -> list[str]:
        """The names of the columns."""
    @property
    def descriptions(self) -> dict[str, str]:
        """What each column means, by its name."""
    def __len__(self) -> int: ...
    def to_polars(self) -> polars.DataFrame:
        """The table as a polars data frame."""
    def to_pandas(self) -> pandas.DataFrame:
        """The table as a pandas data frame; needs pyarrow."""
    def to_pyarrow(self) -> pyarrow.Table:
        """The table as a pyarrow table."""

class Figure:
    """Curves or bars of runs, partitions or overlays, ready for print. A notebook shows it."""

    @property
    def notes(self) -> list[str]:
        """What a reader must know: which runs are missing or ended early, which colours repeat, what has no band, what is not drawn."""
    def svg(self) -> str:
        """The figure as SVG."""
    def save(self, path: str | PathLike[str], *, dpi: float = 300.0) -> None:
        """Writes the figure to a file: SVG, PDF or PNG, by the ending of its name.

        Args:
            path: the file, such as `accuracy.pdf`.
            dpi: pixels per inch of a PNG.

        Raises:
            ValueError: if the name has another ending, or a PNG would have no pixels or too many.
            OSError: if the file cannot be written.
        """
    def _repr_svg_(self) -> str: ...

class Mixing:
    """Mixing weights `[R, R]` of one round."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        """The weights, as `numpy()` has them: NumPy takes mixing weights for their matrix."""
    def numpy(self) -> NDArray[np.float64]:
        """The weights, `[R, R]`: `stack.mix` makes row `i` the sum of all rows `j` times `numpy()[i, j]`.

        Those of sparse matrices are in single precision, as they are applied.

        Raises:
            ValueError: if there are more than 2**28 weights.
        """
    def entries(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The weights other than zero as edges `[E, 2]`, int64, sender and receiver, and numbers `[E]`, receiver after receiver.

        Edge `(j, i)` has what `stack.mix` multiplies row `j` by in the sum that becomes row `i`; `(i, i)` is the weight of the own row.
        `stack.weighted_sums(*round.mixing.entries())` is a mixed copy.

        Raises:
            ValueError: if there are more than 2**28 weights.
        """

class Stack:
    """Rows of parameters, `[R, P]`, one for each client. Every operation is one kernel over all rows.

    A scale is one number, or an array `[R]` with one for each row. `+` and `-` take stacks and arrays `[R, P]`: `models += noise`.
    """

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and parameters, `(R, P)`."""
    def __len__(self) -> int: ...
    def copy(self) -> Stack:
        """A copy."""
    def zeros_like(self) -> Stack:
        """A stack of zeros with as many rows."""
    def __add__(self, other: Stack | ArrayLike) -> Stack: ...
    def __radd__(self, other: ArrayLike) -> Stack: ...
    def __sub__(self, other: Stack | ArrayLike) -> Stack: ...
    def __rsub__(self, other: ArrayLike) -> Stack: ...
    def __neg__(self) -> Stack: ...
    def __mul__(self, scale: ArrayLike) -> Stack: ...
    def __rmul__(self, scale: ArrayLike) -> Stack: ...
    def __truediv__(self, scale: ArrayLike) -> Stack: ...
    def __iadd__(self, other: Stack | ArrayLike) -> Stack: ...
    def __isub__(self, other: Stack | ArrayLike) -> Stack: ...
    def __imul__(self, scale: ArrayLike) -> Stack: ...
    def __itruediv__(self, scale: ArrayLike) -> Stack: ...
    def add_scaled(self, other: Stack, scale: ArrayLike = 1.0) -> Stack:
        """`row_i <- row_i + scale_i * other_i`, in place. Returns the stack."""
    def mix(self, mixing: Mixing | Any, *, layers: Sequence[str] | None = None) -> Stack:
        """Averages each row over others, in place: `row_i <- sum_j w_ij row_j`. Returns the stack.

        Args:
            mixing: the weights of a round, `round.mixing`, or a matrix `[R, R]` of NumPy or SciPy. A matrix is taken as it is: rows need
                not sum to one, nor need it be symmetric. Its numbers are rounded to single precision, and zeros cost nothing.
            layers: the names of the layers that are averaged, as `by_layer()` has them; all if absent. The others stay.

        Raises:
            ValueError: if the shape is wrong, a weight is not finite, or there is no such layer.
            TypeError: if `layers` is no list of names.
        """
    def top_k(self, share: float) -> Stack:
        """Keeps the largest parameters of each row, in place, and sets the others to zero.

        A row keeps `share` of its parameters, at least one. A message with it has 8 bytes for each kept parameter: value and
        index. `copy`, `gather`, and products with numbers keep this size; after other changes a message is a whole model again.
        Returns the stack.
        """
    def clip(self, radius: float) -> Stack:
        """Shortens each row whose Euclidean norm is above `radius` to that norm, in place. Returns the stack.

        Raises:
            ValueError: if the radius is not finite and above 0.
        """
    def gather(self, rows: ArrayLike) -> Stack:
        """A stack whose row `i` is row `rows[i]` of this one. A row may be named more than once."""
    def scatter(self, rows: ArrayLike, source: Stack) -> None:
        """Overwrites row `rows[i]` with row `i` of `source`. No row may be named twice.

        Raises:
            ValueError: if a row does not exist or is named twice, or `source` has another number of rows.
            TypeError: if they are no whole numbers.
        """
    def mean(self, weights: ArrayLike | None = None) -> Stack:
        """The mean of all rows: a stack of one row.

        With `weights`, `[R]`, it is `sum_i weights_i row_i`. They are taken as they are, and need not sum to one.

        Raises:
            ValueError: if there is not one weight for each row, or one is not finite.
        """
    def norms(self) -> NDArray[np.float64]:
        """The Euclidean norm of each row, `[R]`."""
    def distances(self, pairs: ArrayLike, other: Stack | None = None) -> NDArray[np.float64]:
        """The Euclidean distance of each pair of rows, `[E]`: of row `a` of this stack from row `b` of `other`, or of this one.

        Args:
            pairs: `[E, 2]`, the rows `a` and `b` of each pair.
            other: a stack with as many parameters.

        Raises:
            ValueError: if a row does not exist, or `other` has other parameters.
        """
    def weighted_sums(self, edges: ArrayLike, weights: ArrayLike, rows: int | None = None) -> Stack:
        """A new stack whose row `i` is the sum of weight times row `j` over all edges `(j, i)`; zero if there is none.

        Args:
            edges: `[E, 2]`: a row of this stack, and the row of the new one that it goes into. An edge may stand there more than once.
            weights: one number for each edge, `[E]`, or one for all. They are taken as they are, and rounded to single precision.
            rows: the rows of the new stack; as many as this one has if absent.

        Raises:
            ValueError: if a row does not exist, there is not one weight for each edge, or one is not finite.
        """
    def trimmed_means(self, edges: ArrayLike, trim: ArrayLike, rows: int | None = None) -> Stack:
        """A new stack whose row `i` has, for each parameter, the mean of what is left of the rows `j` of all edges `(j, i)`.

        The `trim` smallest numbers and as many of the largest are left out, parameter by parameter. On a GPU the rows go to the host and
        back if a row has more than 64 edges.

        Args:
            edges: `[E, 2]`, as for `weighted_sums`.
            trim: how many numbers are left out at each end: a whole number for all new rows, or one for each.
            rows: the rows of the new stack; as many as this one has if absent.

        Raises:
            ValueError: if a row does not exist, or a new row has too few edges for something to be left.
            TypeError: if `trim` is no whole number.
        """
    def medians(self, edges: ArrayLike, rows: int | None = None) -> Stack:
        """A new stack whose row `i` has the median of each parameter over the rows `j` of all edges `(j, i)`.

        The median of an even number of values is the mean of the two in the middle. Arguments and errors are those of `trimmed_means`.
        """
    def deviations(self, edges: ArrayLike, rows: int | None = None) -> Stack:
        """A new stack whose row `i` has the standard deviation of each parameter over the rows `j` of all edges `(j, i)`.

        It is that of a sample, the root of a sum of squares over `n - 1`, and 0 for a single edge. Arguments and errors are those of
        `trimmed_means`.
        """
    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        """The rows, as `numpy()` has them: NumPy takes a stack for them."""
    def numpy(self, padded: bool = False) -> NDArray[np.float32]:
        """All rows as they are now, `[R, P]`, in an array that cannot be written to.

        In memory a row has zeros between layers and at its end, `[R, P_pad]`. With `padded` the array includes these, and on the
        processor it is a view of the stack's memory. Without `padded` it is a view only if there are no zeros between layers, as in a
        logistic regression on 784 numbers; otherwise it is a copy, because the columns of a NumPy array are equally spaced and cannot
        skip the zeros. To avoid the copy, use `padded` or `by_layer`. `set` takes both kinds. The array never changes, and you may keep it as long as you like:
        an operation that changes the stack later copies the stack's rows first.
        """
    def by_layer(self) -> dict[str, NDArray[np.float32]]:
        """The parameters of each layer as they are now: a dict from names to read-only arrays `[R, inputs, outputs]`.

        Biases are `[R, 1, outputs]`. Of a model of your own each parameter has its own shape, with all dimensions but the last made one: of
        `nn.Linear` in PyTorch the weight is `[R, outputs, inputs]`, and a weight `[2, 1, 3]` of `nn.Conv1d` is `[R, 2, 3]`. On the processor they are views of the stack's memory, as for `numpy`.
        """
    def set(self, values: Stack | ArrayLike | Mapping[str, ArrayLike]) -> None:
        """Overwrites all rows: with those of a stack, with an array of finite floating-point numbers `[R, P]`, or the layers of a dict,
        shaped as in `by_layer()`. Layers that a dict does not name keep what they have.

        An array may have the shape `[R, P_pad]` of `numpy(padded=True)`. What stands where that has zeros between layers is left out.

        Raises:
            ValueError: if the device, shape or type of an array is wrong, or a number is not finite; the message names the array.
        """
    def __dlpack__(
        self,
        *,
        stream: object | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """The rows `[R, P_pad]` by DLPack: `torch.from_dlpack(stack)` is a copy.

        `torch.from_dlpack(stack, copy=False)` shares the memory. You must not write to it, but PyTorch does not prevent that. On a GPU it
        raises `BufferError`.
        """
    def __dlpack_device__(self) -> tuple[int, int]:
        """`(1, 0)`, the processor."""

class Start:
    """What is known of a run before its first round: `Method.start` may take it as its second argument."""

    @property
    def rounds(self) -> int:
        """How many rounds the run is planned to have. A budget, targets or an interruption may end it before."""
    @property
    def seed(self) -> int:
        """Seed of what methods draw: `seeds.methods`, or else the seed of the run."""
    @property
    def clients(self) -> int:
        """Number of clients."""
    @property
    def shard_sizes(self) -> NDArray[np.int64]:
        """Training examples of each client, `[N]`, int64."""
    @property
    def settings(self) -> dict[str, Any]:
        """All keys of the method, as the configuration has them with defaults: `batch_size`, `momentum`, ... and its own.

        Each call makes a new dict: what a method changes in it has no effect.
        """

class Network:
    """How fast clients and links of the simulated network are in a round: `Round.network`."""

    @property
    def step_seconds(self) -> NDArray[np.float64] | None:
        """Seconds of a local step of each client in this round, `[N]`; `None` if `network` says nothing of computing."""
    @property
    def usual_step_seconds(self) -> NDArray[np.float64] | None:
        """The same without what `compute.each_round` draws."""
    @property
    def latency_seconds(self) -> float:
        """Seconds from the sending of a message to its arrival, without those of its bytes.

        Raises:
            ValueError: if links differ: those of `node_capacitated`, `edge_capacitated` and `trace`.
        """
    @property
    def bytes_per_second(self) -> float | None:
        """Bytes that a client sends in a second; `None` if bytes take no time, as with `links: {latency: ...}`.

        Raises:
            ValueError: if links differ.
        """

class PlannedRound:
    """What is known of the rounds of a run when it is planned: the argument of `Method.forecast`."""

    @property
    def rounds(self) -> int:
        """How many rounds the run is planned to have."""
    @property
    def clients(self) -> int:
        """Number of clients."""
    @property
    def shard_sizes(self) -> NDArray[np.int64]:
        """Training examples of each client, `[N]`, int64."""
    @property
    def settings(self) -> dict[str, Any]:
        """All keys of the method, as `Start.settings` has them."""
    @property
    def local_steps(self) -> NDArray[np.int64]:
        """The local steps that `local` asks of each client in a round, `[N]`, int64. Nobody fails or falls behind in a plan."""
    @property
    def neighbours(self) -> NDArray[np.int64]:
        """How many clients receive from each, `[N]`, int64, on the overlay of the first round; 0 without an overlay."""
    @property
    def parameters(self) -> int:
        """Parameters of a model."""
    @property
    def layers(self) -> dict[str, tuple[int, int]]:
        """The layers of a model by their names, as `Stack.by_layer` has them, each with its shape `(inputs, outputs)`."""
    @property
    def model_bytes(self) -> int:
        """Bytes of a model in a message: 4 for each parameter."""
    def to_neighbours(self, bytes: float) -> float:
        """Bytes of an exchange in which each client sends a message of so many bytes to each of its neighbours."""

class Batch:
    """Examples of each row of a stack, of `Round.batch` or `Round.examples`: `B` of the row that has most, and `sizes` of each.

    It belongs to its round. Arrays have a single row, `[1, B]`, where all rows see the same examples. They cannot be written to: copy what you
    change.
    """

    @property
    def indices(self) -> NDArray[np.int64]:
        """Which examples, `[R, B]`, int64, counted from 0 among those that `on` names; -1 where a row has no more.

        Augmented images have the index of what they are made of.
        """
    @property
    def features(self) -> NDArray[np.float32]:
        """What models are given of each example, `[R, B, D]`, float32: numbers, augmented where images are, or tokens; 0 where there is none.

        Images are row-major, channel by channel. Each call reads them anew, into an array of its own: read it once.
        """
    @property
    def labels(self) -> NDArray[np.int64]:
        """The label of each example, `[R, B]`, int64; for models of the next token, that of each position, `[R, B, T]`. -1 where there is none."""
    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many examples each row has, `[R]`, int64."""
    @property
    def learning_rates(self) -> NDArray[np.float32] | None:
        """The learning rate of each row's step on this mini-batch, `[R]`, 0 for rows that are idle; None for examples of the method's choice.

        `Round.learning_rates` is that of the step behind it.
        """
    @property
    def on(self) -> str:
        """Which examples these are of: `train`, `validation` or `test`. Local test sets are kept apart from the training examples, and count
        among them."""

class Round:
    """One communication round, as `Method.round` sees it."""

    @property
    def number(self) -> int:
        """Number of the round, from 1."""
    @property
    def rounds(self) -> int:
        """How many rounds the run is planned to have. A budget, targets or an interruption may end it before."""
    @property
    def recorded(self) -> bool:
        """Whether the models are judged after this round, so that the record has what `round.record` is told.

        In other rounds a figure that takes time to compute is for nothing. It follows from `evaluate: {every: ...}`; the last of the planned
        rounds is recorded, too.
        """
    @property
    def seed(self) -> int:
        """Seed of what methods draw: `seeds.methods`, or else the seed of the run."""
    @property
    def clients(self) -> int:
        """Number of clients."""
    @property
    def shard_sizes(self) -> NDArray[np.int64]:
        """Training examples of each client, `[N]`, int64."""
    @property
    def label_counts(self) -> NDArray[np.int64]:
        """Training examples of each label that each client holds, `[N, C]`, int64. It counts anew whenever you read it."""
    @property
    def mixing(self) -> Mixing:
        """The mixing weights of this round's overlay."""
    @property
    def alive(self) -> NDArray[np.bool_]:
        """Which clients take part, `[N]`."""
    @property
    def gone(self) -> NDArray[np.bool_]:
        """Which clients never come back, `[N]`: those that failed for good."""
    @property
    def edges(self) -> NDArray[np.int64]:
        """The links of this round, `[E, 2]`, int64.

        An undirected edge is listed once; a directed one goes from sender to receiver. Links of clients that take no part are left out, and
        messages that are lost.
        """
    @property
    def directed(self) -> bool:
        """Whether each of `edges` goes one way, from sender to receiver.

        So it is on directed overlays, and in rounds in which stragglers only receive or messages are lost.
        """
    @property
    def local_steps(self) -> NDArray[np.int64]:
        """How many local steps each client makes in this round, `[N]`, int64.

        It goes by the key `local`. Stragglers make fewer steps, and clients that take no part none.
        """
    @property
    def settings(self) -> dict[str, Any]:
        """All keys of the method, as the configuration has them with defaults: `batch_size`, `momentum`, ... and its own.

        Each call makes a new dict: what a method changes in it has no effect.
        """
    @property
    def network(self) -> Network | None:
        """How fast clients and links are, if the configuration has a `network`."""
    @property
    def _loss_seed(self) -> int: ...
    @property
    def loss_probability(self) -> float:
        """The probability with which the method loses each message of the round, as `failures` have it.

        A method with a clock of its own, or without an overlay, loses messages itself. It is 0 for other methods: what they see of the round is
        without the messages that are lost.
        """
    @property
    def learning_rates(self) -> NDArray[np.float32]:
        """The learning rate of each client's next local step, `[N]`; 0 for clients that do not take part.

        After `round.batch` that is the step behind the batch. For the rate of the batch read it before, or take what `gradients` returns.
        """
    def train(
        self,
        models: Stack,
        *,
        velocity: Stack | None = None,
        correction: Stack | None = None,
        anchor: Stack | None = None,
        mu: float | None = None,
        steps: ArrayLike | None = None,
        clients: ArrayLike | None = None,
        layers: Sequence[str] | None = None,
        batch: Batch | None = None,
        slopes: ArrayLike | None = None,
        representation_slopes: ArrayLike | None = None,
        aside: bool = False,
    ) -> None:
        """Trains the models of all clients that take part, as the keys of the configuration say.

        Args:
            models: the models, `[R, P]`, trained in place.
            velocity: `v`, `[R, P]`, kept from call to call in a stack of its own; if absent, it starts each call at zero. A step is
                `v <- momentum v + g`, `w <- w - rate v`, or `w <- w - rate (g + momentum v)` with the key `nesterov`. Steps that are made one by
                one, as with `batch`, need it for momentum: a stack of the round, or one that `start` makes and that lasts.
            correction: added to every gradient, `[R, P]`, after `clip_norm` and `weight_decay`: the norm that is limited is that of the gradient
                of the loss alone, without the correction and without the pull to an `anchor`. Both go into the velocity.
            anchor: models `[R, P]`; `mu * (w - anchor)` is added to every gradient. It needs `mu`.
            mu: the strength of the pull to `anchor`, finite and at least 0; without an `anchor` it is refused.
            steps: local steps of each row, a number for all or one for each, `[R]`, in place of the key `local`, at most 2**31 - 1; a row with 0
                does not move.
            clients: the client on whose examples each row trains, `[R]`; row `i` on those of client `i` if absent. A row that goes
                from client to client begins a new pass through the examples of each.
            layers: the names of the layers that move, as `models.by_layer()` has them; all if absent. The others keep all their bits, and
                so does their velocity. The key `clip_norm` then limits the norm of the gradient of these layers alone.
            batch: the examples of one step of each row, in place of the mini-batches of `local`; it counts and has the learning rate as in `gradients`.
                Rows without examples do not move. It goes with neither `steps` nor `aside`.
            slopes: the gradient of each row's loss by `round.outputs(models, batch)`, as in `gradients`.
            representation_slopes: the gradient of what is added to that loss by `round.representations(models, batch)`, as in `gradients`.
            aside: whether these steps stand apart from the training of the run, as for models that are only tuned to be judged. They take
                mini-batches of their own, the same at every call, begin a pass through the examples of each client, and are counted
                nowhere: not in steps, losses, examples or simulated time. Training goes on as without them.

        Raises:
            ValueError: if there is not one number for each row, one is negative or too large, a client or a layer does not exist, or arguments do
                not go together.
            TypeError: if they are no whole numbers, or `layers` is no list of names.
        """
    def gradients(
        self,
        models: Stack,
        *,
        same_batches: bool = False,
        rows: ArrayLike | None = None,
        clients: ArrayLike | None = None,
        batch: Batch | None = None,
        slopes: ArrayLike | None = None,
        representation_slopes: ArrayLike | None = None,
        aside: bool = False,
    ) -> tuple[Stack, NDArray[np.float32]]:
        """The gradients at `models` on the next mini-batch of each row, `[R, P]`, and the learning rates, `[R]`.

        They go by the keys `batch_size`, `draw`, `learning_rate`, `weight_decay` and `clip_norm`, and not by `local`, `momentum` and `nesterov`.
        Rows of clients that do not take part are zero, and so are their rates. They count as a local step of each client. Stragglers are not cut
        short here: see `local_steps`.

        With `batch` they are those on its examples. With `slopes` besides, they are those of a loss of the method's own: give its gradient by
        `round.outputs(models, batch)`. The mean cross-entropy of a batch has the slopes `(softmax(outputs) - one_hot) / sizes`. What counts as
        `train_loss` is the model's own loss all the same.

        Args:
            models: the models, `[R, P]`.
            same_batches: whether the mini-batches are those of the last call in this round, in place of the next ones. `rows` and `clients`
                must be the same then. Their losses and examples do not count again.
            rows: which rows are asked for, true or false, `[R]`; the others are zero. All if absent.
            clients: the client whose examples each row's mini-batch is from, `[R]`; row `i` has those of client `i` if absent. With a `batch`
                that names no clients, the client whose step it is.
            batch: the examples of each row, of this round; the next mini-batches if absent. If gradients of a row are taken on it again, they are
                another local step, of the same learning rate, and its losses and examples do not count again.
            slopes: the gradient of each row's loss by the outputs, of the shape of `round.outputs(models, batch)`. What stands where a row has no
                example does not count. If absent, the loss is the model's own, the mean over the examples of the row.
            representation_slopes: the gradient of a term that is added to this loss, by the representations, of the shape of
                `round.representations(models, batch)`. If absent, nothing is added.
            aside: whether gradients on a `batch` are only looked at: they count nowhere, neither as steps nor in losses, examples, learning rates or
                simulated time.

        Raises:
            RuntimeError: if there are no batches to take again: the round has taken no gradients since it last trained or drew a batch; or the
                batch is of another round.
            ValueError: if there is not one client for each row, or one does not exist; if the batch is for more or fewer rows; if `slopes` or
                `representation_slopes` are of another shape, or not finite where a row has an example; or if the model has no
                representations.
            TypeError: if they are no whole numbers, or `rows` are no truth values.
        """
    def batch(self, *, rows: ArrayLike | None = None, clients: ArrayLike | None = None) -> Batch:
        """The next mini-batch of each row, drawn as `train` and `gradients` draw theirs: these then go on with the one behind it.

        It goes by the keys `batch_size` and `draw`. Images are augmented, and dropout leaves out what it leaves out in that step.
        `round.gradients(models, batch=round.batch())` has the bits of `round.gradients(models)`. Rows of clients that do not take part have no
        examples. Nothing counts before gradients are taken, but learning rates that go by steps or epochs are on to those of the step behind the batch,
        whether or not a step is taken on it.

        Rows that see the examples of one client draw different ones, also with `clients`. For the same ones draw for the clients, and take the steps of
        one model of each client after the other on this batch.

        Args:
            rows: which rows are to have one, true or false, `[R]`. All if absent.
            clients: the client whose examples each row sees, `[R]`; there is a row for each client if absent.

        Raises:
            ValueError: if a client does not exist, or `rows` has not one for each row.
            TypeError: if they are no whole numbers, or `rows` are no truth values.
        """
    def examples(self, indices: Any = None, *, on: str = "train", clients: ArrayLike | None = None) -> Batch:
        """Examples of the method's choice, as they are stored, neither augmented nor with dropout.

        Args:
            indices: which examples, counted from 0 among all that `on` names, not within a client's: a list `[B]` for all rows; an array `[R, B]`;
                or a list for each row. Where it has -1, there is none, and arrays of the batch, outputs and slopes have a gap at that place. If absent, all training examples of each client, all of its local test set, or all
                validation or test examples.
            on: `train`, `local_test`, `validation` or `test`, as for `evaluate`. The indices of `local_test` cannot be chosen.
            clients: the client that each row works for, `[R]`; row `i` works for client `i` if absent. If there are no `indices`, its examples
                are those of the row.

        Raises:
            ValueError: if an example or a client does not exist, or there are no such examples.
            TypeError: if they are no whole numbers.
        """
    def outputs(self, models: Stack, batch: Batch) -> NDArray[np.float32]:
        """What `models` make of a batch, `[R, B, C]`: a number for each class, before the softmax; one number, `C = 1`, of a model with a single
        output. Models of the next token that learn from every position have outputs `[R, B, T, C]`.

        On mini-batches of `round.batch` dropout leaves out what it leaves out in that step, whatever the models. What models make of the same
        examples without dropout and augmentation is `round.outputs(models, round.examples(batch.indices))`.

        Outputs are zero where a row has no example. It is no local step, takes no simulated time, and moves nothing.

        Args:
            models: the models, `[R, P]`, of as many rows as the batch has; of any number if it is one list for all.
            batch: the examples, of this round.

        Raises:
            RuntimeError: if the batch is of another round.
            ValueError: if the batch is for more or fewer rows.
        """
    def losses(self, models: Stack, batch: Batch) -> NDArray[np.float32]:
        """The loss of `models` on each example of a batch, `[R, B]`, as the model is trained by; of models of the next token that learn from every
        position, the mean over the positions. It is zero where a row has no example.

        What is said of `outputs` on dropout and augmentation, and of what counts, holds here too.

        Args:
            models: the models, `[R, P]`, of as many rows as the batch has; of any number if it is one list for all.
            batch: the examples, of this round.

        Raises:
            RuntimeError: if the batch is of another round.
            ValueError: if the batch is for more or fewer rows.
        """
    def representations(self, models: Stack, batch: Batch) -> NDArray[np.float32]:
        """The representations of a batch by `models`, `[R, B, H]`: the `H` numbers of the last hidden layer, after ReLU, that the last layer
        makes the outputs of. `outputs = representations @ weight + bias`, with the last layer of `models.by_layer()`. Models of the next token
        that learn from every position have representations `[R, B, T, H]`.

        What is said of `outputs` on dropout, augmentation and rows without an example holds here too.

        Args:
            models: the models, `[R, P]`, of as many rows as the batch has; of any number if it is one list for all.
            batch: the examples, of this round.

        Raises:
            RuntimeError: if the batch is of another round.
            ValueError: if the batch is for more or fewer rows; or if the model has no hidden layer, or is one of your own, whose layers are not
                known.
        """
    def count(self, steps: ArrayLike, *, examples: ArrayLike | None = None) -> None:
        """Counts local steps that the method makes itself, without `train` and `gradients`: in `local_steps`, in the examples seen and in
        simulated time.

        Nothing moves, nor do learning rates that go by steps or epochs: these follow `train`, `gradients` and `batch`. Clients that take no part count
        none, and stragglers are not cut short: see `local_steps`.

        Args:
            steps: the steps of each client: a whole number for all, or one for each, `[N]`.
            examples: the examples that these steps saw: a whole number for each client, or one for each, `[N]`. If absent, steps times
                `batch_size`, which is at most the client's shard.

        Raises:
            ValueError: if there is not one number for each client, or one is below 0 or too large.
            TypeError: if they are no whole numbers.
        """
    def evaluate(
        self, models: Stack, *, on: str = "train", clients: ArrayLike | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The mean loss and the accuracy of each row, `[R]` each, on all training examples of a client, or on other examples.

        It is no local step, takes no simulated time, and moves nothing. Clients that take no part are judged, too. Clients without
        training examples give zeros, and those without a local test set NaN.

        Args:
            models: the models, `[R, P]`, of as many rows as you like.
            on: `train`, the training examples of the clients; `local_test`, the clients' local test sets (`evaluate: {local_test: 0.2}`
                or `{local_test: owners}`; a client without one gets NaN for both); `validation`, the examples that the configuration sets apart
                (`dataset: {mnist: {validation: 5000}}`), the same for all rows; or `test`, all test examples, also where
                `evaluate: {examples: 50}` has the models of the run judged on fewer.
            clients: the client whose training examples or local test set each row is judged on, `[R]`; row `i` has those of client `i`
                if absent.

        Raises:
            ValueError: if there is not one client for each row, or one does not exist, or there are no such examples.
            TypeError: if they are no whole numbers.
        """
    def quantize(self, stack: Stack, bits: int, *, norm: str = "model") -> Stack:
        """Rounds the parameters of each row to levels of `bits` bits, in place, up or down at random so that the mean stays: QSGD.

        A parameter becomes `norm * level / (2**(bits - 1) - 1)` with its sign, where `norm` is the Euclidean norm of the row. A message
        then has `bits` bits for each parameter and 64 for each norm. `copy`, `gather`, and products with numbers keep this size; after
        other changes a message is a whole model again. The draws follow from the seed, the round, the row, and how many stacks the
        round has quantized before. Returns the stack.

        Args:
            stack: what is sent, `[R, P]`; most often a difference of models.
            bits: bits for each parameter, with the sign: 2 to 24.
            norm: whether one norm is sent for the whole `model` or for each `layer`.

        Raises:
            ValueError: if there are other bits, or another norm.
        """
    def send(
        self,
        stack: Stack | None = None,
        *,
        bytes: ArrayLike | None = None,
        edges: ArrayLike | None = None,
        to: Literal["server"] | ArrayLike | None = None,
        from_: Literal["server"] | ArrayLike | None = None,
        models: bool = False,
        layers: Sequence[str] | None = None,
    ) -> None:
        """Counts the traffic of one message from every client that takes part to each neighbour that receives from it.

        A message has the size of a row of `stack`, or `bytes` bytes; that of a whole model if both are absent. It only counts: no
        parameter moves.

        Args:
            stack: what is sent, `[R, P]`: 4 bytes for each parameter of a row, or what `top_k` or `quantize` has made of it.
            bytes: the bytes of a message: a whole number, or one for each client, `[N]`, or for each of `edges`, `[E]`, or for each client that
                `to` or `from_` lists. A client with 0 bytes sends nothing. Different sizes take time and memory for every edge of the
                overlay.
            edges: who sends to whom, `[E, 2]`, sender and receiver of each message, in place of all neighbours. They need not be
                neighbours on the overlay.
            to: `"server"`, to which the clients in `from_` send one message each. The class of the method must say `server = True`.
            from_: `"server"`, which sends one message to each client in `to`. In both cases the clients are a list, `[K]`, or all that take
                part if there is none.
            models: whether `stack`, `[N, P]`, has the models that clients send, which `evaluate: {membership: {models: sent}}` attacks as they
                are at the first such call of the round. The stack of the clients' models itself always has. A message that holds models and more is
                counted by its `bytes`; `round.send(models, edges=[])` before it shows the models and counts nothing.
            layers: the names of the layers of `stack` that are sent, as `models.by_layer()` has them; all if absent. Such messages are no whole
                models.

        Raises:
            ValueError: if both `stack` and `bytes` are given, `layers` without a stack or of one that is compressed, or `edges` beside `to` or `from_`; if there is not one number for each client or
                edge, or one is below 0 or above 10**12; if a client does not exist or takes no part, or an edge leads from a client to
                itself; if neither `to` nor `from_` is the server, or both are.
            TypeError: if the bytes are no whole numbers, or `to` or `from_` are neither `"server"` nor numbers of clients.
            RuntimeError: if the method has no server or no overlay.
        """
    def record(self, name: str, value: ArrayLike) -> None:
        """Records a figure of the method's own: one number for the round, or one for each row, `[R]`.

        If the models are judged after this round, the record has the figure as `own.NAME`, and of numbers of rows the spread over the
        rows alive: `own.NAME.mean`, `.min`, `.max` and `.std`, that of the population. `clients.parquet` and `runs.clients()` then have the
        number of each row in the column `own.NAME`. If a round records a figure twice, the last value counts. A record of a round that did
        not record it has no such figure. Numbers that are not finite are null. Rows whose number is not a number have none: they do not
        count in the spread.

        Args:
            name: 1 to 64 ASCII letters, digits or `_`. Figures with `accuracy` in their names are shown in per cent, and more of them
                is better.
            value: a number, an array or a list. What lies on a GPU must be brought to the processor first.

        Raises:
            ValueError: if the name is none, or there is not one number for each row.
            TypeError: if the value is no number and no array.
        """

#: The rows, the columns and the values of the entries of a matrix.
_Entries = tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.float64]]

class Part:
    """A part of an experiment, made in Python: an overlay, weights, a partition, a dataset, a learning rate or a model."""

    @property
    def name(self) -> str:
        """The name in configurations."""
    @property
    def version(self) -> str:
        """The version given by the user, or a digest of the content."""
    @property
    def kind(self) -> str:
        """`overlay`, `weights`, `partition`, `dataset`, `learning rate` or `model`."""
    @staticmethod
    def model(name: str, version: str, object: object) -> Part: ...
    @staticmethod
    def overlay(
        name: str, version: str, nodes: int, edges: NDArray[np.uint32], directed: bool, weights: _Entries | None
    ) -> Part: ...
    @staticmethod
    def overlay_by(
        name: str,
        version: str,
        edges: Callable[[int, int, NDArray[np.int64] | None, int | None], tuple[NDArray[np.uint32], _Entries | None]],
        expected: float | None,
        changes: bool,
        period: int | None,
        directed: bool,
        weighed: bool,
        needs_labels: bool,
        needs_seed: bool,
    ) -> Part: ...
    @staticmethod
    def weights(
        name: str,
        version: str,
        nodes: int,
        entries: _Entries,
    ) -> Part: ...
    @staticmethod
    def learning_rate(name: str, version: str, function: Callable[[list[int]], float], counts: list[str]) -> Part: ...
    @staticmethod
    def partition(name: str, version: str, clients: list[list[int]]) -> Part: ...
    @staticmethod
    def partition_by(
        name: str,
        version: str,
        deal: Callable[[NDArray[np.int64], int, int], list[list[int]]],
        clients: int | None,
    ) -> Part: ...
    @staticmethod
    def dataset(
        name: str,
        version: str,
        shape: tuple[int, int, int],
        classes: int,
        train: tuple[NDArray[Any], NDArray[np.uint16], NDArray[np.uint32] | None],
        test: tuple[NDArray[Any], NDArray[np.uint16], NDArray[np.uint32] | None],
        label_names: Sequence[str],
        owner_names: Sequence[str],
        validation: int,
        names_test_owners: bool,
    ) -> Part: ...

class EventLog:
    def append(self, record: str) -> None: ...
    def end(self, ending: str) -> None: ...

class EventLogs:
    def __init__(self, path: str | PathLike[str]) -> None: ...
    def begin(self, folder: str | PathLike[str], label: str, settings: str) -> EventLog: ...
    def has(self, folder: str | PathLike[str]) -> bool: ...

def end() -> None:
    """Waits until no run is inside a call of Python, and prevents further calls. Called when the interpreter ends."""

class Recorded:
    def __init__(self, folders: Sequence[str | PathLike[str]]) -> None: ...
    @staticmethod
    def empty() -> Recorded: ...
    def __len__(self) -> int: ...
    @property
    def left_out(self) -> list[str]: ...
    def about(self, place: int) -> str: ...
    def folder(self, place: int) -> Path: ...
    def models(self, place: int) -> Stack: ...
    def state(self, place: int) -> tuple[list[tuple[str, Stack]], list[tuple[str, list[float]]]]: ...
    def metrics(self, places: Sequence[int]) -> Table: ...
    def clients(self, places: Sequence[int]) -> Table: ...
    def edges(self, place: int) -> bytes | None: ...
    def partition(self, place: int) -> str | None: ...
    def report(self, places: Sequence[int], path: str | PathLike[str]) -> None: ...

def compare(
    recorded: Recorded, places: Sequence[int], request: Mapping[str, Any]
) -> tuple[Table, str, str, list[str]]: ...
def draw_overlays(
    request: Mapping[str, Any], names: Sequence[tuple[str, str]], rounds: int, width: float, font_size: float
) -> Figure: ...
def draw_partitions(
    request: Mapping[str, Any], names: Sequence[tuple[str, str]], width: float, height: float | None, font_size: float
) -> Figure: ...
def plan(request: Mapping[str, Any]) -> tuple[Table, list[str]]: ...
def plot(recorded: Recorded, places: Sequence[int], request: Mapping[str, Any]) -> Figure: ...
def program(arguments: Sequence[str], command: Sequence[str], classes: Sequence[Mapping[str, object]]) -> NoReturn:
    """The program with these arguments: it ends the process, with the program's exit code.

    Args:
        arguments: what follows the name of the program.
        command: what starts the program again if arguments follow, for scripts that `meshfold submit` writes.
        classes: the methods that configurations may name, with name, version and class.
    """

def run(
    request: Mapping[str, Any],
    planned: Callable[[list[dict[str, Any]], list[str]], None],
    listener: Callable[[int, str, Any], None],
) -> Exception | None: ...
