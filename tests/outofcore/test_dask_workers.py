"""A cluster of real processes: the model of the local fit, whatever happens to workers."""

from __future__ import annotations

import os
import pickle
import signal
import time
from contextlib import contextmanager

import dask
import dask.array as da
import numpy as np
import pytest
from distributed import Client, LocalCluster

from dikmeans.io.tensor_file import TensorFileError
from dikmeans.kmeans.dataset import Dataset
from dikmeans.kmeans.schedule import PhaseKind
from dikmeans.outofcore import dask_workers
from dikmeans.outofcore.dask_workers import DaskWorkers
from dikmeans.outofcore.lineage import Part, Shared
from dikmeans.outofcore.sources import open_source
from dikmeans.outofcore.workers import open_dataset
from dikmeans.preprocessing import UnitNorm
from tests.helpers import build_measure
from tests.outofcore.sharded_fits import (
    AtIteration,
    PowerCut,
    assert_same_fit,
    cut_power,
    quick,
)

N_PER_CHUNK = 40


@pytest.fixture(scope="module")
def cluster():
    """Two worker processes of one thread each, reachable from this machine only."""
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "60s"}),
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",  # any free port
            silence_logs=50,
        ) as cluster,
    ):
        yield cluster


@pytest.fixture
def client(cluster):
    cluster.scale(2)
    with Client(cluster, set_as_default=True) as client:
        client.wait_for_workers(2, timeout=60)
        yield client


@pytest.fixture(scope="module")
def in_memory(pictures):
    return quick().fit(pictures)


def chunked(images) -> da.Array:
    return da.from_array(images, chunks=(N_PER_CHUNK, *images.shape[1:]))


@contextmanager
def recorded(monkeypatch):
    """Count what goes from here to the workers and back: (direction, bytes)."""
    traffic = []
    call, fetch = DaskWorkers.call, DaskWorkers.fetch

    def sent(arguments):
        return sum(
            len(pickle.dumps(a))
            for a in arguments
            if not hasattr(a, "key") and not isinstance(a, (Part, Shared)) and a is not None
        )

    def counting_call(self, function, *arguments):
        flat = [x for a in arguments for x in (a if isinstance(a, list) else [a])]
        traffic.append(("there", sent(flat)))
        return call(self, function, *arguments)

    def counting_fetch(self, handles):
        found = fetch(self, handles)
        traffic.append(("back", len(pickle.dumps(found))))
        return found

    monkeypatch.setattr(DaskWorkers, "call", counting_call)
    monkeypatch.setattr(DaskWorkers, "fetch", counting_fetch)
    yield traffic
    monkeypatch.undo()


def test_the_model_equals_the_one_in_memory_and_the_cluster_forgets_it(
    cluster, client, pictures, in_memory
):
    X = chunked(pictures)
    model = quick().fit(X)
    assert_same_fit(model, in_memory)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    np.testing.assert_array_equal(model.transform(X), model.transform(pictures))
    np.testing.assert_allclose(model.score(X), model.score(pictures), rtol=1e-12)
    np.testing.assert_array_equal(
        model.align(X[50:60])[0].warped, model.align(pictures[50:60])[0].warped
    )
    client.sync(_quiet, cluster.scheduler)
    assert not cluster.scheduler.tasks


async def _quiet(scheduler):
    """Let the scheduler hear what the client has let go."""
    import asyncio

    for _ in range(100):
        if not scheduler.tasks:
            return
        await asyncio.sleep(0.05)


@pytest.mark.parametrize(
    "parameters",
    [
        {"warp": "none", "search__sample_size": 1000},
        {"warp": "affine", "direction": "image-to-centroid", "n_init": 2},
    ],
    ids=str,
)
def test_other_measures_and_weights_are_the_same_too(client, pictures, parameters):
    weights = np.random.default_rng(0).integers(0, 3, len(pictures)).astype(float)
    expected = quick(**parameters).fit(pictures, sample_weight=weights)
    assert_same_fit(quick(**parameters).fit(chunked(pictures), sample_weight=weights), expected)


def test_chunks_across_pictures_and_empty_ones_are_put_right(client, pictures, in_memory):
    X = da.from_array(pictures, chunks=((100, 0, 90, 50), (4, 4), 8))
    assert_same_fit(quick().fit(X), in_memory)


