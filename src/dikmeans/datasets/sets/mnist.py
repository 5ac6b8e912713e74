"""MNIST: 70,000 handwritten digits of 28x28."""

from __future__ import annotations

from dikmeans.datasets.files.download import RemoteFile
from dikmeans.datasets.imageset import Card
from dikmeans.datasets.sets.characters import CharacterDataset, idx_layout
from dikmeans.datasets.sets.published import PublishedFiles

CARD = Card(
    title="MNIST",
    source="Y. LeCun, C. Cortes, C. Burges, http://yann.lecun.com/exdb/mnist/",
    citation="Y. LeCun, L. Bottou, Y. Bengio, P. Haffner. Gradient-based learning applied to "
    "document recognition. Proceedings of the IEEE 86(11), 1998.",
    size="60,000 training and 10,000 test images of 28x28, 10 digits",
    processing="bytes scaled to [0, 1]",
)

_NAMES = {
    "train": ("train-images-idx3-ubyte", "train-labels-idx1-ubyte"),
    "test": ("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"),
}
_CHECKSUMS = {
    "train-images-idx3-ubyte": "md5:f68b3c2dcbeaaa9fbdd348bbdeb94873",
    "train-labels-idx1-ubyte": "md5:d53e105ee54ea40749a09fcbcd1e9432",
    "t10k-images-idx3-ubyte": "md5:9fb629c4189551a2d022fa330f9573f3",
    "t10k-labels-idx1-ubyte": "md5:ec29112dd5afa0611ce80d1b7f02629c",
}
_MIRROR = "https://ossci-datasets.s3.amazonaws.com/mnist/"

FILES = PublishedFiles(
    folder="mnist",
    layouts=(idx_layout("the published idx files, gzipped or not", _NAMES),),
    homepage=_MIRROR,
    remotes={
        split: tuple(
            RemoteFile(f"{name}.gz", f"{_MIRROR}{name}.gz", _CHECKSUMS[name]) for name in names
        )
        for split, names in _NAMES.items()
    },
)

load_mnist = CharacterDataset(
    CARD, FILES, class_names=tuple("0123456789"), first_number=0, shape=(28, 28)
)
