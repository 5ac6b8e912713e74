"""What the studio answers: pages of members, pictures, tables, new pictures; the command itself."""

from __future__ import annotations

import csv
import io
import socket
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from dikmeans.cli import app
from dikmeans.edits import EditError, Rename, edited_state
from dikmeans.runs import open_run, run_folder
from dikmeans.studio.api import make_app
from dikmeans.studio.exports import TableError, read_table
from dikmeans.studio.gate import Gate
from dikmeans.studio.refit import Refit
from dikmeans.studio.studio import open_studio
from tests.studio.client import TestClient

HEADERS = {"authorization": "Bearer t"}


@pytest.fixture
def studio(run):
    studio = open_studio(run)
    yield studio
    studio.close()


@pytest.fixture
def client(studio):
    with TestClient(Gate(make_app(studio), "t", 80), "http://localhost:80") as client:
        client.headers.update({**HEADERS, "host": "localhost:80"})
        yield client


def edit(client, *edits):
    answer = client.post("/api/edits", json={"edits": list(edits)})
    assert answer.status_code == 200, answer.text
    return answer.json()


def numbers(client, query):
    return [p["number"] for p in client.get(f"/api/members?{query}").json()["pictures"]]


def test_members_come_in_pages_and_in_order(client, studio):
    model = studio.session.model
    members = np.flatnonzero(model.labels_ == 1)
    expected = sorted(members.tolist(), key=lambda n: model.assignment_.costs[n])
    assert numbers(client, "group=c1&sort=best&limit=500") == expected
    assert numbers(client, "group=c1&sort=worst&limit=500")[0] == expected[-1]
    pages = [numbers(client, f"group=c1&sort=best&offset={i}&limit=7") for i in range(0, 49, 7)]
    assert [number for page in pages for number in page] == expected[:49]
    assert numbers(client, "group=all&limit=500&sort=file") == list(range(100))
    found = client.get("/api/members?group=all&find=3-0&limit=500").json()
    assert found["total"] == sum("3-0" in name for name in studio.session.images.names)


def test_moved_and_rejected_pictures_are_where_they_were_put(client, studio):
    first, second, third = numbers(client, "group=c0&limit=3")
    edit(client, {"kind": "move", "pictures": [first], "to": "c2"})
    edit(client, {"kind": "reject", "pictures": [second]}, {"kind": "pin", "pictures": [third]})
    assert first in numbers(client, "group=c2&limit=500")
    assert numbers(client, "group=outliers") == [second]
    doubtful = [p["number"] for p in client.get("/api/doubtful?limit=50").json()["pictures"]]
    assert not {first, second, third} & set(doubtful)


def test_choices_are_the_clusters_by_cost(client, studio):
    model, images = studio.session.model, studio.session.images.images
    choices = client.get("/api/pictures/12").json()["choices"]
    order = np.argsort(model.transform(images[12:13])[0])
    assert [c["cluster"] for c in choices] == [f"c{k}" for k in order]


def test_a_small_picture_is_the_file_and_an_aligned_one_is_warped(client, studio):
    def pixels(look):
        answer = client.get(f"/api/pictures/30/image?look={look}")
        assert answer.headers["content-type"] == "image/png"
        return np.asarray(Image.open(io.BytesIO(answer.content)).convert("L"), float)

    path = studio.session.originals.path(30)
    original, aligned = pixels("original"), pixels("aligned")
    np.testing.assert_array_equal(original, np.asarray(Image.open(path)))
    prototype = studio.session.model.assignment_.prototypes[30]
    portrait = studio.session.portraits.pictures[prototype]
    portrait = portrait.mean(axis=2) if portrait.ndim == 3 else portrait
    assert (
        np.corrcoef(aligned.ravel(), portrait.ravel())[0, 1]
        > (np.corrcoef(original.ravel(), portrait.ravel())[0, 1])
    )


def test_merge_candidates_are_ordered_by_likeness_and_show_the_warp(client, studio):
    candidates = client.get("/api/clusters/c2/alike").json()["candidates"]
    costs = studio.session.likeness.costs[2]
    expected = sorted((k for k in range(4) if k != 2), key=lambda k: costs[k])
    assert [c["cluster"] for c in candidates] == [f"c{k}" for k in expected]
    for candidate in candidates:
        one, other = candidate["pair"]
        answer = client.get(f"/api/likeness/{one}/{other}/image")
        assert np.asarray(Image.open(io.BytesIO(answer.content))).std() > 0
    assert client.get("/api/likeness/0/0/image").status_code == 404


def test_many_pictures_are_looked_up_at_once(client, studio):
    known = client.post("/api/lookup", json={"pictures": [5, 2]}).json()["pictures"]
    labels = studio.session.model.labels_
    assert [(p["number"], p["cluster"]) for p in known] == [
        (5, f"c{labels[5]}"),
        (2, f"c{labels[2]}"),
    ]
    assert client.post("/api/lookup", json={"pictures": [100]}).status_code == 400
    assert client.post("/api/lookup", json={}).status_code == 400


