"""Damaged data files: pictures, archives, arrays, sounds, tables are read, or refused by name."""

from __future__ import annotations

import gzip
import io
import struct
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest
import soundfile
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from scipy.io import wavfile

from dikmeans.datasets import DataError, load
from dikmeans.datasets.files.derived import derived_array
from dikmeans.datasets.files.idx import read_idx
from dikmeans.datasets.files.tree import ZipLimits, open_tree
from dikmeans.datasets.pictures.arrays import load_arrays
from dikmeans.datasets.pictures.decode import DecodeOptions, decode_picture, picture_size
from dikmeans.datasets.pictures.folder import load_folder
from dikmeans.datasets.sounds.read import read_sound
from dikmeans.datasets.sounds.spectrogram import spectrogram_picture
from tests.datasets.published import encoded, idx_bytes, png, write_arabic_tables
from tests.robustness.fuzzing import damaged, fuzz, result_or_refusal

rng = np.random.default_rng(0)
GRAY = rng.integers(0, 256, (7, 9), np.uint8)
COLOR = rng.integers(0, 256, (7, 9, 3), np.uint8)
DEEP = rng.integers(0, 65536, (7, 9), np.uint16)


def _turned() -> bytes:
    exif = Image.Exif()
    exif[0x0112] = 6
    return encoded(Image.fromarray(COLOR), "jpeg", exif=exif)


PICTURES = {
    "gray.png": png(GRAY),
    "deep.png": png(DEEP),
    "clear.png": png(np.dstack([COLOR, GRAY])),
    "turned.jpg": _turned(),
    "color.tiff": encoded(Image.fromarray(COLOR), "tiff"),
    "packed.tiff": encoded(Image.fromarray(DEEP), "tiff", compression="tiff_deflate"),
    "few.gif": encoded(Image.fromarray(GRAY), "gif"),
    "plain.bmp": encoded(Image.fromarray(COLOR), "bmp"),
    "new.webp": encoded(Image.fromarray(COLOR), "webp"),
    "deep.pgm": encoded(Image.fromarray(DEEP), "ppm"),
    "old.ppm": b"P3 2 1 255 1 2 3 4 5 6\n",
}


def is_picture(array):
    return array.dtype == np.float32 and array.min() >= 0 and array.max() <= 1


# -- pictures --------------------------------------------------------------------------------------


@fuzz
@given(data=st.data())
@pytest.mark.parametrize("name", PICTURES)
def test_pictures(name, data):
    content = data.draw(damaged(PICTURES[name]))
    size = result_or_refusal(lambda: picture_size(content, name), DataError, name)
    picture = result_or_refusal(
        lambda: decode_picture(content, name, DecodeOptions((5, 4))), DataError, name
    )
    assert picture is None or (size is not None and is_picture(picture) and picture.shape == (5, 4))


@fuzz
@given(
    content=st.binary(max_size=100),
    start=st.sampled_from([p[:16] for p in PICTURES.values()]),
)
def test_anything_called_a_picture(content, start):
    result_or_refusal(
        lambda: decode_picture(start + content, "x.png", DecodeOptions()), DataError, "x.png"
    )


@fuzz
@given(data=st.data())
def test_folders_of_pictures(data, tmp_path):
    for name, content in PICTURES.items():
        kind = data.draw(st.sampled_from(["whole", "whole", "damaged", "absent"]))
        (tmp_path / name).unlink(missing_ok=True)
        if kind != "absent":
            (tmp_path / name).write_bytes(
                content if kind == "whole" else data.draw(damaged(content, 2))
            )
    with warnings.catch_warnings():
        # which pictures were left out, and that sizes differ
        warnings.simplefilter("ignore", UserWarning)
        images = result_or_refusal(lambda: load_folder(tmp_path, size=16), DataError, tmp_path)
    assert images is None or (is_picture(images.images) and len(images.names) == len(images))


# -- archives --------------------------------------------------------------------------------------


