"""Who may talk to the studio: whatever is refused has changed nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from dikmeans.edits.journal import JOURNAL
from dikmeans.studio.api import make_app
from dikmeans.studio.gate import Gate
from dikmeans.studio.requests import MAX_JSON
from dikmeans.studio.studio import open_studio
from tests.studio.client import TestClient

PORT, TOKEN = 4321, "the-token"
BASE = f"http://127.0.0.1:{PORT}"
RENAME = {"edits": [{"kind": "rename", "cluster": "c0", "name": "zero"}]}


@pytest.fixture
def studio(run):
    studio = open_studio(run)
    yield studio
    studio.close()


@pytest.fixture
def stranger(studio):
    """Someone who does not know the token."""
    app = Gate(make_app(studio), TOKEN, PORT)
    with TestClient(app, BASE, raise_server_exceptions=False, follow_redirects=False) as client:
        yield client


@pytest.fixture
def client(stranger):
    """The page of the studio."""
    stranger.headers["authorization"] = f"Bearer {TOKEN}"
    return stranger


def files_of(run: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(run.parent)): path.read_bytes()
        for path in sorted(run.parent.rglob("*"))
        if path.is_file()
    }


@pytest.fixture
def unchanged(run, studio):
    """Nothing on the disk and nothing in the state is other than before."""
    before, state = files_of(run), studio.state_json()
    yield
    assert files_of(run) == before
    assert studio.state_json() == state


PATHS = ("/", "/api/state", "/api/members", "/assets/main.js", "/api/pictures/0/image", "/nowhere")


@pytest.mark.usefixtures("unchanged")
class TestRefused:
    @pytest.mark.parametrize("path", PATHS)
    def test_nothing_is_answered_without_the_token(self, stranger, path):
        assert stranger.get(path).status_code == 401

    @pytest.mark.parametrize("path", ["/api/edits", "/api/undo", "/api/refit", "/api/folders"])
    def test_nothing_is_done_without_the_token(self, stranger, path):
        assert stranger.post(path, json=RENAME).status_code == 401

    @pytest.mark.parametrize("token", ["", "wrong", TOKEN + "x", TOKEN[:-1], "ä"])
    def test_a_wrong_token_is_none(self, stranger, token):
        assert stranger.get("/", params={"token": token}).status_code == 401
        cookie = {"cookie": f"dikmeans-studio-{PORT}={token}".encode()}
        assert stranger.get("/api/state", headers=cookie).status_code == 401

    @pytest.mark.parametrize(
        "host", ["evil.example", "evil.example:4321", "127.0.0.1", "127.0.0.1:80", "localhost", ""]
    )
    def test_another_host_name_is_refused_even_with_the_token(self, client, host):
        assert client.get("/api/state", headers={"host": host}).status_code == 403
        assert client.get(f"/?token={TOKEN}", headers={"host": host}).status_code == 403
        assert client.post("/api/edits", json=RENAME, headers={"host": host}).status_code == 403

    @pytest.mark.parametrize(
        "origin",
        ["http://evil.example", "null", "http://127.0.0.1:80", f"https://127.0.0.1:{PORT}"],
    )
    def test_another_origin_is_refused_even_with_the_token(self, client, origin):
        assert client.get("/api/state", headers={"origin": origin}).status_code == 403
        assert client.post("/api/edits", json=RENAME, headers={"origin": origin}).status_code == 403

    @pytest.mark.parametrize(
        "path",
        [
            "/assets/../session.py",
            "/assets/..%2fsession.py",
            "/assets/%2e%2e/%2e%2e/session.py",
            "/assets//etc/passwd",
            "/assets/studio.html",
            "/api/pictures/../../run.json",
            "/api/refit/faces/..%2f..%2frun.json",
            "/../../etc/passwd",
            "/run.json",
            "/edits.jsonl",
        ],
    )
    def test_no_file_is_served_but_those_of_the_page(self, client, path):
        assert client.get(path).status_code in (404, 405)

    @pytest.mark.parametrize("name", ["../out", "/tmp/out", "a/b", "..", "", " ", "a\\b", 3, None])
    def test_folders_are_made_beside_the_run_only(self, client, name):
        assert client.post("/api/folders", json={"name": name}).status_code == 400

    @pytest.mark.parametrize(
        "body",
        [
            b"{",
            b"[]",
            b"1",
            b"null",
            b"\xff\xfe",
            b"[" * 100_000,
            b'{"edits": []}',
            b'{"edits": [1]}',
        ],
    )
    def test_a_malformed_body_is_refused(self, client, body):
        json_type = {"content-type": "application/json"}
        assert client.post("/api/edits", content=body, headers=json_type).status_code == 400

    def test_a_form_of_a_foreign_page_is_no_json(self, client):
        assert client.post("/api/edits", data={"edits": "x"}).status_code == 415
        body = b'{"edits": [{"kind": "rename", "cluster": "c0", "name": "x"}]}'
        headers = {"content-type": "text/plain"}
        assert client.post("/api/edits", content=body, headers=headers).status_code == 415

    def test_a_huge_body_is_refused_whether_it_tells_its_length_or_not(self, client):
        def parts():
            for _ in range(MAX_JSON // 1_000_000 + 2):
                yield b" " * 1_000_000

        json_type = {"content-type": "application/json"}
        assert client.post("/api/edits", content=parts(), headers=json_type).status_code == 413
        huge = {**json_type, "content-length": str(10**12)}
        assert client.post("/api/edits", content=b"{}", headers=huge).status_code == 413
        odd = {**json_type, "content-length": "many"}
        assert client.post("/api/edits", content=b"{}", headers=odd).status_code == 400

    @pytest.mark.parametrize(
        "edit",
        [
            {"kind": "explode"},
            {"kind": "rename", "cluster": "c99", "name": "x"},
            {"kind": "rename", "cluster": "c0", "name": "x" * 201},
            {"kind": "rename", "cluster": "c0", "name": 5},
            {"kind": "rename", "cluster": "c0", "name": "x", "more": 1},
            {"kind": "merge", "clusters": ["c0"], "into": "c0"},
            {"kind": "move", "pictures": [10**9], "to": "c0"},
            {"kind": "move", "pictures": [-1], "to": "c0"},
            {"kind": "move", "pictures": [True], "to": "c0"},
            {"kind": "move", "pictures": "all", "to": "c0"},
            {"kind": "move", "pictures": [], "to": "c0"},
            {"kind": "move", "files": ["../../etc/passwd"], "to": "c0"},
            {"kind": "split", "cluster": "c0", "prototypes": [77]},
        ],
    )
    def test_an_edit_that_makes_no_sense_is_refused_with_all_that_come_with_it(self, client, edit):
        answer = client.post("/api/edits", json={"edits": [*RENAME["edits"], edit]})
        assert answer.status_code == 400
        assert answer.json()["error"]

    @pytest.mark.parametrize(
        "query",
        ["offset=-1", "limit=0", "limit=501", "limit=9e9", "sort=x", "group=c99", "offset=²"],
    )
    def test_a_page_that_does_not_exist_is_refused(self, client, query):
        assert client.get(f"/api/members?{query}").status_code == 400

    @pytest.mark.parametrize(
        "path",
        [
            "/api/pictures/100000",
            "/api/pictures/100000/image",
            "/api/prototypes/999/image",
            "/frame/drops/7",
            "/frame/pictures/100000",
        ],
    )
    def test_what_does_not_exist_is_not_found(self, client, path):
        assert client.get(path).status_code == 404

    @pytest.mark.parametrize("path", ["/api/refit/keep", "/api/refit/discard", "/api/refit/cancel"])
    def test_a_refit_that_was_not_made_is_neither_kept_nor_discarded(self, client, path):
        assert client.post(path, json={}).status_code == 409

    def test_there_is_nothing_to_undo_or_redo_yet(self, client):
        assert client.post("/api/undo", json={}).status_code == 409
        assert client.post("/api/redo", json={}).status_code == 409

    def test_other_methods_are_refused(self, client):
        assert client.put("/api/state").status_code == 405
        assert client.delete("/api/edits").status_code == 405
        assert client.get("/api/edits").status_code == 405

    @pytest.mark.parametrize("content", [b"", b"no picture at all", b"\x89PNG\r\n\x1a\n broken"])
    def test_a_file_that_is_no_picture_is_refused(self, client, content):
        answer = client.post("/api/drop", files={"pictures": ("a.png", content)})
        assert answer.status_code == 400
        assert answer.json()["error"]

    @pytest.mark.parametrize(
        "table", [b"\xff\xff\xff", b"a,b\n1,2\n", b"only a header\n", b"a,b\n1\n"]
    )
    def test_a_table_that_names_no_pictures_is_refused(self, client, table):
        assert client.post("/api/table", content=table).status_code == 400


def test_the_token_in_the_address_becomes_a_cookie_that_no_script_reads(stranger):
    answer = stranger.get("/", params={"token": TOKEN})
    assert answer.status_code == 303
    assert answer.headers["location"] == "/"
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert stranger.get("/api/state").status_code == 200  # the client has kept the cookie


def test_every_answer_forbids_what_is_not_from_the_studio(client):
    for path in (*PATHS, "/api/state"):
        headers = client.get(path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "http" not in policy


def test_an_edit_on_an_old_state_is_refused(client, studio):
    first = client.post("/api/edits", json={**RENAME, "revision": 0})
    assert first.status_code == 200
    assert client.post("/api/edits", json={**RENAME, "revision": 0}).status_code == 409
    assert client.post("/api/undo", json={"revision": 0}).status_code == 409
    assert studio.session.view.revision == 1


def test_two_studios_on_one_run_are_refused_in_words(studio, run):
    with pytest.raises(ValueError, match="another program"):
        open_studio(run)


def test_an_edit_is_on_the_disk_before_it_is_answered(client, run):
    assert client.post("/api/edits", json=RENAME).status_code == 200
    assert '"zero"' in (run / JOURNAL).read_text()