def test_the_page_of_a_picture_is_the_report_with_the_names_of_now(client):
    edit(client, {"kind": "rename", "cluster": "c0", "name": "</script><b>named"})
    page = client.get("/frame/pictures/3").text
    assert "\\u003c/script>\\u003cb>named" in page
    assert "</script><b>named" not in page


def test_the_table_has_the_edits_and_the_columns_of_the_user(client, studio):
    names = studio.session.images.names
    edit(client, {"kind": "rename", "cluster": "c1", "name": "=cmd()"})
    edit(client, {"kind": "reject", "pictures": [4]})
    edit(client, {"kind": "note", "pictures": [4, 5], "text": "torn"})
    edit(client, {"kind": "note", "pictures": [5], "text": "look again"})
    table = "id,file,year\n" + "".join(
        f"{i},{Path(n).stem},{1800 + i}\n" for i, n in enumerate(names)
    )
    answer = client.post("/api/table", content=table.encode())
    assert answer.json() == {"matched": 100, "columns": ["id", "year"]}
    text = client.get("/api/labels.csv").text
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [row["year"] for row in rows] == [str(1800 + i) for i in range(100)]
    assert rows[4]["name"] == "outliers"
    assert [row["notes"] for row in rows[3:6]] == ["", "torn", "torn; look again"]
    named = np.flatnonzero(studio.session.model.labels_ == 1)
    named = named[named != 4]
    assert {rows[n]["name"] for n in named} == {"'=cmd()"}  # no formula for a spreadsheet


def test_a_table_with_a_row_too_short_says_which():
    with pytest.raises(TableError, match="Row 3"):
        read_table(b"file,year\na.png,1\nb.png\n", ("a.png", "b.png"))


def test_dropped_pictures_are_assigned_as_predict_does(client, studio):
    session = studio.session
    chosen = [7, 50, 93]
    files = [
        ("pictures", (f"../../{n}.png", session.originals.path(n).read_bytes())) for n in chosen
    ]
    answer = client.post("/api/drop", files=files).json()
    predicted = session.model.predict(session.images.images[chosen])
    assert [p["cluster"] for p in answer["pictures"]] == [f"c{k}" for k in predicted]
    assert client.get(f"/frame/drops/{answer['drop']}").status_code == 200
    assert studio.state_json()["nPictures"] == 100


def test_folders_are_called_as_clusters_and_never_overwritten(client, run):
    edit(client, {"kind": "rename", "cluster": "c0", "name": "a/../b"})
    edit(client, {"kind": "rename", "cluster": "c1", "name": "a_.._b"})
    done = client.post("/api/folders", json={"name": "sorted"}).json()
    assert (done["nFiles"], done["nMissing"]) == (100, 0)
    folders = {path.name for path in (run.parent / "sorted").iterdir() if path.is_dir()}
    assert folders == {"a_.._b", "a_.._b (2)", "Cluster 2", "Cluster 3"}
    again = client.post("/api/folders", json={"name": "sorted"})
    assert again.status_code == 400
    assert "exists already" in again.json()["error"]


def test_the_program_serves_no_path_out_of_the_page(start_program, run):
    program = start_program(run)
    port = int(program.origin.rsplit(":", 1)[1])
    for path in (
        "/assets/../../../run.json",
        "/../../../../etc/passwd",
        "//etc/passwd",
        "/./run.json",
    ):
        with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
            connection.sendall(
                f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n"
                f"Authorization: Bearer {program.token}\r\n\r\n".encode()
            )
            answer = b"".join(iter(lambda c=connection: c.recv(65536), b""))
        assert answer.startswith(b"HTTP/1.1 404"), path
    assert program.stop() == 0


def test_a_folder_of_pictures_needs_a_number_of_clusters(run, tmp_path):
    (tmp_path / "photos").mkdir()
    Image.new("L", (8, 8)).save(tmp_path / "photos" / "a.png")
    result = CliRunner().invoke(app, ["studio", str(tmp_path / "photos"), "--no-browser"])
    assert result.exit_code == 2
    assert "-k 10" in result.stderr
    missing = CliRunner().invoke(app, ["studio", str(tmp_path / "nothing"), "--no-browser"])
    assert missing.exit_code == 2
    assert "does not exist" in missing.stderr


def test_a_folder_of_pictures_is_fitted_first_and_only_once(start_program, fitted_run, tmp_path):
    photos = tmp_path / "photos"
    photos.mkdir()
    for picture in sorted((fitted_run.parent / "pictures").glob("[34]-*.png"))[::3]:
        (photos / picture.name).write_bytes(picture.read_bytes())
    assert start_program(photos, "-k", "2").stop() == 0
    fitted = open_run(tmp_path / "photos-run")
    assert fitted.model.n_clusters == 2
    written = (tmp_path / "photos-run" / "run.json").read_bytes()
    assert start_program(photos).stop() == 0
    assert (tmp_path / "photos-run" / "run.json").read_bytes() == written


