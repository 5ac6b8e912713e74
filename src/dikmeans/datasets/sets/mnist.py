"""MNIST: 70,000 handwritten digits of 28x28."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dikmeans.datasets.files.fetch import RemoteFile
from dikmeans.datasets.imageset import Card, ImageSet
from dikmeans.datasets.sets.characters import idx_layout, to_image_set
from dikmeans.datasets.sets.named import NamedSet, Shelf

if TYPE_CHECKING:
    from pathlib import Path

CARD = Card(
    title="MNIST",
    source="Y. LeCun, C. Cortes, C. Burges, http://yann.lecun.com/exdb/mnist/",
    citation="Y. LeCun, L. Bottou, Y. Bengio, P. Haffner. Gradient-based learning applied to "
    "document recognition. Proceedings of the IEEE 86(11), 1998.",
    size="60,000 training and 10,000 test images of 28x28, 10 digits",
    processing="bytes scaled to [0, 1]",
)

_FILES = {
    "train": ("train-images-idx3-ubyte", "train-labels-idx1-ubyte"),
    "test": ("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"),
}
_MD5 = {
    "train-images-idx3-ubyte": "f68b3c2dcbeaaa9fbdd348bbdeb94873",
    "train-labels-idx1-ubyte": "d53e105ee54ea40749a09fcbcd1e9432",
    "t10k-images-idx3-ubyte": "9fb629c4189551a2d022fa330f9573f3",
    "t10k-labels-idx1-ubyte": "ec29112dd5afa0611ce80d1b7f02629c",
}
_MIRROR = "https://ossci-datasets.s3.amazonaws.com/mnist/"

SHELF = Shelf(
    folder="mnist",
    layouts=(idx_layout("the published idx files, gzipped or not", _FILES),),
    homepage=_MIRROR,
    remotes={
        split: tuple(
            RemoteFile(f"{name}.gz", f"{_MIRROR}{name}.gz", "md5", _MD5[name]) for name in names
        )
        for split, names in _FILES.items()
    },
)


def load_mnist(split: str, data_home: Path, download: bool) -> ImageSet:
    """Load MNIST; no options."""
    return to_image_set(
        SHELF.read(split, data_home, download),
        split,
        CARD,
        class_names=tuple("0123456789"),
        first_number=0,
        shape=(28, 28),
    )


SET = NamedSet("mnist", load_mnist)
