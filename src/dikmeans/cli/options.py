"""Options that several commands share, and what they select: pictures and a model."""

from __future__ import annotations

import re
import shlex
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import typer

from dikmeans.cli.errors import UsageError

if TYPE_CHECKING:
    from dikmeans._typing import JSON
    from dikmeans.datasets import ImageSet, ImageSource
    from dikmeans.estimator import DIKMeans

picture_option = partial(typer.Option, rich_help_panel="Pictures")
clustering_option = partial(typer.Option, rich_help_panel="Clustering")
output_option = partial(typer.Option, rich_help_panel="Output")


class Grid(NamedTuple):
    """A number of rows and columns, written as 28x28."""

    rows: int
    columns: int

    def __str__(self) -> str:
        return f"{self.rows}x{self.columns}"


def _parse_grid(text: str) -> Grid:
    match = re.fullmatch(r"([1-9]\d{0,4})\s*[x,]\s*([1-9]\d{0,4})", text.strip())
    if match is None:
        raise typer.BadParameter(f"{text!r}: expected rows x columns, such as 28x28.")
    return Grid(int(match[1]), int(match[2]))


class PictureSize(NamedTuple):
    """Pixels on the longer side, written as 64; or rows and columns, written as 48x64."""

    value: int | tuple[int, int]

    def __str__(self) -> str:
        return str(self.value if isinstance(self.value, int) else Grid(*self.value))


def _parse_size(text: str) -> PictureSize:
    if re.fullmatch(r"[1-9]\d{0,4}", text.strip()):
        return PictureSize(int(text))
    rows, columns = _parse_grid(text)
    return PictureSize((rows, columns))


def _parse_landmarks(text: str) -> Grid:
    return _parse_grid(f"{text}x{text}" if text.isdecimal() else text)


def _parse_device(text: str) -> str:
    if not re.fullmatch(r"cpu|cuda(:\d+)?", text):
        raise typer.BadParameter(f"{text!r}: expected cuda, cuda:N or cpu.")
    return text


def _parse_outliers(text: str) -> float | str:
    if text == "auto":
        return text
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is neither auto nor a share such as 0.05.") from None


def _parse_jobs(text: str) -> int:
    if not re.fullmatch(r"-?[1-9]\d*", text):
        raise typer.BadParameter(f"{text!r}: expected a number of threads, or -1 for all cores.")
    return int(text)


Input = Annotated[
    str,
    typer.Argument(
        metavar="INPUT",
        help="Folder or zip of pictures or sounds, array file (.npy, .npz), or data set.",
        show_default=False,
    ),
]
Run = Annotated[
    Path,
    typer.Argument(metavar="RUN", help="Folder written by `dikmeans fit`.", show_default=False),
]
Split = Annotated[
    Literal["train", "test"],
    picture_option(help="Which part, if the input has folders `train` and `test`."),
]
Size = Annotated[
    PictureSize | None,
    picture_option(
        parser=_parse_size,
        metavar="N|RxC",
        help="Size of the pictures: pixels on the longer side, or rows x columns. Default: as few "
        "as leave 97.5 % of the detail, at most 128.",
    ),
]
Stretch = Annotated[
    bool,
    picture_option(
        "--stretch", help="Stretch pictures to one shape. Default: pad them with their ground."
    ),
]
Invert = Annotated[bool, picture_option("--invert", help="Swap dark and light; rarely needed.")]
Color = Annotated[
    bool | None,
    picture_option(
        "--color/--gray", help="Keep colors, or not. Default: if there are any.", show_default=False
    ),
]
LabelsOption = Annotated[
    str,
    picture_option(
        "--labels",
        metavar="folders|none|FILE",
        help="What to compare clusters with: the folders, nothing, or a CSV file with the columns "
        "file and label. Default: the folders, if every file is in one.",
        show_default=False,
    ),
]
Limit = Annotated[
    int | None, picture_option(min=1, metavar="N", help="Use a random part of at most N pictures.")
]
Preprocessing = Annotated[
    Literal[
        "auto",
        "none",
        "unit-norm",
        "background",
        "centering",
        "size-normalization",
        "local-contrast",
        "whitening",
        "subject-centering",
        "band-whitening",
    ],
    clustering_option(
        metavar="NAME",
        help="What is done to every picture first: auto, none, unit-norm, background, centering, "
        "size-normalization, local-contrast, whitening, subject-centering or band-whitening (for "
        "sounds).",
    ),
]
Intensity = Annotated[
    Literal["auto", "fixed", "affine"],
    clustering_option(
        help="Light and contrast of pictures: as they are (fixed), or solved for (affine).",
    ),
]
Orientation = Annotated[
    Literal["upright", "any", "any-mirrored"],
    clustering_option(
        help="How pictures lie: upright, turned by any angle, or turned and mirrored.",
    ),
]
Warp = Annotated[
    Literal["tps", "affine", "none"] | None,
    clustering_option(
        help="Invariance: to smooth deformations (tps), to affine maps, or none.",
        show_default="tps",
    ),
]
Landmarks = Annotated[
    Grid | None,
    clustering_option(
        parser=_parse_landmarks,
        metavar="N|RxC",
        help="Landmark grid of the deformations: its side, or rows x columns.",
    ),
]
Smoothness = Annotated[
    float | None,
    clustering_option(min=0, metavar="NUMBER", help="Larger is stiffer, 0 leaves warps free."),
]
Prototypes = Annotated[
    int | None,
    clustering_option(
        min=1, metavar="N", help="Prototypes per cluster, at most. Default: up to 4."
    ),
]
Outliers = Annotated[
    float | None,
    clustering_option(
        parser=_parse_outliers,
        metavar="auto|SHARE",
        help="Let pictures belong to no cluster: those that fit far worse than is usual, or a "
        "share such as 0.05. They get cluster -1. Default: none.",
        show_default=False,
    ),
]
Seed = Annotated[
    int, clustering_option(min=0, max=2**32 - 1, metavar="N", help="Of everything random.")
]
Jobs = Annotated[
    int | None,
    clustering_option(
        parser=_parse_jobs,
        metavar="N",
        help="Threads; -1 for all cores. Does not change the result.",
    ),
]
Device = Annotated[
    str | None,
    clustering_option(
        parser=_parse_device,
        metavar="cuda|cuda:N|cpu",
        # The bracket is escaped: help is rendered as rich markup.
        help=r"Align with PyTorch on this device (needs dikmeans\[deep]).",
    ),
]
Json = Annotated[bool, output_option("--json", help="Print the result as JSON, for scripts.")]
Quiet = Annotated[bool, output_option("--quiet", "-q", help="Show no progress.")]


