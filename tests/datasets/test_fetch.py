import hashlib
import http.server
import os
import threading
from pathlib import Path

import pytest

from dikmeans.datasets import DownloadError, MissingDataError
from dikmeans.datasets.files.fetch import RemoteFile, fetch
from dikmeans.datasets.files.progress import Progress
from dikmeans.datasets.sets import mnist
from dikmeans.datasets.sets.named import Shelf
from dikmeans.io.atomic import atomic_write
from tests.datasets.published import MNIST_FILES, write_mnist

CONTENT = b"published bytes" * 1000


class _Handler(http.server.SimpleHTTPRequestHandler):
    """Serves a folder; ``/short`` promises more than it sends, as a broken connection does."""

    requests: list

    def do_GET(self):
        self.requests.append(self.path)
        if self.path != "/short":
            super().do_GET()
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(CONTENT)))
        self.end_headers()
        self.wfile.write(CONTENT[:100])

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
    (folder / "file").write_bytes(CONTENT)
    server = _Server(folder)
    thread = threading.Thread(target=server.http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.http.shutdown()
    thread.join(5)
    server.http.server_close()


def remote(url, content=CONTENT, name="file"):
    return RemoteFile(name, url, "sha256", hashlib.sha256(content).hexdigest())


def test_a_file_is_fetched_and_verified(server, tmp_path):
    path = fetch(remote(f"{server.url}/file"), tmp_path / "home")
    assert path == tmp_path / "home" / "file"
    assert path.read_bytes() == CONTENT
    assert os.listdir(tmp_path / "home") == ["file"]


def test_a_file_which_is_there_is_not_fetched_again(server, tmp_path):
    fetch(remote(f"{server.url}/file"), tmp_path)
    fetch(remote(f"{server.url}/file"), tmp_path)
    assert server.requests == ["/file"]


def test_a_wrong_checksum_leaves_nothing_behind_and_says_where_to_get_the_file(server, tmp_path):
    folder = tmp_path / "home"
    with pytest.raises(
        DownloadError, match=r"expected .* got .*Nothing was kept.*by hand from"
    ) as e:
        fetch(remote(f"{server.url}/file", b"other bytes"), folder)
    assert str(folder / "file") in str(e.value)
    assert os.listdir(folder) == []


def test_a_broken_connection_leaves_nothing_behind(server, tmp_path):
    folder = tmp_path / "home"
    with pytest.raises(DownloadError):
        fetch(remote(f"{server.url}/short"), folder)
    assert os.listdir(folder) == []


def test_an_absent_file_and_an_absent_server_are_told_with_what_to_do(server, tmp_path):
    with pytest.raises(DownloadError, match=r"could not fetch .*404.*put it at"):
        fetch(remote(f"{server.url}/absent", name="absent"), tmp_path)
    with pytest.raises(DownloadError, match=r"could not fetch http://127\.0\.0\.1:9/.*put it at"):
        fetch(remote("http://127.0.0.1:9/file", name="absent"), tmp_path)


def test_a_place_that_cannot_be_written_is_told(server, tmp_path):
    (tmp_path / "home").write_text("a file where a folder should be")
    with pytest.raises(DownloadError, match="put it at"):
        fetch(remote(f"{server.url}/file"), tmp_path / "home")


def test_a_missing_set_is_fetched_file_by_file_and_then_read(server, digits, tmp_path):
    images, labels = digits[0][::500], digits[1][::500]
    write_mnist(tmp_path / "served", images, labels)
    files = {
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
    shelf = Shelf("mnist", mnist.SHELF.layouts, "nowhere", files)
    with pytest.raises(MissingDataError, match="download=True"):
        shelf.read("train", tmp_path / "home", download=False)
    offline = {split: (remote("http://127.0.0.1:9/x", name="x"),) for split in files}
    with pytest.raises(DownloadError, match=r"could not fetch(.|\n)*train-images-idx3-ubyte"):
        Shelf("mnist", mnist.SHELF.layouts, "nowhere", offline).read("train", tmp_path, True)
    characters = shelf.read("train", tmp_path / "home", download=True)
    assert (characters.images == images).all()
    assert len(server.requests) == 2


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, RuntimeError])
def test_an_interrupted_write_leaves_the_old_file_and_no_other(tmp_path, interruption):
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def write_half():
        with atomic_write(path) as stream:
            stream.write(b"half of the n")
            stream.flush()
            raise interruption

    with pytest.raises(interruption):
        write_half()
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


def test_a_finished_write_replaces_the_old_file(tmp_path):
    path = tmp_path / "new" / "file"
    for content in (b"first", b"second"):
        with atomic_write(path) as stream:
            stream.write(content)
        assert path.read_bytes() == content


class _Terminal:
    def __init__(self, is_terminal):
        self.text = ""
        self._is_terminal = is_terminal

    def isatty(self):
        return self._is_terminal

    def write(self, text):
        self.text += text

    def flush(self):
        return


@pytest.mark.parametrize(("total", "end"), [(2, "#] 2/2\n"), (None, "counting 2\n")])
def test_progress_is_drawn_on_a_terminal_and_nowhere_else(total, end):
    for is_terminal in (True, False):
        terminal = _Terminal(is_terminal)
        with Progress("counting", total, terminal, patience=0) as progress:
            progress.advance()
            progress.advance()
        assert terminal.text.endswith(end) if is_terminal else terminal.text == ""


def test_progress_of_what_is_quick_is_not_drawn():
    terminal = _Terminal(True)
    with Progress("counting", 1, terminal, patience=60) as progress:
        progress.advance()
    assert terminal.text == ""