def test_empty_clusters_are_revived_by_the_same_images(client, pictures):
    far = np.eye(8, dtype=np.float32)[None] * 100
    init = np.concatenate([pictures[:2], far, far[:, ::-1]])
    parameters = {"init": init, "warp": "none", "preprocessing": None, "max_iter": 2}
    expected = quick(**parameters).fit(pictures)
    assert_same_fit(quick(**parameters).fit(chunked(pictures)), expected)


def test_an_error_in_a_worker_is_the_error_of_the_fit(client, pictures):
    bad = pictures.copy()
    bad[211, 3, 3] = np.nan
    with pytest.raises(
        ValueError, match=r"Input X contains NaN: image 211 is the first of 1 such images"
    ):
        quick().fit(chunked(bad))


def test_in_an_iteration_only_centroids_and_sums_move(client, pictures, monkeypatch):
    """Bytes between two iterations over all images: independent of how many images there are."""
    volumes = {}
    for copies in (1, 3):
        X = da.concatenate([chunked(pictures)] * copies)
        with recorded(monkeypatch) as traffic:
            marks = []

            def mark(event, marks=marks, traffic=traffic):
                if event.record is not None and event.phase.kind is PhaseKind.ALL_IMAGES:
                    marks.append(len(traffic))

            quick(warp="affine", search__tol=0.0, max_iter=3).fit(X, progress=mark)
            assert len(marks) == 3
            volumes[copies] = sum(n for _, n in traffic[marks[0] : marks[1]])
    centroids = 4 * pictures[0].size * 8  # in double precision
    # three passes: centroids one way, sums and masses the other; the alignment: centroids, a
    # summary
    most = 3 * 3 * centroids + centroids + 20_000
    assert volumes[1] < most
    assert volumes[3] < most + 12 * 4 * 200  # some bytes a call and shard: its other arguments
    state = 3 * len(pictures) * 4 * (9 + 8 * 3)
    assert volumes[3] < state / 2


def test_warm_starts_stay_where_their_images_are(client, pictures):
    with a_dataset(pictures) as dataset:
        clustering = dataset.assign(AFFINE, first_centroids(pictures))
        clustering = dataset.assign(AFFINE, clustering.centroids, clustering)
        images = client.who_has(dataset.shards)
        tasks = [fits.task.future for fits in clustering.fits]
        fits = client.who_has(tasks)
        assert len({worker for workers in images.values() for worker in workers}) == 2
        together = [
            set(images[image.key]) & set(fits[task.key])
            for image, task in zip(dataset.shards, tasks, strict=True)
        ]
        # the scheduler may move one to a worker that has nothing to do
        assert sum(map(bool, together)) >= len(together) - 2


class TestLineage:
    """What the scheduler remembers does not grow, and lost results are the same when made again."""

    N_ITERATIONS = 3 * (dask_workers.MAX_DEPTH + 1)

    def iterated(self, dataset, clustering, n, after=lambda number, clustering: None):
        for number in range(n):
            moved = dataset.move_centroids(AFFINE, clustering)
            clustering = dataset.assign(AFFINE, moved, clustering)
            after(number, clustering)
        return clustering

    @pytest.mark.parametrize("in_files", [False, True])
    def test_the_graph_does_not_grow_with_iterations(
        self, cluster, client, pictures, tmp_path, in_files
    ):
        n_tasks = []
        with a_dataset(pictures) as dataset:
            n_shards = len(dataset.shards)

            def count(number, clustering):
                if in_files:
                    names = dataset.write_fits(clustering, tmp_path, number)
                    for name in names:
                        (tmp_path / name).unlink()  # as a later checkpoint does
                n_tasks.append(settled_number_of_tasks(client, cluster))

            start = dataset.assign(AFFINE, first_centroids(pictures))
            self.iterated(dataset, start, self.N_ITERATIONS, count)
        cycle = dask_workers.MAX_DEPTH + 1  # from one anchor to the next
        one, other = max(n_tasks[cycle : 2 * cycle]), max(n_tasks[2 * cycle : 3 * cycle])
        assert other <= one + 2
        assert other < n_shards * (dask_workers.MAX_DEPTH + 8)

    @pytest.mark.parametrize("in_files", [False, True])
    def test_what_a_killed_worker_had_is_made_again(self, client, pictures, tmp_path, in_files):
        n = dask_workers.MAX_DEPTH + 3
        with Dataset.in_memory(UnitNorm().apply(pictures[:, None])) as local:
            start = local.assign(AFFINE, first_centroids(pictures))
            expected = self.iterated(local, start, n)

            def write(number, clustering):
                if in_files:
                    for name in dataset.write_fits(clustering, tmp_path, number):
                        (tmp_path / name).unlink()

            with a_dataset(pictures) as dataset:
                start = dataset.assign(AFFINE, first_centroids(pictures))
                end = self.iterated(dataset, start, n, write)
                begins_in_file = [part.task.base is not None for part in end.fits]
                assert all(begins_in_file) if in_files else not any(begins_in_file)
                os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
                end = self.iterated(dataset, end, 1)
                np.testing.assert_array_equal(
                    labels_of(dataset, end), labels_of(local, self.iterated(local, expected, 1))
                )


