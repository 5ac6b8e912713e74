import numpy as np
import pytest
from sklearn.datasets import load_sample_image

from dikmeans.datasets import CorruptFileError, MissingDataError, load
from tests.datasets.published import (
    png,
    write_files,
    write_head_pose_copy,
    write_head_poses,
    write_zip,
)

GESTURES = ("rock", "paper", "scissors")


def hand(fingers):
    """A dark hand on white, rising from the lower edge: as many stripes as fingers."""
    picture = np.full((300, 300, 3), 255, np.uint8)
    for finger in range(fingers):
        picture[150:, 40 * finger + 60 : 40 * finger + 80] = 90
    return png(picture)


HANDS = {"rock": hand(1), "paper": hand(5), "scissors": hand(2)}


def published_hands(split):
    archive = {"train": "rps", "test": "rps-test-set"}[split]
    members = {f"{archive}/{g}/{g}{n:02d}.png": HANDS[g] for g in sorted(GESTURES) for n in (1, 2)}
    return archive, members | {"__MACOSX/rps/._rock": b"", f"{archive}/readme.txt": b""}


@pytest.fixture(params=["zip", "folder", "one zip per gesture"])
def hands_home(request, tmp_path):
    folder = tmp_path / "rps"
    for split in ("train", "test"):
        archive, members = published_hands(split)
        if request.param == "zip":
            write_zip(folder / f"{archive}.zip", members)
        elif request.param == "folder":
            write_files(folder, members)
        else:
            for g in GESTURES:
                names = {f"{split}/{g}/{g}{n:02d}.png": HANDS[g] for n in (1, 2)}
                write_zip(folder / f"{split}_{g}.zip", names)
    return tmp_path


@pytest.mark.parametrize("split", ["train", "test"])
def test_hands_are_gray_on_zero_whatever_the_layout(hands_home, split):
    images = load("rock-paper-scissors", split, hands_home)
    assert images.images.shape == (6, 48, 48)
    assert images.class_names == GESTURES
    assert images.labels.tolist() == [0, 0, 1, 1, 2, 2]
    assert images.names == tuple(f"{g}/{g}{n:02d}.png" for g in GESTURES for n in (1, 2))
    assert images.images[:, 0].max() == 0  # the white background, at the top
    assert images.images[:, -1].max() == pytest.approx(1 - 90 / 255, abs=0.01)


def test_hands_come_in_any_size_and_uninverted_if_asked(hands_home):
    images = load("rock-paper-scissors", "test", hands_home, size=(20, 30), invert=False)
    assert images.shape == (20, 30)
    assert images.images[:, 0].min() == 1
    assert "20x30" in images.card.processing


def test_an_archive_without_gestures_is_refused(tmp_path):
    write_zip(tmp_path / "rps" / "rps.zip", {"cats/1.png": HANDS["rock"]})
    with pytest.raises(
        CorruptFileError, match="no train pictures in folders called rock, paper, scissors"
    ):
        load("rock-paper-scissors", "train", tmp_path)


def test_a_damaged_hand_is_named(tmp_path):
    write_zip(tmp_path / "rps" / "rps.zip", {"rps/rock/rock01.png": b"broken"})
    with pytest.raises(CorruptFileError, match=r"rock01\.png cannot be read"):
        load("rock-paper-scissors", "train", tmp_path)


BOX = (150, 120, 100, 80)  # center x, center y, width, height


@pytest.fixture(scope="module")
def photograph():
    """A real photograph, cut to the size of the head poses."""
    return load_sample_image("flower.jpg")[:288, :384]


@pytest.fixture(scope="module", params=[write_head_poses, write_head_pose_copy])
def faces_home(request, photograph, tmp_path_factory):
    home = tmp_path_factory.mktemp("faces")
    request.param(home, photograph, BOX)
    return home


def test_the_level_head_poses_are_split_as_documented(faces_home):
    train, test = (load("face-pose", split, faces_home) for split in ("train", "test"))
    assert (len(train), len(test)) == (273, 117)
    assert np.bincount(train.labels).tolist() == [21] * 13
    assert np.bincount(test.labels).tolist() == [9] * 13
    assert train.class_names[0] == "-90"
    assert train.class_names[5:8] == ("-15", "0", "+15")
    assert {name[6:9] for name in train.names if name[6:8] == "11"} == {"111"}
    assert {name[6:8] for name in test.names} == {"11", "12", "13", "14", "15"}
    assert train.names[0].endswith("+0-90.jpg")
    assert train.labels[0] == 0


def test_frames_are_full_by_default_and_faces_cut_out_on_request(faces_home, photograph):
    gray = photograph @ [0.299, 0.587, 0.114] / 255
    frames = load("face-pose", "test", faces_home)
    assert frames.shape == (36, 48)
    blocks = gray.reshape(36, 8, 48, 8).mean(axis=(1, 3))
    assert np.abs(frames.images[0] - blocks).mean() < 0.02
    faces = load("face-pose", "test", faces_home, face_box=True)
    assert faces.shape == (40, 40)
    face = gray[80:160, 100:200].reshape(40, 2, 100).mean(axis=1)
    assert np.abs(faces.images[0].mean(axis=1) - face.mean(axis=1)).max() < 0.02


def test_faces_come_in_any_size(faces_home):
    assert load("face-pose", "test", faces_home, size=(18, 24)).shape == (18, 24)


def test_the_front_folder_of_the_release_is_not_counted_twice(tmp_path, photograph):
    write_head_poses(tmp_path, photograph, BOX)
    people = tmp_path / "pointing04"
    source = next((people / "Person01").glob("*+0+0.jpg"))
    write_files(people, {f"Front/{source.name.replace('person', 'personne')}": source.read_bytes()})
    assert len(load("face-pose", "train", tmp_path)) == 273


def test_a_face_without_a_box_is_an_error(tmp_path, photograph):
    write_head_poses(tmp_path, photograph, BOX)
    text = next((tmp_path / "pointing04" / "Person15").glob("person15*+0+0.txt"))
    text.write_text("Face\n1\n2\n")
    with pytest.raises(CorruptFileError, match="must give the face as four whole numbers"):
        load("face-pose", "test", tmp_path, face_box=True)
    text.unlink()
    with pytest.raises(MissingDataError, match=r"face_box=False"):
        load("face-pose", "test", tmp_path, face_box=True)


@pytest.mark.parametrize("name", ["rock-paper-scissors", "face-pose"])
def test_a_missing_set_says_which_files_to_put_where(tmp_path, name):
    with pytest.raises(MissingDataError, match=r"Get the files from http.*\n  - "):
        load(name, "test", tmp_path, download=False)
