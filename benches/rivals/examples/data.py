"""The data of the examples, read from the files that Meshfold reads. `MESHFOLD_DATA` names their folder.

The simulators download data of their own, which these files stand in for. These lines are not counted as theirs.
"""

import gzip
import os
from pathlib import Path

import numpy as np

FOLDER = Path(os.environ.get("MESHFOLD_DATA", Path(__file__).parents[3].parent / "shared" / "data"))
#: Bytes of an image of CIFAR-10 and its label.
RECORD = 3073


def idx(name, header):
    with gzip.open(FOLDER / name) as file:
        return np.frombuffer(file.read(), np.uint8, offset=header)


def digits(split):
    """MNIST: images `[M, 28, 28]` of bytes and their labels; `split` is `train` or `t10k`."""
    images = idx(f"mnist/{split}-images-idx3-ubyte.gz", 16).reshape(-1, 28, 28)
    return images, idx(f"mnist/{split}-labels-idx1-ubyte.gz", 8)


def writers():
    """Who wrote each training image of MNIST."""
    table = idx("qmnist-writers/qmnist-train-labels-idx2-int.gz", 12).view(">i4").reshape(-1, 8)
    return table[:, 2].astype(np.int64)


def colours(split):
    """CIFAR-10: images `[M, 3, 32, 32]` of bytes and their labels; `split` is `train` or `test`."""
    names = {"train": [f"data_batch_{batch}" for batch in range(1, 6)], "test": ["test_batch"]}[split]
    records = [np.fromfile(FOLDER / "cifar10" / f"{name}.bin", np.uint8).reshape(-1, RECORD) for name in names]
    records = np.concatenate(records)
    return records[:, 1:].reshape(-1, 3, 32, 32), records[:, 0]