def settled_number_of_tasks(client, cluster) -> int:
    """Tasks that the scheduler remembers, when it has heard of all that were released."""
    counts = []
    while len(counts) < 50 and (len(counts) < 5 or len(set(counts[-5:])) > 1):
        time.sleep(0.02)
        counts.append(len(cluster.scheduler.tasks))
    return counts[-1]


AFFINE = build_measure((8, 8), warp="affine")


def first_centroids(pictures):
    return pictures[:4, None] / np.float32(16)


def a_dataset(pictures):
    """Pictures with the workers."""
    return open_dataset(
        open_source(chunked(pictures)),
        None,
        shape=(8, 8),
        dtype=np.dtype(np.float32),
        preprocessing=UnitNorm(),
        images_per_shard=70,
        n_jobs=1,
    )


def labels_of(dataset, clustering):
    """The nearest centroid of each image."""
    fits = dataset.workers.fetch(clustering.fits)
    return np.concatenate([of_shard.costs.argmin(axis=1) for of_shard in fits])


def test_a_worker_that_is_killed_in_an_iteration_changes_nothing(
    client, pictures, in_memory, monkeypatch
):
    pids = client.run(os.getpid)
    calls = []
    total = DaskWorkers.total

    def kill_then_total(self, handles):
        submitted = list(handles)
        calls.append(len(submitted))
        if len(calls) == 6:  # alignments and sums are under way
            os.kill(next(iter(pids.values())), signal.SIGKILL)
        return total(self, submitted)

    monkeypatch.setattr(DaskWorkers, "total", kill_then_total)
    model = quick().fit(chunked(pictures))
    assert len(calls) > 6
    assert_same_fit(model, in_memory)


def _take_longer():
    """In a worker: let alignments take a while, so that giving some away is worth it."""
    import time

    from dikmeans.kmeans import shard

    assign = shard.align_images

    def slowly(*arguments, **options):
        time.sleep(0.3)
        return assign(*arguments, **options)

    shard.align_images, shard.quick_align_images = slowly, assign


def _take_as_long_as_ever():
    from dikmeans.kmeans import shard

    shard.align_images = getattr(shard, "quick_align_images", shard.align_images)


def test_a_worker_that_joins_late_gets_work_and_changes_nothing(cluster, client, pictures):
    late = {"warp": "affine", "max_iter": 4, "search__tol": 0.0}
    expected = quick(**late).fit(pictures)
    client.wait_for_workers(2, timeout=120)  # one that was killed before may not be back yet
    before = set(client.scheduler_info()["workers"])

    def join():
        cluster.scale(3)
        client.wait_for_workers(3, timeout=120)

    model = quick(**late)
    newcomer = AtIteration(join)
    client.run(_take_longer)
    try:
        model.fit(da.from_array(pictures, chunks=(16, 8, 8)), progress=newcomer)
    finally:
        client.run(_take_as_long_as_ever)
    assert newcomer.done
    assert_same_fit(model, expected)
    (new,) = set(client.scheduler_info()["workers"]) - before
    work = client.run(lambda dask_worker: dask_worker.state.executed_count, workers=[new])
    assert work[new] > 0


def test_without_a_client_a_dask_array_is_read_here(pictures, in_memory):
    assert dask_workers.connected_client() is None
    assert_same_fit(quick().fit(chunked(pictures)), in_memory)


