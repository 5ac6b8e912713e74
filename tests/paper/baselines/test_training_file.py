"""Checkpoints: an interrupted training ends as an uninterrupted one; others are refused."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from dikmeans.io.tensor_file import TensorFileError
from dikmeans.paper.baselines import DEC, AutoencoderKMeans, VaDE
from dikmeans.paper.baselines.pretraining import Pretraining
from dikmeans.paper.baselines.refinement import Refinement
from dikmeans.paper.baselines.training_file import TrainingFile
from tests.paper.baselines.baseline_fits import ARCHITECTURES, BASELINES, small
from tests.paper.baselines.tensor_headers import header_of, rewrite


class Killed(BaseException):
    """Stands for whatever ends a process."""


def assert_same(result, expected, images) -> None:
    """The same fit, to the last bit; only the clock may differ."""
    np.testing.assert_array_equal(result.transform(images), expected.transform(images))
    np.testing.assert_array_equal(result.labels_, expected.labels_)
    assert result.inertia_ == expected.inertia_
    assert [(e.phase, e.objective, e.moved) for e in result.history_] == [
        (e.phase, e.objective, e.moved) for e in expected.history_
    ]
    weights = expected.network_.state_dict()
    for name, value in result.network_.state_dict().items():
        np.testing.assert_array_equal(value.numpy(), weights[name].numpy(), err_msg=name)


@pytest.mark.parametrize("baseline", BASELINES)
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_training_interrupted_after_every_epoch_ends_the_same(
    baseline, architecture, three_shapes, tmp_path, monkeypatch
):
    images = three_shapes[0]
    settings = {"architecture": architecture, "corruption": 0.2, "batch_size": 32}
    expected = small(baseline, **settings).fit(images)
    write = TrainingFile.write

    def write_and_die(self, training, phase):
        write(self, training, phase)
        raise Killed

    path = tmp_path / "checkpoint"
    with monkeypatch.context() as patch:
        patch.setattr(TrainingFile, "write", write_and_die)
        for _ in range(expected.n_iter_):
            with pytest.raises(Killed):
                small(baseline, **settings).fit(images, checkpoint=path)
    assert_same(small(baseline, **settings).fit(images, checkpoint=path), expected, images)


CHILD = """
import sys
import numpy as np
sys.path.insert(0, sys.argv[3])
from tests.paper.baselines.baseline_fits import small
from dikmeans.paper.baselines import DEC
images = np.load(sys.argv[1])
small(DEC, max_updates=30, verbose=1).fit(images, checkpoint=sys.argv[2])
"""


def test_a_killed_process_is_continued_by_another_to_the_same_result(three_shapes, tmp_path):
    images = three_shapes[0]
    np.save(tmp_path / "images.npy", images)
    path = tmp_path / "checkpoint"
    arguments = [str(tmp_path / "images.npy"), str(path), str(Path(__file__).parents[3])]
    with subprocess.Popen(
        [sys.executable, "-c", CHILD, *arguments], stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        refined = 0
        for line in process.stderr:
            refined += "refinement" in line
            if refined == 3:
                process.kill()
                break
    assert process.returncode not in (0, None)
    assert 5 <= len(header_of(path)["history"]) < 32  # it was neither too early nor too late

    continued = small(DEC, max_updates=30).fit(images, checkpoint=path)
    assert_same(continued, small(DEC, max_updates=30).fit(images), images)


def test_a_complete_checkpoint_is_only_read(three_shapes, tmp_path, monkeypatch):
    images, path = three_shapes[0], tmp_path / "checkpoint"
    first = small(VaDE).fit(images, checkpoint=path)
    monkeypatch.setattr(TrainingFile, "write", None)
    assert_same(small(VaDE).fit(images, checkpoint=path), first, images)


def test_a_fit_with_checkpoint_equals_one_without(three_shapes, tmp_path):
    images = three_shapes[0]
    kept = small(DEC).fit(images, checkpoint=tmp_path / "checkpoint")
    assert_same(kept, small(DEC).fit(images), images)
    assert [p.name for p in tmp_path.iterdir()] == ["checkpoint"]


def test_the_seed_and_the_chosen_learning_rate_survive(three_shapes, tmp_path, monkeypatch):
    images, path = three_shapes[0][::3], tmp_path / "checkpoint"
    settings = {"random_state": None, "learning_rate": "auto"}
    first = small(AutoencoderKMeans, **settings).fit(images, checkpoint=path)
    monkeypatch.setattr("dikmeans.paper.baselines.deep_clusterer.choose_learning_rate", None)
    again = small(AutoencoderKMeans, **settings).fit(images, checkpoint=path)
    assert again.learning_rate_ == first.learning_rate_
    assert_same(again, first, images)


def test_verbosity_and_threads_may_change_on_the_way(three_shapes, tmp_path):
    path = tmp_path / "checkpoint"
    small(AutoencoderKMeans).fit(three_shapes[0], checkpoint=path)
    small(AutoencoderKMeans, n_threads=2, device="auto").fit(three_shapes[0], checkpoint=path)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_models_share_a_pretraining_and_end_as_if_each_had_its_own(
    architecture, three_shapes, tmp_path, monkeypatch
):
    images, shared = three_shapes[0], tmp_path / "pretraining"
    settings = {"architecture": architecture, "batch_size": 32}
    first = small(AutoencoderKMeans, **settings).fit(images, pretraining=shared)
    alone = small(DEC, **settings).fit(images)
    assert_same(first, small(AutoencoderKMeans, **settings).fit(images), images)
    monkeypatch.setattr(Pretraining, "epoch", None)  # nobody pre-trains any more
    path = tmp_path / "checkpoint"
    assert_same(
        small(DEC, **settings).fit(images, pretraining=shared, checkpoint=path), alone, images
    )
    monkeypatch.setattr(Refinement, "epoch", None)
    again = small(DEC, **settings).fit(images, pretraining=shared, checkpoint=path)
    assert_same(again, alone, images)
    assert again.processor_seconds_ >= sum(epoch.seconds for epoch in first.history_)


def test_a_pretraining_of_other_settings_is_refused(three_shapes, tmp_path):
    shared = tmp_path / "pretraining"
    small(AutoencoderKMeans).fit(three_shapes[0], pretraining=shared)
    with pytest.raises(TensorFileError, match="differs in network"):
        small(VaDE).fit(three_shapes[0], pretraining=shared)
    with pytest.raises(TensorFileError, match=r"differs in parameters \(learning_rate\)"):
        small(DEC, learning_rate=1e-2).fit(three_shapes[0], pretraining=shared)
    with pytest.raises(FileNotFoundError, match=r"^pretraining="):
        small(DEC).fit(three_shapes[0], pretraining=tmp_path / "missing" / "file")


def test_an_interval_spares_writes_but_never_the_end_of_a_phase(
    three_shapes, tmp_path, monkeypatch
):
    written = []
    write = TrainingFile.write
    monkeypatch.setattr(
        TrainingFile,
        "write",
        lambda self, training, phase: (
            written.append(len(training.history)),
            write(self, training, phase),
        ),
    )
    small(DEC, pretrain_epochs=4, max_updates=3).fit(
        three_shapes[0], checkpoint=tmp_path / "checkpoint", checkpoint_interval=1e6
    )
    assert written == [4, 7]


# -- refused -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def written(three_shapes, tmp_path_factory) -> bytes:
    path = tmp_path_factory.mktemp("written") / "checkpoint"
    small(DEC).fit(three_shapes[0], checkpoint=path)
    return path.read_bytes()


@pytest.fixture
def path(written, tmp_path):
    path = tmp_path / "checkpoint"
    path.write_bytes(written)
    return path


@pytest.mark.parametrize(
    ("baseline", "parameters", "message"),
    [
        (VaDE, {}, "another fit: it differs in estimator"),
        (DEC, {"n_clusters": 4}, r"differs in parameters \(n_clusters\)"),
        (DEC, {"random_state": 1}, r"differs in parameters \(random_state\)"),
        (DEC, {"alpha": 2.0, "tol": 0.1}, r"differs in parameters \(alpha, tol\)"),
    ],
)
def test_the_checkpoint_of_another_fit_is_refused(
    baseline, parameters, message, path, three_shapes
):
    with pytest.raises(TensorFileError, match=message):
        small(baseline, **parameters).fit(three_shapes[0], checkpoint=path)


def test_the_checkpoint_of_other_images_is_refused(path, three_shapes):
    with pytest.raises(TensorFileError, match="differs in images"):
        small(DEC).fit(three_shapes[0][:, ::-1], checkpoint=path)


def test_a_saved_model_is_no_checkpoint(path, three_shapes):
    small(DEC).fit(three_shapes[0]).save(path)
    with pytest.raises(TensorFileError, match="not a checkpoint"):
        small(DEC).fit(three_shapes[0], checkpoint=path)


@pytest.mark.parametrize("keep", [0, 7, 1000, -1])
def test_a_truncated_checkpoint_is_refused_and_left_alone(keep, path, written, three_shapes):
    path.write_bytes(written[:keep])
    with pytest.raises(TensorFileError, match="damaged"):
        small(DEC).fit(three_shapes[0], checkpoint=path)
    assert path.read_bytes() == written[:keep]


@pytest.mark.parametrize(
    "changes",
    [
        {"phase": 7},
        {"phase": float("inf")},
        {"history": [{"phase": "x"}]},
        {"seed": "a"},
        {"seed": 10**30},
        {"learning_rate": None},
        {"learning_rate": float("nan")},
    ],
)
def test_a_checkpoint_with_a_header_that_makes_no_sense_is_refused(changes, path, three_shapes):
    rewrite(path, **changes)
    with pytest.raises(TensorFileError, match="damaged"):
        small(DEC).fit(three_shapes[0], checkpoint=path)


@pytest.mark.parametrize("name", ["generator", "optimizer.0.exp_avg", "network.centers"])
def test_a_checkpoint_with_tensors_that_do_not_fit_is_refused(name, path, three_shapes):
    tensors = load_file(path)
    del tensors[name]
    rewrite(path, tensors)
    with pytest.raises(TensorFileError, match="checkpoint"):
        small(DEC).fit(three_shapes[0], checkpoint=path)
    rewrite(path, {**tensors, name: np.zeros(2, np.float32)})
    with pytest.raises(TensorFileError, match="checkpoint"):
        small(DEC).fit(three_shapes[0], checkpoint=path)


def test_a_later_version_of_a_checkpoint_is_refused(path, three_shapes):
    rewrite(path, version=99)
    with pytest.raises(TensorFileError, match="version 99"):
        small(DEC).fit(three_shapes[0], checkpoint=path)


def test_something_else_is_refused(path, three_shapes):
    save_file({"x": np.zeros(2)}, path)
    with pytest.raises(TensorFileError, match="not a checkpoint"):
        small(DEC).fit(three_shapes[0], checkpoint=path)


def test_a_folder_that_does_not_exist_is_said_before_any_training(tmp_path, three_shapes):
    with pytest.raises(FileNotFoundError, match="no folder"):
        small(DEC).fit(three_shapes[0], checkpoint=tmp_path / "missing" / "checkpoint")
