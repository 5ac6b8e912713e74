"""Writes tiny data sets in the formats their publishers use, for the loaders to read back."""

from __future__ import annotations

import csv
import gzip
import io
import struct
import zipfile
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image
from scipy.io import wavfile

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

MNIST_FILES = {
    "train": ("train-images-idx3-ubyte", "train-labels-idx1-ubyte"),
    "test": ("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"),
}


def idx_bytes(array: np.ndarray) -> bytes:
    header = bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape)
    return header + np.ascontiguousarray(array, np.uint8).tobytes()


def write_idx(folder: Path, name: str, array: np.ndarray, zipped: bool = True) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    content = idx_bytes(array)
    path = folder / (f"{name}.gz" if zipped else name)
    path.write_bytes(gzip.compress(content) if zipped else content)
    return path


def write_mnist(home: Path, images: np.ndarray, labels: np.ndarray, zipped: bool = True) -> None:
    """Both parts hold the same images."""
    for image_name, label_name in MNIST_FILES.values():
        write_idx(home / "mnist", image_name, images, zipped)
        write_idx(home / "mnist", label_name, labels, zipped)


def write_emnist(home: Path, split: str, images: np.ndarray, letters: np.ndarray) -> None:
    """Stored transposed, letters numbered from 1."""
    stored = images.transpose(0, 2, 1)
    write_idx(home / "emnist", f"emnist-letters-{split}-images-idx3-ubyte", stored)
    write_idx(home / "emnist", f"emnist-letters-{split}-labels-idx1-ubyte", letters + 1)


def write_arabic_tables(home: Path, split: str, images: np.ndarray, letters: np.ndarray) -> None:
    """One line an image, column by column; letters numbered from 1."""
    part, count = {"train": ("Train", 13440), "test": ("Test", 3360)}[split]
    folder = home / "arabic"
    folder.mkdir(parents=True, exist_ok=True)
    lines = images.transpose(0, 2, 1).reshape(len(images), -1)
    np.savetxt(folder / f"csv{part}Images {count}x1024.csv", lines, "%d", delimiter=",")
    np.savetxt(folder / f"csv{part}Label {count}x1.csv", letters[:, None] + 1, "%d", delimiter=",")


def png(array: np.ndarray, **options: object) -> bytes:
    return encoded(Image.fromarray(array), "png", **options)


def encoded(image: Image.Image, kind: str, **options: object) -> bytes:
    stream = io.BytesIO()
    image.save(stream, kind, **options)
    return stream.getvalue()


def write_zip(path: Path, members: Mapping[str, bytes]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def write_files(folder: Path, members: Mapping[str, bytes]) -> Path:
    for name, content in members.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def tone(hertz: float, seconds: float, rate: int) -> np.ndarray:
    return np.sin(2 * np.pi * hertz * np.arange(round(seconds * rate)) / rate)


def write_spoken_digits(
    home: Path, speakers: Iterable[int], digits: Iterable[int], repetitions: int, rate: int = 48000
) -> None:
    """``data/01/0_01_0.wav``: a tone whose pitch grows with the digit, instead of a word."""
    for speaker in speakers:
        folder = home / "audiomnist" / "data" / f"{speaker:02d}"
        folder.mkdir(parents=True, exist_ok=True)
        for digit in digits:
            for repetition in range(repetitions):
                sound = 0.5 * tone(300 * (digit + 1), 0.3, rate)
                samples = np.round(32767 * sound).astype(np.int16)
                wavfile.write(folder / f"{digit}_{speaker:02d}_{repetition}.wav", rate, samples)


def pointing_name(person: int, series: int, number: int, tilt: int, pan: int) -> str:
    return f"person{person:02d}{series}{number:02d}{tilt:+d}{pan:+d}"


def write_head_poses(home: Path, photograph: np.ndarray, box: tuple[int, int, int, int]) -> None:
    """As published: 15 people, two series, 13 level poses and a tilted one, each JPEG and text."""
    jpeg = encoded(Image.fromarray(photograph), "jpeg", quality=95)
    for person in range(1, 16):
        folder = home / "pointing04" / f"Person{person:02d}"
        folder.mkdir(parents=True)
        for series in (1, 2):
            poses = [(0, pan) for pan in range(-90, 91, 15)] + [(30, 0)]
            for number, (tilt, pan) in enumerate(poses):
                name = pointing_name(person, series, number, tilt, pan)
                (folder / f"{name}.jpg").write_bytes(jpeg)
                numbers = "\n".join(str(number) for number in box)
                (folder / f"{name}.txt").write_text(f"{name}.jpg\n\nFace\n{numbers}\n")


def write_head_pose_copy(
    home: Path, photograph: np.ndarray, box: tuple[int, int, int, int]
) -> None:
    """The compact copy: one zip of level photographs and one table."""
    jpeg = encoded(Image.fromarray(photograph), "jpeg", quality=95)
    names = [
        pointing_name(person, series, number, 0, pan)
        for person in range(1, 16)
        for series in (1, 2)
        for number, pan in enumerate(range(-90, 91, 15))
    ]
    folder = home / "pointing04"
    write_zip(folder / "tilt0.zip", {f"{name}.jpg": jpeg for name in names})
    with open(folder / "index.csv", "w", newline="") as stream:
        table = csv.writer(stream)
        table.writerow(
            ["file", "person", "series", "pan", "face_cx", "face_cy", "face_w", "face_h"]
        )
        table.writerows([f"{name}.jpg", 0, 0, 0, *box] for name in names)