def archive(members, **options) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", **options) as file:
        for name, content in members.items():
            file.writestr(name, content)
    return stream.getvalue()


ARCHIVES = {
    "stored": archive({"a/1.png": PICTURES["gray.png"], "b/2.jpg": PICTURES["turned.jpg"]}),
    "deflated": archive(
        {"a/1.png": PICTURES["gray.png"], "b/2.png": PICTURES["deep.png"]},
        compression=zipfile.ZIP_DEFLATED,
    ),
    "lzma": archive({"1.png": PICTURES["gray.png"]}, compression=zipfile.ZIP_LZMA),
    "bzip2": archive({"1.png": PICTURES["gray.png"]}, compression=zipfile.ZIP_BZIP2),
}


@fuzz
@given(data=st.data())
@pytest.mark.parametrize("kind", ARCHIVES)
def test_archives(kind, data, tmp_path):
    path = tmp_path / "pictures.zip"
    path.write_bytes(data.draw(damaged(ARCHIVES[kind])))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        images = result_or_refusal(lambda: load_folder(path), DataError, path)
    assert images is None or is_picture(images.images)


@fuzz
@given(
    names=st.lists(
        st.text("ab./\\:~\n ", min_size=1, max_size=12).map(lambda name: name + ".png"),
        min_size=1, max_size=4, unique=True,
    )
)  # fmt: skip
def test_names_in_archives_lead_nowhere(names, tmp_path):
    path = tmp_path / "pictures.zip"
    with warnings.catch_warnings():
        # of the writer: a name ends at its first zero byte
        warnings.simplefilter("ignore", UserWarning)
        path.write_bytes(archive(dict.fromkeys(names, PICTURES["gray.png"])))
        images = result_or_refusal(lambda: load_folder(path), DataError, path)
    assert list(tmp_path.iterdir()) == [path]
    assert images is None or not any(".." in Path(name).parts for name in images.names)


def test_bombs_are_refused_before_they_burst(tmp_path):
    path = tmp_path / "bomb.zip"
    path.write_bytes(archive({"1.png": bytes(40_000_000)}, compression=zipfile.ZIP_DEFLATED))
    with open_tree(path, ZipLimits()) as tree:
        assert len(tree.read("1.png")) == 40_000_000
    refused = result_or_refusal(
        lambda: open_tree(path, ZipLimits(member_bytes=1 << 20)), DataError, path
    )
    assert refused is None


# -- arrays ----------------------------------------------------------------------------------------


def npy(array) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def npz(**arrays) -> bytes:
    stream = io.BytesIO()
    np.savez_compressed(stream, **arrays)
    return stream.getvalue()


ARRAYS = {
    "bytes.npy": npy(np.stack([GRAY, GRAY])),
    "floats.npy": npy(np.stack([GRAY, GRAY]) / 255),
    "both.npz": npz(
        images=np.stack([GRAY, GRAY]), labels=np.array(["a", "b"]), names=np.array([b"1", b"2"])
    ),
}


@fuzz
@given(data=st.data())
@pytest.mark.parametrize("name", ARRAYS)
def test_array_files(name, data, tmp_path):
    path = tmp_path / name
    path.write_bytes(data.draw(damaged(ARRAYS[name])))
    images = result_or_refusal(lambda: load_arrays(path), DataError, path)
    assert images is None or is_picture(images.images)


@fuzz
@given(
    shape=st.text("0123456789(),-L eTrue", max_size=30),
    kind=st.sampled_from(["|u1", "<f8", "|O", "<U9", "V8", "<M8[s]"]),
)
@pytest.mark.parametrize("name", ["x.npy", "x.npz"])
def test_array_files_with_other_claims(name, shape, kind, tmp_path):
    shape = shape or "(99999, 9999, 9999)"
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    content = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + bytes(64)
    path = tmp_path / name
    path.write_bytes(content if name == "x.npy" else archive({"images.npy": content}))
    result_or_refusal(lambda: load_arrays(path), DataError, path)


