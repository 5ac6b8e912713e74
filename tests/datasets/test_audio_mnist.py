import csv
import logging
import os

import numpy as np
import pytest
import soundfile

from dikmeans.datasets import CorruptFileError, MissingDataError, load
from dikmeans.datasets.files.paths import user_cache
from dikmeans.datasets.sets import audio_mnist
from tests.datasets.published import tone, write_spoken_digits


@pytest.fixture
def home(tmp_path):
    """Two speakers of each part, three digits, two repetitions of each."""
    write_spoken_digits(tmp_path, speakers=(1, 2, 41, 60), digits=(0, 4, 9), repetitions=2)
    return tmp_path


def write_index(
    home, rows, rate=16000, columns=("speaker", "digit", "rep", "start", "length", "peak")
):
    """The compact copy for speaker 1: one ogg with tones one after another."""
    folder = home / "audiomnist"
    folder.mkdir()
    sounds = [0.5 * tone(300 * (digit + 1), 0.3, rate) for digit in (0, 4, 9)]
    soundfile.write(folder / "speaker01.ogg", np.concatenate(sounds), rate, format="OGG")
    with open(folder / "index.csv", "w", newline="") as stream:
        table = csv.writer(stream)
        table.writerow(columns)
        table.writerows(rows)


INDEX = [("01", digit, 0, 4800 * n, 4800, 0.5) for n, digit in enumerate((0, 4, 9))]


def test_the_published_folder_is_read_by_speaker_digit_and_repetition(home):
    images = load("audio-mnist", "train", home, speakers=(1, 2))
    assert images.images.shape == (12, 24, 64)
    assert images.images.dtype == np.float32
    assert images.labels.tolist() == [0, 0, 4, 4, 9, 9] * 2
    assert images.names[:3] == ("0_01_0", "0_01_1", "4_01_0")
    rows = images.images.mean(axis=2).argmax(axis=1)
    assert rows[0] > rows[2] > rows[4]  # the higher the tone, the higher up


def test_the_compact_copy_gives_nearly_the_same_pictures(home, tmp_path_factory):
    copy = tmp_path_factory.mktemp("copy")
    write_index(copy, INDEX)
    compact = load("audio-mnist", "train", copy, speakers=[1])
    published = load("audio-mnist", "train", home, speakers=[1]).subset([0, 2, 4])
    assert compact.names == published.names
    assert compact.labels.tolist() == published.labels.tolist()
    # One is MP3-like lossy, the other 48 kHz: the tone is the same, the noise below it is not.
    for a, b in zip(compact.images, published.images, strict=True):
        assert np.array_equal(a.argmax(axis=0)[3:-3], b.argmax(axis=0)[3:-3])


def test_no_speaker_is_in_both_splits():
    assert not set(audio_mnist.SPEAKERS["train"]) & set(audio_mnist.SPEAKERS["test"])
    assert [len(audio_mnist.SPEAKERS[split]) * 500 for split in ("train", "test")] == [
        20_000,
        10_000,
    ]


@pytest.mark.parametrize("speakers", [[41], [0], []])
def test_speakers_must_be_of_the_split(home, speakers):
    with pytest.raises(ValueError, match=r"speakers must be among 1\.\.40"):
        load("audio-mnist", "train", home, speakers=speakers)


def test_absent_speakers_are_named(home):
    with pytest.raises(MissingDataError, match=r"no recordings of speaker\(s\) 3, 4, 5.*speakers="):
        load("audio-mnist", "train", home)


def test_a_missing_set_says_where_to_get_it(tmp_path):
    with pytest.raises(MissingDataError, match=r"github\.com/soerenab/AudioMNIST(.|\n)*data/01"):
        load("audio-mnist", "train", tmp_path)


def test_pictures_are_computed_once_and_kept(home, monkeypatch):
    first = load("audio-mnist", "test", home, speakers=[41])
    monkeypatch.setattr(audio_mnist, "spectrogram_picture", None)
    again = load("audio-mnist", "test", home, speakers=[41])
    assert (first.images == again.images).all()
    assert [p.suffix for p in (user_cache() / "derived").iterdir()] == [".npy"]


def test_other_parameters_versions_or_recordings_are_computed_anew(home, monkeypatch):
    first = load("audio-mnist", "test", home, speakers=[41])
    other = load("audio-mnist", "test", home, speakers=[41], size=(12, 32))
    assert other.shape == (12, 32)
    assert (
        load("audio-mnist", "test", home, speakers=[41], duration=1.0).images.mean()
        < first.images.mean()
    )
    load("audio-mnist", "test", home, speakers=[41], trim=False)
    monkeypatch.setattr(audio_mnist, "TRANSFORM_VERSION", -1)
    load("audio-mnist", "test", home, speakers=[41])
    os.utime(home / "audiomnist" / "data" / "41" / "0_41_0.wav", (1, 1))
    load("audio-mnist", "test", home, speakers=[41])
    assert len(list((user_cache() / "derived").iterdir())) == 6


@pytest.mark.parametrize("damage", [b"", b"not an array", None])
def test_a_damaged_cache_is_computed_anew(home, damage, caplog):
    first = load("audio-mnist", "test", home, speakers=[41])
    (cached,) = (user_cache() / "derived").iterdir()
    if damage is None:
        np.save(cached, np.zeros((2, 2)))
    else:
        cached.write_bytes(damage)
    with caplog.at_level(logging.WARNING):
        again = load("audio-mnist", "test", home, speakers=[41])
    assert (first.images == again.images).all()
    assert "computing anew" in caplog.text


def test_a_pickle_in_the_cache_is_not_opened(home):
    first = load("audio-mnist", "test", home, speakers=[41])
    (cached,) = (user_cache() / "derived").iterdir()
    np.save(cached, np.array([{"an": "object"}], dtype=object), allow_pickle=True)
    assert (load("audio-mnist", "test", home, speakers=[41]).images == first.images).all()


def test_a_cache_that_cannot_be_written_is_ignored(home, caplog):
    user_cache().parent.mkdir(parents=True, exist_ok=True)
    user_cache().write_text("a file where a folder should be")
    with caplog.at_level(logging.WARNING):
        assert len(load("audio-mnist", "test", home, speakers=[41])) == 6
    assert "going on without" in caplog.text


def test_a_damaged_recording_is_named(home):
    (home / "audiomnist" / "data" / "41" / "4_41_1.wav").write_bytes(b"RIFF")
    with pytest.raises(CorruptFileError, match=r"4_41_1\.wav cannot be read"):
        load("audio-mnist", "test", home, speakers=[41])


@pytest.mark.parametrize(
    ("rows", "columns", "message"),
    [
        ([("01", 0, 0, 0, 10**9, 0)], None, r"speaker01\.ogg has 14,400 samples"),
        ([("01", 0, 0, "a", 1, 0)], None, "line 2, must have whole numbers"),
        ([("01", 0)], ("speaker", "digit"), "it lacks rep, start, length"),
    ],
)
def test_a_damaged_index_is_refused(tmp_path, rows, columns, message):
    write_index(tmp_path, rows, **({"columns": columns} if columns else {}))
    with pytest.raises(CorruptFileError, match=message):
        load("audio-mnist", "train", tmp_path, speakers=[1])
