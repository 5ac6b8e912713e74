"""Options that several commands share: which pictures, and which model."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from dikmeans.cli.console import say
from dikmeans.cli.mistakes import Mistake, values_explained

if TYPE_CHECKING:
    from dikmeans.datasets import ImageSet, Source
    from dikmeans.kmeans import DIKMeans

LARGEST_SIDE = 64
"""Larger pictures of the user's are reduced to this many rows and columns, unless --size says otherwise."""

_PICTURES, _MODEL, _OUTPUT = "Pictures", "Clustering", "Output"


def _sides(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"([1-9]\d{0,4})\s*[x,]\s*([1-9]\d{0,4})", text.strip())
    if match is None:
        raise typer.BadParameter(f"{text!r}: expected rows x columns, such as 28x28.")
    return int(match[1]), int(match[2])


def _landmark_grid(text: str) -> Any:
    return int(text) if text.isdecimal() else _sides(text)


Input = Annotated[
    str,
    typer.Argument(
        metavar="INPUT",
        help="Folder or zip of pictures, array file (.npy, .npz), or data set.",
        show_default=False,
    ),
]
Run = Annotated[
    Path,
    typer.Argument(metavar="RUN", help="Folder written by `dikmeans fit`.", show_default=False),
]
Split = Annotated[
    Literal["train", "test"],
    typer.Option(
        help="Which part, if the input has folders `train` and `test`.", rich_help_panel=_PICTURES
    ),
]
Size = Annotated[
    Any,
    typer.Option(
        parser=_sides,
        metavar="HxW",
        help=f"Bring pictures to this size. Default: their own, at most {LARGEST_SIDE} pixels a side.",
        rich_help_panel=_PICTURES,
    ),
]
Invert = Annotated[
    bool,
    typer.Option(
        "--invert", help="For dark subjects on a light ground.", rich_help_panel=_PICTURES
    ),
]
Colour = Annotated[
    bool, typer.Option("--colour", help="Keep colours; otherwise grey.", rich_help_panel=_PICTURES)
]
Limit = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        help="Take a random part of at most so many pictures.",
        rich_help_panel=_PICTURES,
    ),
]
Warp = Annotated[
    str | None,
    typer.Option(
        metavar="tps|affine|none",
        help="What to be blind to: bending, affine maps, nothing.",
        rich_help_panel=_MODEL,
    ),
]
Landmarks = Annotated[
    Any,
    typer.Option(
        parser=_landmark_grid,
        metavar="N|RxC",
        help="Landmark grid of the bending warps: its side, or rows x columns.",
        rich_help_panel=_MODEL,
    ),
]
Smoothness = Annotated[
    float | None,
    typer.Option(min=0, help="Larger is stiffer, 0 leaves the warps free.", rich_help_panel=_MODEL),
]
Forms = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        help="Pictures a cluster may have. Default: up to 4.",
        rich_help_panel=_MODEL,
    ),
]
Seed = Annotated[
    int, typer.Option(min=0, max=2**32 - 1, help="Of everything random.", rich_help_panel=_MODEL)
]
Jobs = Annotated[
    int | None,
    typer.Option(help="Threads; -1 for all cores. Changes no result.", rich_help_panel=_MODEL),
]
Device = Annotated[
    str | None,
    typer.Option(
        metavar="cuda|cuda:N|cpu",
        help="Align on a device of PyTorch's ([deep]); otherwise by compiled loops.",
        rich_help_panel=_MODEL,
    ),
]
Json = Annotated[
    bool,
    typer.Option("--json", help="Print the result as JSON, for scripts.", rich_help_panel=_OUTPUT),
]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Show no progress.", rich_help_panel=_OUTPUT)
]


def source_of(
    name: str,
    split: str,
    *,
    size: tuple[int, int] | None,
    invert: bool,
    colour: bool,
    limit: int | None,
) -> Source:
    """The pictures a user asks for; options that were not given are left to the data."""
    from dikmeans.datasets import Source

    options: dict[str, Any] = {}
    if size is not None:
        options["size"] = size
    elif not Source.of(name).is_named_set:
        options["largest_side"] = LARGEST_SIDE
    if invert:
        options["invert"] = True
    if colour:
        options["mode"] = "rgb"
    return Source.of(name, split, options=options, limit=limit)


def make_model(n_clusters: int, **parameters: Any) -> DIKMeans:
    """An estimator with the parameters that were given; the others keep its defaults."""
    from dikmeans.kmeans import DIKMeans
    from dikmeans.registration.torch.device import torch_device

    model = DIKMeans(n_clusters, **{name: v for name, v in parameters.items() if v is not None})
    with values_explained():
        model._validate_params()
        if (
            model.device is not None
        ):  # whether it can be had is better known before pictures are read
            torch_device(model.device)
    return model


def load_pictures(source: Source, *, at_least: int, why: str) -> ImageSet:
    """Read pictures; too few of them are a mistake, odd ones get a note."""
    images = source.load()
    if len(images) < at_least:
        raise Mistake(
            f"There are {len(images)} pictures in {source.name}; {why} needs at least {at_least}."
        )
    if images.has_light_background and not source.options.get("invert"):
        say(
            "note: the pictures seem to be dark on a light ground. Clusters usually get better with "
            "--invert, which makes the ground 0."
        )
    return images