@fuzz
@given(data=st.data())
def test_cached_arrays_that_were_damaged_are_computed_anew(data, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("dikmeans.datasets.files.derived.user_cache", lambda: tmp_path)
    derived_array("x", {}, lambda: GRAY, GRAY.shape)
    (path,) = (tmp_path / "derived").iterdir()
    path.write_bytes(data.draw(damaged(path.read_bytes()) | damaged(ARCHIVES["stored"])))
    found = derived_array("x", {}, lambda: GRAY, GRAY.shape)
    assert found.shape == GRAY.shape
    assert found.dtype == np.uint8


# -- idx files and tables --------------------------------------------------------------------------


IDX = idx_bytes(np.stack([GRAY, GRAY]))


@fuzz
@given(data=st.data())
@pytest.mark.parametrize("content", [IDX, gzip.compress(IDX)], ids=["plain", "gzipped"])
def test_idx_files(content, data, tmp_path):
    path = tmp_path / "images-idx3-ubyte"
    path.write_bytes(data.draw(damaged(content)))
    array = result_or_refusal(lambda: read_idx(path, 3), DataError, path)
    assert array is None or (
        array.ndim == 3 and array.dtype == np.uint8 and not array.flags.writeable
    )


@fuzz
@given(
    lengths=st.tuples(*[st.sampled_from([0, 1, 28, 1000, 60000, 2**31, 2**32 - 1])] * 3),
    zipped=st.booleans(),
)
def test_idx_files_that_claim_any_length(lengths, zipped, tmp_path):
    path = tmp_path / "images-idx3-ubyte"
    content = bytes([0, 0, 8, 3]) + struct.pack(">3I", *lengths) + bytes(100)
    path.write_bytes(gzip.compress(content) if zipped else content)
    result_or_refusal(lambda: read_idx(path, 3), DataError, path)


@fuzz
@given(data=st.data(), table=st.sampled_from(["Images 3360x1024", "Label 3360x1"]))
def test_tables_of_arabic_characters(data, table, tmp_path):
    write_arabic_tables(tmp_path, "test", np.zeros((2, 32, 32), np.uint8), np.array([0, 1]))
    path = tmp_path / "arabic" / f"csvTest{table}.csv"
    path.write_bytes(data.draw(damaged(path.read_bytes())))
    images = result_or_refusal(
        lambda: load("arabic-characters", "test", tmp_path, download=False), DataError
    )
    assert images is None or images.shape == (32, 32)


# -- sounds ----------------------------------------------------------------------------------------


def wav(samples) -> bytes:
    stream = io.BytesIO()
    wavfile.write(stream, 8000, samples)
    return stream.getvalue()


def sound(kind) -> bytes:
    stream = io.BytesIO()
    soundfile.write(stream, rng.uniform(-1, 1, 3000), 8000, format=kind)
    return stream.getvalue()


SOUNDS = {
    "bytes.wav": wav(rng.integers(0, 256, 400).astype(np.uint8)),
    "words.wav": wav(rng.integers(-3000, 3000, (400, 2)).astype(np.int16)),
    "floats.wav": wav(rng.uniform(-1, 1, 400).astype(np.float32)),
    "doubles.wav": wav(rng.uniform(-1, 1, 400)),
    "free.flac": sound("FLAC"),
    "free.ogg": sound("OGG"),
}


@fuzz
@given(data=st.data())
@pytest.mark.parametrize("name", SOUNDS)
def test_sounds(name, data, tmp_path):
    path = tmp_path / name
    path.write_bytes(data.draw(damaged(SOUNDS[name])))
    found = result_or_refusal(lambda: read_sound(path), DataError, path)
    if found is not None:
        signal, rate = found
        assert np.isfinite(signal).all()
        picture = result_or_refusal(lambda: spectrogram_picture(signal, rate), ValueError)
        assert (picture is None) == (len(signal) == 0)