def wait_for_refit(studio):
    studio.refit.wait()
    assert studio.refit.status["phase"] == "done", studio.refit.status


def test_edits_made_during_a_refit_are_made_in_the_refitted_run_too(client, studio, run):
    edit(client, {"kind": "rename", "cluster": "c0", "name": "before"})
    edit(client, {"kind": "note", "cluster": "c0", "text": "written before"})
    first, second, third = numbers(client, "group=c1&sort=worst&limit=3")
    assert client.post("/api/refit").status_code == 200
    assert client.post("/api/undo").status_code == 409  # it is part of the re-fit
    edit(client, {"kind": "move", "pictures": [first], "to": "c2"})
    edit(client, {"kind": "pin", "pictures": [second]}, {"kind": "reject", "pictures": [third]})
    edit(client, {"kind": "split", "cluster": "c3", "prototypes": [1], "name": "part"})
    edit(client, {"kind": "rename", "cluster": "c2", "name": "meanwhile"})
    assert client.post("/api/undo").status_code == 200
    before = client.get("/api/state").json()
    assert before["nLaterEdits"] == 4
    part = {p["number"] for p in members_of(client, before, "part")}
    wait_for_refit(studio)
    state = client.post("/api/refit/keep").json()
    assert state["notCarried"] == []
    names = {cluster["id"]: cluster["name"] for cluster in state["clusters"]}
    assert (names["c0"], names["c2"]) == ("before", None)
    assert state["clusters"][0]["notes"] == ["written before"]
    clusters = [client.get(f"/api/pictures/{n}").json()["cluster"] for n in (first, second, third)]
    assert clusters == ["c2", "c1", None]
    assert {p["number"] for p in members_of(client, state, "part")} == part
    kept = open_run(run.parent / "run-2")
    assert len(edited_state(kept).clusters) == 5  # on the disk, in the journal of the new run
    assert client.post("/api/redo").status_code == 409


def members_of(client, state, name):
    (identity,) = [c["id"] for c in state["clusters"] if c["name"] == name]
    return client.get(f"/api/members?group={identity}&limit=500").json()["pictures"]


def test_an_edit_that_cannot_be_made_in_the_refitted_run_is_named(client, studio, monkeypatch):
    assert client.post("/api/refit").status_code == 200
    edit(client, {"kind": "rename", "cluster": "c2", "name": "two"})
    wait_for_refit(studio)

    def gone(edit, before):
        raise EditError("There is no cluster 'c2'.")

    monkeypatch.setattr(Rename, "carried", gone)
    state = client.post("/api/refit/keep").json()
    assert state["notCarried"] == ["rename: There is no cluster 'c2'."]
    assert state["run"] == "run-2"


def test_a_cancelled_refit_stops_within_an_iteration_and_leaves_nothing(client, studio, run):
    edit(client, {"kind": "rename", "cluster": "c0", "name": "kept"})
    # cancelled before it has begun: the first part of the first alignment is not computed
    studio.refit = Refit(studio.session, lambda status: None)
    studio.refit.cancel()
    studio.refit.start()
    studio.refit.wait()
    assert studio.refit.status == {"phase": "cancelled"}
    assert sorted(path.name for path in run.parent.iterdir()) == ["run"]
    assert client.get("/api/state").json()["clusters"][0]["name"] == "kept"
    assert client.post("/api/undo").status_code == 200


def test_a_refit_cancelled_while_it_is_written_leaves_nothing(studio, run, monkeypatch):
    refit = Refit(studio.session, lambda status: None)
    write = run_folder._write_centroids

    def cancel_then_write(*arguments):
        refit.cancel()
        assert list(run.parent.glob(".run-2.*.part"))
        write(*arguments)

    monkeypatch.setattr(run_folder, "_write_centroids", cancel_then_write)
    refit.start()
    refit.wait()
    assert refit.status == {"phase": "cancelled"}
    assert sorted(path.name for path in run.parent.iterdir()) == ["run"]


def test_what_a_killed_refit_has_left_is_removed_at_the_next_start(start_program, run, tmp_path):
    leftover = tmp_path / ".run-2.0123456789abcdef.part"
    leftover.mkdir()
    (leftover / "model.safetensors").write_bytes(b"half")
    (tmp_path / ".walks-2.0123456789abcdef.part").mkdir()  # of another run
    assert start_program(run).stop() == 0
    assert "left by a re-fit that was killed, was removed" in (tmp_path / "log.txt").read_text()
    left = sorted(path.name for path in tmp_path.iterdir() if path.is_dir())
    assert left == [".walks-2.0123456789abcdef.part", "run"]
