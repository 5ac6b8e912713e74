"""What fuzzing found in the readers of data, one test per find."""

from __future__ import annotations

import io
import json
import struct
import zipfile

import numpy as np
import pytest
import soundfile
from PIL import Image
from scipy.io import wavfile

from dikmeans.datasets import CorruptFileError, DataError, load
from dikmeans.datasets.files.derived import derived_array
from dikmeans.datasets.files.idx import read_idx
from dikmeans.datasets.pictures.arrays import load_arrays
from dikmeans.datasets.pictures.decode import DecodeOptions, decode_picture
from dikmeans.datasets.sounds.read import read_sound
from dikmeans.paper.errors import ReproductionFileError
from dikmeans.paper.protocol.results_file import read_results
from tests.datasets.published import encoded, png, write_head_pose_copy
from tests.paper.toy_data import invented_run
from tests.robustness.fuzzing import result_or_refusal

GRAY = np.arange(12, dtype=np.uint8).reshape(3, 4)


def npy_claiming(shape: str) -> bytes:
    header = f"{{'descr': '|u1', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + bytes(64)


def test_a_picture_that_a_program_would_have_to_draw_is_refused():
    postscript = encoded(Image.fromarray(GRAY), "eps")
    with pytest.raises(CorruptFileError, match=r"x\.png .*format is not known"):
        decode_picture(postscript, "x.png", DecodeOptions())


def test_a_part_larger_than_the_picture_is_refused():
    with pytest.raises(CorruptFileError, match=r"x\.png .*a part of 1000000000x3 .*3x4 pixels"):
        decode_picture(png(GRAY), "x.png", DecodeOptions(), (0, 0, 10**9, 3))


def test_an_array_in_an_archive_is_not_larger_than_its_bytes(tmp_path):
    path = tmp_path / "x.npz"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("images.npy", npy_claiming("(99999, 9999, 9999)"))
    with pytest.raises(CorruptFileError, match=r"x\.npz .*promises 9,997,900"):
        load_arrays(path)


def test_numbers_beyond_single_precision_are_refused_as_such(tmp_path):
    np.save(tmp_path / "x.npy", np.full((2, 3, 3), 1e300))
    with pytest.raises(CorruptFileError, match="values from 1e\\+300 to 1e\\+300"):
        load_arrays(tmp_path / "x.npy")


@pytest.mark.parametrize("damage", [npy_claiming("(99999, 9999, 9999)"), None, b"", b"\x80\x04."])
def test_a_cache_that_holds_something_else_is_computed_anew(damage, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    derived_array("x", {}, lambda: GRAY, GRAY.shape)
    (path,) = (tmp_path / "dikmeans" / "derived").iterdir()
    if damage is None:
        with zipfile.ZipFile(path, "w") as file:
            file.writestr("x", "not an array")
    else:
        path.write_bytes(damage)
    np.testing.assert_array_equal(derived_array("x", {}, lambda: GRAY, GRAY.shape), GRAY)


def test_an_idx_file_takes_no_more_memory_than_it_is_long(tmp_path):
    path = tmp_path / "images"
    path.write_bytes(bytes([0, 0, 8, 3]) + struct.pack(">3I", 2000, 1000, 1000) + bytes(100))
    assert result_or_refusal(lambda: read_idx(path, 3), CorruptFileError, path) is None
    with pytest.raises(
        CorruptFileError, match="cut short: its header promises 2,000,000,000 bytes"
    ):
        read_idx(path, 3)


@pytest.mark.parametrize(
    "samples", [np.array([0, np.nan]), np.array([np.inf, 0]), np.array([0, 1e300])]
)
def test_sounds_that_are_no_numbers_are_refused(samples, tmp_path):
    wavfile.write(tmp_path / "x.wav", 8000, samples)
    with pytest.raises(CorruptFileError, match=r"x\.wav has samples that are NaN, infinite"):
        read_sound(tmp_path / "x.wav")


@pytest.mark.parametrize("rate", [0, 2**30])
def test_rates_that_no_sound_has_are_refused(rate, tmp_path):
    stream = io.BytesIO()
    wavfile.write(stream, 8000, np.zeros(100, np.int16))
    content = bytearray(stream.getvalue())
    content[24:32] = struct.pack("<2I", rate, 2 * rate)
    (tmp_path / "x.wav").write_bytes(content)
    with pytest.raises(CorruptFileError, match=r"x\.wav claims .* samples per second"):
        read_sound(tmp_path / "x.wav")


def audio_copy(home, index: bytes) -> None:
    folder = home / "audiomnist"
    folder.mkdir()
    soundfile.write(folder / "speaker01.ogg", np.zeros(4000), 8000, format="OGG")
    (folder / "index.csv").write_bytes(b"speaker,digit,rep,start,length\n" + index)


@pytest.mark.parametrize(
    ("index", "message"),
    [
        (b"1,12,0,0,4000\n", "line 2.* a digit from 0 to 9"),
        (b"1,2,0,-9,4000\n", "line 2.* no negative numbers"),
        (b"1,2,0,0,\xff\n", "cannot be read as a table"),
        (b'1,2,0,0,"' + b"9" * 200_000 + b'"\n', "cannot be read as a table"),
    ],
    ids=["digit", "negative", "bytes", "long"],
)
def test_a_table_of_recordings_is_refused_by_name_and_line(index, message, tmp_path):
    audio_copy(tmp_path, index)
    with pytest.raises(CorruptFileError, match=f"index.csv.*{message}"):
        load("audio-mnist", "train", tmp_path, speakers=[1])


@pytest.mark.parametrize(
    "change",
    [(b"face_h", b"face_x"), (b"person01", b"\xff\xfe"), (b",9,9,2,2", b",9,9,2,99999999")],
)
def test_a_table_of_faces_is_refused_by_name(change, tmp_path):
    write_head_pose_copy(tmp_path, np.zeros((18, 18, 3), np.uint8), (9, 9, 2, 2))
    index = tmp_path / "pointing04" / "index.csv"
    index.write_bytes(index.read_bytes().replace(*change))
    with pytest.raises(
        DataError, match=r"index\.csv|cannot be read as a picture: a part of 99999999x2"
    ):
        load("face-pose", "test", tmp_path, face_box=True)


@pytest.mark.parametrize(
    "change",
    [
        {"test": 5},
        {"test": {"accuracy": 1.0}},
        {"seed": "one"},
        {"n_jobs": True},
        {"parameters": [1]},
        {"cpus": "deep"},
    ],
)
def test_a_record_with_entries_of_the_wrong_kind_is_refused(change, tmp_path):
    line = json.dumps({**json.loads(invented_run(0).to_line()), **change})
    path = tmp_path / "runs.jsonl"
    path.write_text(line.replace('"deep"', "[" * 3000 + "]" * 3000) + "\n")
    with pytest.raises(ReproductionFileError, match=r"runs\.jsonl is not a results file: line 1"):
        read_results(path)