def test_another_version_on_a_worker_is_refused(client, pictures, monkeypatch):
    monkeypatch.setattr(dask_workers, "version", lambda name: "0.0.1")
    monkeypatch.setattr(
        client,
        "run",
        lambda function, *args, **kwargs: dict.fromkeys(["tcp://10.0.0.7:1"], "0.0.2"),
    )
    with pytest.raises(
        RuntimeError, match=r"tcp://10.0.0.7:1 has dikmeans 0.0.2, but this program has 0.0.1"
    ):
        quick().fit(chunked(pictures))


def test_a_worker_without_dikmeans_is_named(client, pictures, monkeypatch):
    run = client.run

    def of_something_missing(function, _, **options):
        return run(function, "no-such-package", **options)

    monkeypatch.setattr(client, "run", of_something_missing)
    with pytest.raises(
        RuntimeError, match=r"not installed where the Dask worker tcp://127\.0\.0\.1:\d+ runs"
    ):
        quick().fit(chunked(pictures))


class TestFiles:
    @pytest.fixture
    def clustered(self, client, pictures):
        with a_dataset(pictures) as dataset:
            yield dataset, dataset.assign(AFFINE, first_centroids(pictures))

    def test_a_clustering_read_again_continues_the_same_way(self, clustered, tmp_path):
        dataset, clustering = clustered
        names = dataset.write_fits(clustering, tmp_path, 7)
        assert sorted(names) == sorted(path.name for path in tmp_path.iterdir())
        again = dataset.read_clustering(tmp_path, names, clustering.centroids)
        for name in names:
            (tmp_path / name).unlink()  # as a later checkpoint does
        assert again.inertia == clustering.inertia
        np.testing.assert_array_equal(labels_of(dataset, again), labels_of(dataset, clustering))
        moved = dataset.move_centroids(AFFINE, clustering)
        np.testing.assert_array_equal(dataset.move_centroids(AFFINE, again), moved)
        one, other = (dataset.assign(AFFINE, moved, start) for start in (again, clustering))
        np.testing.assert_array_equal(labels_of(dataset, one), labels_of(dataset, other))

    def test_files_are_read_again_after_a_worker_was_killed(self, client, clustered, tmp_path):
        dataset, clustering = clustered
        names = dataset.write_fits(clustering, tmp_path, 7)
        again = dataset.read_clustering(tmp_path, names, clustering.centroids)
        for name in names:
            (tmp_path / name).unlink()
        expected = labels_of(dataset, again)
        first = again.fits[0].task.future
        worker, *_ = client.who_has([first])[first.key]
        os.kill(client.run(os.getpid)[worker], signal.SIGKILL)
        np.testing.assert_array_equal(labels_of(dataset, again), expected)
        moved = dataset.move_centroids(AFFINE, clustering)
        np.testing.assert_array_equal(dataset.move_centroids(AFFINE, again), moved)

    def test_a_damaged_file_is_refused(self, clustered, tmp_path):
        dataset, clustering = clustered
        names = dataset.write_fits(clustering, tmp_path, 7)
        (tmp_path / names[1]).write_bytes(b"something else")
        with pytest.raises(TensorFileError, match="damaged"):
            dataset.read_clustering(tmp_path, names, clustering.centroids)

    def test_a_folder_that_is_not_shared_is_said(self, clustered, tmp_path, monkeypatch):
        dataset, clustering = clustered
        with pytest.raises(OSError, match=r"no folder .* where a Dask worker runs\. .*share"):
            dataset.write_fits(clustering, tmp_path / "elsewhere", 7)
        monkeypatch.setattr(dask_workers, "_write", _pretend)
        with pytest.raises(OSError, match=r"this program cannot see it\. .*share"):
            dataset.write_fits(clustering, tmp_path, 7)


def _pretend(fits, path):
    return 1


def test_a_fit_that_was_cut_off_goes_on_from_its_checkpoint(client, pictures, tmp_path):
    X, folder = chunked(pictures), tmp_path / "checkpoint"
    expected = quick(max_iter=3, search__tol=0.0).fit(X)
    model = quick(max_iter=3, search__tol=0.0)
    with pytest.raises(PowerCut):
        model.fit(X, checkpoint=folder, progress=AtIteration(cut_power))
    calls = []
    model.fit(X, checkpoint=folder, progress=AtIteration(lambda: calls.append(1)))
    assert_same_fit(model, expected)
    assert model.history_.inertia == expected.history_.inertia
    assert calls  # there was something left to do
