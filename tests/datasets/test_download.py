"""Downloads: verified, whole or absent, and told with what to do when they fail."""

from __future__ import annotations

import hashlib
import http.server
import io
import os
import stat
import sys
import threading
from pathlib import Path

import pytest
from rich.console import Console
from rich.progress import Progress

from dikmeans.datasets import DownloadError, MissingDataError, load
from dikmeans.datasets.files import download as download_module
from dikmeans.datasets.files.download import RemoteFile, download
from dikmeans.datasets.files.progress import DownloadProgress, track
from dikmeans.datasets.sets import mnist
from dikmeans.datasets.sets.published import PublishedFiles
from dikmeans.errors import MissingExtraError
from tests.datasets.published import MNIST_FILES, write_mnist

CONTENT = b"published bytes" * 1000


class _Handler(http.server.SimpleHTTPRequestHandler):
    """Serves a folder; ``/short`` breaks off, ``/flaky`` fails the first time."""

    requests: list[str]

    def do_GET(self):
        self.requests.append(self.path)
        if self.path == "/flaky" and len(self.requests) == 1:
            self.send_error(503)
        elif self.path == "/short":
            self.send_response(200)
            self.send_header("Content-Length", str(len(CONTENT)))
            self.end_headers()
            self.wfile.write(CONTENT[:100])
        else:
            super().do_GET()

    def log_message(self, *_):
        return


class _Server:
    def __init__(self, folder: Path) -> None:
        self.requests = []
        handler = type("Handler", (_Handler,), {"requests": self.requests})
        self.http = http.server.ThreadingHTTPServer(
            ("127.0.0.1", 0), lambda *a: handler(*a, directory=folder)
        )
        self.url = f"http://127.0.0.1:{self.http.server_port}"


@pytest.fixture
def server(tmp_path):
    folder = tmp_path / "served"
    folder.mkdir()
    for name in ("file", "flaky"):
        (folder / name).write_bytes(CONTENT)
    server = _Server(folder)
    thread = threading.Thread(target=server.http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.http.shutdown()
    thread.join(5)
    server.http.server_close()


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch):
    """Failed downloads are not repeated, because pooch waits a second before it does."""
    monkeypatch.setattr(download_module, "_RETRIES", 0)


def remote(url, content=CONTENT, name="file"):
    return RemoteFile(name, url, f"sha256:{hashlib.sha256(content).hexdigest()}")


def test_a_file_is_downloaded_and_verified(server, tmp_path):
    path = download(remote(f"{server.url}/file"), tmp_path / "home")
    assert path == tmp_path / "home" / "file"
    assert path.read_bytes() == CONTENT
    assert os.listdir(tmp_path / "home") == ["file"]