class PictureOptions(NamedTuple):
    """How pictures are read, as the options of that panel say."""

    split: Literal["train", "test"] = "train"
    size: PictureSize | None = None
    stretch: bool = False
    invert: bool = False
    color: bool | None = None

    def source(self, name: str, labels: str, limit: int | None = None) -> ImageSource:
        """The pictures that the options select; what they leave open is left to the data."""
        from dikmeans.datasets import ImageSource

        options: JSON = {}
        if self.size is not None:
            options["size"] = self.size.value
        if self.stretch:
            options["stretch"] = True
        if self.invert:
            options["invert"] = True
        if self.color is not None:
            options["color"] = self.color
        if labels != "auto":
            is_file = labels not in ("folders", "none")
            options["labels"] = str(Path(labels).expanduser().absolute()) if is_file else labels
        return ImageSource.resolve(name, self.split, options=options, limit=limit)

    def words(self) -> JSON:
        """The options that differ from their defaults, for `command_words`."""
        return {
            "split": None if self.split == "train" else self.split,
            "size": self.size,
            "stretch": self.stretch,
            "invert": self.invert,
            "color": self.color is True,
            "gray": self.color is False,
        }


def make_model(
    n_clusters: int, *, preprocessing: str, device: str | None = None, **parameters: object
) -> DIKMeans:
    """An estimator with these parameters; those that are None keep its defaults."""
    from dikmeans.estimator import DIKMeans
    from dikmeans.registration.solvers import QuasiNewton

    model = DIKMeans(n_clusters, preprocessing=None if preprocessing == "none" else preprocessing)
    if device is not None:
        _check_device(device)
        model.set_params(solver=QuasiNewton(device=device))
    model.set_params(**{name: value for name, value in parameters.items() if value is not None})
    return model


def _check_device(device: str) -> None:
    """Raise an error if a device cannot be used, before pictures are read."""
    from dikmeans.errors import MissingExtraError
    from dikmeans.registration.torch.device import torch_device

    try:
        torch_device(device)
    except MissingExtraError as error:
        raise MissingExtraError(error.library, error.extra, f"--device {device}") from error


def load_pictures(source: ImageSource, model: DIKMeans, *, at_least: int, purpose: str) -> ImageSet:
    """Load the pictures; `UsageError` if there are fewer than `purpose` needs.

    Preprocessing that was left open is set to what suits them.
    """
    images = source.load()
    if model.preprocessing == "auto":
        model.set_params(preprocessing=images.preprocessing)
    if len(images) < at_least:
        raise UsageError(
            f"{source.name} has {len(images)} {images.kind}{'s' if len(images) != 1 else ''}; "
            f"{purpose} needs at least {at_least}."
        )
    return images


def command_words(command: str, /, *arguments: str, **options: object) -> str:
    """A command line that the user can copy; options that are None or False are left out.

    Examples
    --------
    >>> command_words("fit", "my photos", "-k", "3", size=Grid(28, 28), invert=True, seed=None)
    "dikmeans fit 'my photos' -k 3 --size 28x28 --invert"
    """
    words = ["dikmeans", command, *arguments]
    for name, value in options.items():
        if value is not None and value is not False:
            words += [f"--{name}"] if value is True else [f"--{name}", str(value)]
    return shlex.join(words)
