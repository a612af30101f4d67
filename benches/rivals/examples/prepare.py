"""Lays the data of the examples out as their users have them after the first run, in a folder that `MESHFOLD_DATA` may name.

    python prepare.py FROM TO

FROM is a data folder of Meshfold's with MNIST, the writers of MNIST and CIFAR-10. CIFAR-10 is unpacked, and for Flower its pictures
are written as PNG in a data set of Hugging Face's `datasets`, which is what Flower's example downloads. A second call writes what is
missing.
"""

import lzma
import shutil
import sys
from pathlib import Path


def unpack(source, target):
    """Copies the files of the folder `source`, those of xz unpacked."""
    target.mkdir(parents=True, exist_ok=True)
    for file in sorted(source.iterdir()):
        packed = file.suffix == ".xz"
        to = target / (file.stem if packed else file.name)
        if to.exists():
            continue
        to.write_bytes(lzma.decompress(file.read_bytes()) if packed else file.read_bytes())
        to.chmod(0o644)


def pictures(folder, split):
    """CIFAR-10 as `uoft-cs/cifar10` has it: pictures under `img`, classes under `label`."""
    import io

    import data
    from datasets import Dataset, Features, Image, Value
    from PIL import Image as Picture

    def png(image):
        buffer = io.BytesIO()
        Picture.fromarray(image.transpose(1, 2, 0)).save(buffer, "PNG")
        return {"bytes": buffer.getvalue(), "path": None}

    images, labels = data.colours(split)
    columns = {"img": [png(image) for image in images], "label": labels.astype(int).tolist()}
    features = Features({"img": Image(), "label": Value("int64")})
    Dataset.from_dict(columns, features=features).save_to_disk(folder / split)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    source, target = map(Path, sys.argv[1:])
    for name in ("mnist", "qmnist-writers", "cifar10"):
        unpack(source / name, target / name)
    folder = target / "cifar10-pictures"
    if folder.exists():
        return
    import data

    data.FOLDER = target
    try:
        for split in ("train", "test"):
            pictures(folder, split)
    except ImportError as error:
        shutil.rmtree(folder, ignore_errors=True)
        print(f"no pictures for Flower: {error}", file=sys.stderr)


if __name__ == "__main__":
    main()