def test_a_downloaded_file_can_be_read_by_others_because_a_data_home_may_be_shared(
    server, tmp_path
):
    path = download(remote(f"{server.url}/file"), tmp_path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


def test_a_file_that_is_there_is_not_downloaded_again(server, tmp_path):
    download(remote(f"{server.url}/file"), tmp_path)
    download(remote(f"{server.url}/file"), tmp_path)
    (tmp_path / "other").write_bytes(b"put there by hand")
    download(remote(f"{server.url}/file", name="other"), tmp_path)
    assert (tmp_path / "other").read_bytes() == b"put there by hand"
    assert server.requests == ["/file"]


def test_a_failed_download_is_repeated(server, tmp_path, monkeypatch):
    monkeypatch.setattr(download_module, "_RETRIES", 1)
    assert download(remote(f"{server.url}/flaky"), tmp_path / "home").read_bytes() == CONTENT
    assert server.requests == ["/flaky", "/flaky"]


def test_a_wrong_checksum_leaves_nothing_behind_and_says_where_to_get_the_file(server, tmp_path):
    folder, url = tmp_path / "home", f"{server.url}/file"
    with pytest.raises(DownloadError, match=r"expected .* got .*by hand from") as caught:
        download(remote(url, b"other bytes"), folder)
    assert (caught.value.path, caught.value.url) == (str(folder / "file"), url)
    assert f"Get it by hand from {url} and put it at {folder / 'file'}" in str(caught.value)
    assert isinstance(caught.value, OSError)
    assert os.listdir(folder) == []


def test_a_broken_connection_leaves_nothing_behind(server, tmp_path):
    folder = tmp_path / "home"
    with pytest.raises(DownloadError):
        download(remote(f"{server.url}/short"), folder)
    assert os.listdir(folder) == []


def test_a_missing_file_and_a_missing_server_are_told_with_what_to_do(server, tmp_path):
    with pytest.raises(DownloadError, match=r"could not be downloaded .*404.*put it at"):
        download(remote(f"{server.url}/absent", name="absent"), tmp_path)
    with pytest.raises(DownloadError, match=r"downloaded from http://127\.0\.0\.1:9/.*put it at"):
        download(remote("http://127.0.0.1:9/file", name="absent"), tmp_path)


def test_a_folder_that_cannot_be_written_is_told(server, tmp_path):
    (tmp_path / "home").write_text("a file where a folder should be")
    with pytest.raises(DownloadError, match="put it at"):
        download(remote(f"{server.url}/file"), tmp_path / "home")


def test_without_pooch_the_error_says_what_to_install_and_what_to_get(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'dikmeans\[datasets\]'") as caught:
        load("mnist", "train", tmp_path)
    assert mnist.FILES.remotes["train"][0].url in str(caught.value)
    assert str(tmp_path / "mnist" / "train-images-idx3-ubyte.gz") in str(caught.value)
    with pytest.raises(MissingDataError):  # nothing to download, so nothing to install
        load("mnist", "train", tmp_path, download=False)


def test_missing_data_is_downloaded_file_by_file_and_then_read(server, digits, tmp_path):
    images, labels = digits[0][::500], digits[1][::500]
    write_mnist(tmp_path / "served", images, labels)
    remotes = {
        split: tuple(
            remote(
                f"{server.url}/mnist/{name}.gz",
                (tmp_path / "served" / "mnist" / f"{name}.gz").read_bytes(),
                f"{name}.gz",
            )
            for name in names
        )
        for split, names in MNIST_FILES.items()
    }
    files = PublishedFiles("mnist", mnist.FILES.layouts, "nowhere", remotes)
    with pytest.raises(MissingDataError, match="download=True") as missing:
        files.read("train", tmp_path / "home", may_download=False)
    assert (missing.value.path, missing.value.url) == (str(tmp_path / "home" / "mnist"), "nowhere")
    (layout,) = missing.value.files
    assert layout.endswith(": train-images-idx3-ubyte, train-labels-idx1-ubyte")
    characters = files.read("train", tmp_path / "home", may_download=True)
    assert (characters.images == images).all()
    assert len(server.requests) == 2


def test_a_failed_download_names_the_other_ways_to_get_the_data(tmp_path):
    offline = {"train": (remote("http://127.0.0.1:9/x", name="x"),)}
    files = PublishedFiles("mnist", mnist.FILES.layouts, "nowhere", offline)
    with pytest.raises(DownloadError, match=r"could not be(.|\n)*train-images-idx3") as caught:
        files.read("train", tmp_path, may_download=True)
    assert caught.value.url == "http://127.0.0.1:9/x"
    assert len(caught.value.files) == 1


def test_downloads_say_nothing_where_there_is_no_terminal(server, tmp_path, capfd):
    download(remote(f"{server.url}/file"), tmp_path / "home")
    assert capfd.readouterr() == ("", "")


def test_a_download_is_drawn_from_its_start_at_every_attempt():
    with Progress(console=Console(file=io.StringIO(), force_terminal=True)) as progress:
        bar = DownloadProgress(progress, "file")
        for total in (0, 100):  # 0 if the server does not say
            bar.total = total
            bar.update(40)
            assert progress.tasks[0].completed == 40
            assert bar.total == (total or None)
        bar.reset()
        assert progress.tasks[0].completed == 0


@pytest.mark.parametrize("is_terminal", [True, False])
def test_progress_is_drawn_on_a_terminal_and_nowhere_else(monkeypatch, is_terminal):
    stream = io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: is_terminal, raising=False)
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    assert list(track([1, 2], "counting")) == [1, 2]
    assert ("counting" in stream.getvalue()) == is_terminal
