"""The addresses under which the studio answers."""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import numpy as np
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response, StreamingResponse
from starlette.routing import Route

from dikmeans._typing import JSON
from dikmeans.edits import JournalError
from dikmeans.errors import DikmeansError
from dikmeans.runs.export import folder_name
from dikmeans.runs.run_folder import CENTROIDS, REPORT, prototype_file
from dikmeans.studio.exports import (
    edited_report,
    exported_json,
    labels_csv,
    read_table,
    sorted_folders,
)
from dikmeans.studio.gate import refuse
from dikmeans.studio.likeness import find_pair, merge_candidates, similar_pictures
from dikmeans.studio.members import (
    MAX_PAGE,
    SORTS,
    choices_json,
    doubtful,
    numbers_in,
    ordered,
    page_json,
)
from dikmeans.studio.newcomers import MAX_PICTURES
from dikmeans.studio.pictures import SIDES, Encoded
from dikmeans.studio.refit import comparison_json
from dikmeans.studio.report_pages import map_page, pictures_page
from dikmeans.studio.requests import (
    MAX_TABLE,
    JSONAnswer,
    integer,
    one_of,
    posted,
    read_body,
)
from dikmeans.studio.studio import Studio

TYPES = {".js": "text/javascript", ".css": "text/css", ".html": "text/html"}
# Where a shared file of the report is wanted, it is taken from there.
SHARED = ("report.css", "elements.js")
ASSETS = ("studio.css", "base.js", "wall.js", "actions.js", "views.js", "main.js")
# A page of the report has its own policy, in the page; beside it, who may embed it.
EMBEDDED = {"content-security-policy": "frame-ancestors 'self'"}
MAP_PICTURES = 2000


def asset(name: str) -> bytes:
    """A file of the page, its own or one shared with the report."""
    package = "dikmeans.report" if name in SHARED else "dikmeans.studio"
    return (files(package) / "assets" / name).read_bytes()


class Api:
    """Answers requests about a studio."""

    def __init__(self, studio: Studio):
        self.studio = studio

    def routes(self) -> list[Route]:
        """All addresses."""
        studio = self.studio
        get: dict[str, Callable[[Request], object]] = {
            "/": self.page,
            "/assets/{name}": self.asset,
            "/api/state": self.state,
            "/api/events": self.events,
            "/api/members": self.members,
            "/api/doubtful": self.doubtful,
            "/api/pictures/{number:int}": self.picture,
            "/api/pictures/{number:int}/image": self.picture_image,
            "/api/pictures/{number:int}/similar": self.similar,
            "/api/prototypes/{number:int}/image": self.prototype_image,
            "/api/clusters/{identity}/alike": self.alike,
            "/api/likeness/{one:int}/{other:int}/image": self.pair_image,
            "/api/refit": self.comparison,
            "/api/refit/faces/{number:int}": self.refit_face,
            "/api/labels.csv": self.labels,
            "/api/report.html": self.report_file,
            "/frame/pictures/{number:int}": self.picture_frame,
            "/frame/drops/{number:int}": self.drop_frame,
            "/frame/map": self.map_frame,
        }
        post = {
            "/api/lookup": posted(self.lookup),
            "/api/edits": posted(studio.edit),
            "/api/undo": posted(studio.undo),
            "/api/redo": posted(studio.redo),
            "/api/refit": posted(studio.start_refit),
            "/api/refit/cancel": posted(studio.cancel_refit),
            "/api/refit/keep": posted(studio.keep_refit),
            "/api/refit/discard": posted(studio.discard_refit),
            "/api/map": posted(self.make_map),
            "/api/report": posted(self.make_report),
            "/api/folders": posted(self.make_folders),
            "/api/table": self.add_table,
            "/api/drop": self.drop,
        }
        return [
            *(Route(path, endpoint, methods=["GET"]) for path, endpoint in get.items()),
            *(Route(path, endpoint, methods=["POST"]) for path, endpoint in post.items()),
        ]

    # -- the page ------------------------------------------------------------------------------

    def page(self, request: Request) -> Response:
        """The page itself, the same for every run."""
        return HTMLResponse(asset("studio.html"))

    def asset(self, request: Request) -> Response:
        """A style or a script."""
        name = request.path_params["name"]
        if name not in (*ASSETS, *SHARED):
            raise HTTPException(404, "There is no such file.")
        return Response(asset(name), media_type=TYPES[Path(name).suffix])

    # -- reading -------------------------------------------------------------------------------

    def state(self, request: Request) -> Response:
        """Clusters, and what can be undone."""
        return JSONAnswer(self.studio.state_json())

    async def events(self, request: Request) -> Response:
        """What has changed, as it changes."""
        return StreamingResponse(self.studio.events.stream(), media_type="text/event-stream")

    def members(self, request: Request) -> Response:
        """A page of the pictures of a cluster, of the outliers, or of all."""
        session, given = self.studio.session, request.query_params
        view = session.view
        sort = one_of(given, "sort", {name: name for name in SORTS})
        numbers = ordered(session, numbers_in(view, given.get("group", "all")), sort)
        words = given.get("find", "").lower()
        if words:
            names = session.images.names
            numbers = np.array([n for n in numbers.tolist() if words in names[n].lower()], int)
        first = integer(given, "offset", 0, 0, len(session.images))
        limit = integer(given, "limit", 100, 1, MAX_PAGE)
        return JSONAnswer(
            {
                "revision": view.revision,
                "total": len(numbers),
                "offset": first,
                "pictures": page_json(session, view, numbers[first : first + limit]),
            }
        )

    def doubtful(self, request: Request) -> Response:
        """The next pictures to decide on, with the clusters that suit them."""
        session, given = self.studio.session, request.query_params
        view = session.view
        numbers = doubtful(session, view)
        first = integer(given, "offset", 0, 0, len(session.images))
        limit = integer(given, "limit", 8, 1, 50)
        chosen = numbers[first : first + limit]
        pictures = page_json(session, view, chosen)
        for picture, number in zip(pictures, chosen.tolist(), strict=True):
            picture["choices"] = choices_json(session, view, number)
        return JSONAnswer({"total": len(numbers), "pictures": pictures})

    def _number(self, request: Request, count: int, what: str) -> int:
        number: int = request.path_params["number"]
        if not 0 <= number < count:
            raise HTTPException(404, f"There is no {what} {number}.")
        return number

    def _picture_number(self, request: Request) -> int:
        return self._number(request, len(self.studio.session.images), "picture")

    def picture(self, request: Request) -> Response:
        """What is known about a picture."""
        session, number = self.studio.session, self._picture_number(request)
        view = session.view
        picture = page_json(session, view, np.array([number]))[0]
        notes = [text for file, text in view.state.notes if file == session.images.names[number]]
        choices = choices_json(session, view, number, 9)
        return JSONAnswer({**picture, "choices": choices, "notes": notes})

    def lookup(self, value: JSON) -> JSON:
        """What is known about many pictures at once."""
        session = self.studio.session
        numbers = self.studio.picture_numbers(value.get("pictures"))
        return {"pictures": page_json(session, session.view, np.array(numbers, int))}

    def picture_image(self, request: Request) -> Response:
        """A picture, small, as it is or aligned."""
        number, pictures = self._picture_number(request), self.studio.pictures
        looks = {"original": pictures.original, "aligned": pictures.aligned}
        look = one_of(request.query_params, "look", looks)
        return _image(look(number, _side(request)))

    def prototype_image(self, request: Request) -> Response:
        """What a prototype looks like."""
        count = len(self.studio.session.model.prototypes_)
        number = self._number(request, count, "prototype")
        return _image(self.studio.pictures.portrait(number, _side(request)))

    def similar(self, request: Request) -> Response:
        """Pictures like a given one."""
        session, number = self.studio.session, self._picture_number(request)
        view = session.view
        similar = similar_pictures(session, number)
        known = page_json(session, view, np.array([one["number"] for one in similar], int))
        pairs = zip(known, similar, strict=True)
        return JSONAnswer({"pictures": [{**a, "likeness": b["cost"]} for a, b in pairs]})

    def alike(self, request: Request) -> Response:
        """Clusters that one might be merged with."""
        session = self.studio.session
        identity = request.path_params["identity"]
        return JSONAnswer({"candidates": merge_candidates(session, session.view, identity)})

    def pair_image(self, request: Request) -> Response:
        """One cluster of the model, deformed into the pose of another."""
        clusters = request.path_params["one"], request.path_params["other"]
        pair = find_pair(self.studio.session, *clusters)
        if pair is None:
            raise HTTPException(404, "These clusters are too far apart.")
        return _image(self.studio.pictures.between(pair, _side(request)))

    # -- pages of the report -------------------------------------------------------------------

    def picture_frame(self, request: Request) -> Response:
        """How a picture fits its centroid and others: the report's own page."""
        session, number = self.studio.session, self._picture_number(request)
        page = pictures_page(session, session.view, np.array([number]))
        return HTMLResponse(page, headers=EMBEDDED)

    def drop_frame(self, request: Request) -> Response:
        """The same for pictures that were dropped."""
        page = self.studio.newcomers.page(request.path_params["number"])
        if page is None:
            raise HTTPException(404, "These pictures are not kept any more. Drop them again.")
        return HTMLResponse(page, headers=EMBEDDED)

    def make_map(self, value: JSON) -> JSON:
        """Begin to make the map, unless it is there."""
        session = self.studio.session
        chore = self.studio.chore(
            "map", lambda tell: map_page(session, session.view, MAP_PICTURES, tell)
        )
        return chore.status

    def map_frame(self, request: Request) -> Response:
        """The map, once it is made."""
        chore = self.studio.chores.get("map")
        if chore is None or chore.result is None:
            raise HTTPException(409, "The map is not made yet.")
        return HTMLResponse(chore.result, headers=EMBEDDED)

    # -- re-fit --------------------------------------------------------------------------------

    def comparison(self, request: Request) -> Response:
        """Before and after."""
        refit = self.studio.finished_refit()
        assert refit.refined is not None
        return JSONAnswer(comparison_json(refit.session, refit.view, refit.refined))

    def refit_face(self, request: Request) -> Response:
        """What a cluster of the refined run looks like."""
        refined = self.studio.finished_refit().refined
        assert refined is not None
        n_clusters = refined.run.model.n_clusters
        number = self._number(request, n_clusters, "cluster")
        path = refined.run.path / CENTROIDS / prototype_file(number, 0, n_clusters)
        return FileResponse(path, media_type="image/png")

    # -- exports -------------------------------------------------------------------------------

    def labels(self, request: Request) -> Response:
        """The table, with the user's own columns."""
        session = self.studio.session
        content = labels_csv(session, session.view, self.studio.table)
        name = folder_name(session.run.path.name).encode("ascii", "replace").decode()
        disposition = f'attachment; filename="{name.replace(chr(34), "_")}-labels.csv"'
        return Response(
            content, media_type="text/csv", headers={"content-disposition": disposition}
        )

    async def add_table(self, request: Request) -> Response:
        """Take a table of the user, whose columns are joined from now on."""
        content = await read_body(request, MAX_TABLE)
        if not content:
            self.studio.table = None
            return JSONAnswer({"matched": 0, "columns": []})
        names = self.studio.session.images.names
        table = await run_in_threadpool(read_table, content, names)
        self.studio.table = table
        return JSONAnswer({"matched": table.n_matched, "columns": list(table.columns)})

    def make_folders(self, value: JSON) -> JSON:
        """Sort the originals into folders beside the run."""
        session, name = self.studio.session, value.get("name")
        if not isinstance(name, str) or not name.strip() or folder_name(name) != name:
            raise HTTPException(
                400, "name should be the name of a new folder beside the run, without slashes."
            )
        place = session.run.path.resolve().parent / name
        return exported_json(sorted_folders(session, session.view, place))

    def make_report(self, value: JSON) -> JSON:
        """Begin to write the static report into the run."""
        session = self.studio.session
        path = session.run.path / REPORT

        def write(tell: Callable[[float, str], None]) -> str:
            return str(edited_report(session, session.view, path, tell))

        return self.studio.chore("report", write, again=True).status

    def report_file(self, request: Request) -> Response:
        """The static report of the run."""
        path = self.studio.session.run.path / REPORT
        if not path.is_file():
            raise HTTPException(404, "The report is not made yet.")
        return FileResponse(path, media_type="text/html", headers=EMBEDDED)

    # -- new pictures --------------------------------------------------------------------------

    async def drop(self, request: Request) -> Response:
        """Assign pictures that were dropped onto the page."""
        kind = request.headers.get("content-type", "").split(";")[0]
        if kind != "multipart/form-data":
            raise HTTPException(415, "Pictures should come as multipart/form-data.")
        async with request.form(max_files=MAX_PICTURES, max_fields=1) as form:
            uploads = [
                (upload.filename or "picture", await upload.read())
                for _, upload in form.multi_items()
                if not isinstance(upload, str)
            ]
        if not uploads:
            raise HTTPException(400, "There is no picture in the request.")
        studio = self.studio

        def work() -> JSON:
            return studio.newcomers.assign(studio.session, studio.session.view, uploads)

        return JSONAnswer(await run_in_threadpool(work))


def _side(request: Request) -> int:
    sides = {str(side): side for side in SIDES}
    return one_of(request.query_params, "side", sides)


def _image(encoded: Encoded) -> Response:
    # the page adds the epoch to the address, so what is kept is never of another run
    headers = {"cache-control": "private, max-age=3600"}
    return Response(encoded.content, media_type=encoded.media_type, headers=headers)


def make_app(studio: Studio) -> Starlette:
    """The application, without the gate before it."""
    return Starlette(
        routes=Api(studio).routes(),
        exception_handlers={
            HTTPException: _http_error,
            JournalError: _conflict,
            DikmeansError: _bad_request,
            OSError: _system_error,
        },
    )


def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return refuse(error.status_code, error.detail)


def _conflict(request: Request, error: Exception) -> Response:
    return refuse(409, str(error))


def _bad_request(request: Request, error: Exception) -> Response:
    return refuse(400, str(error))


def _system_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, OSError)
    return refuse(507, f"{error.strerror or error}. Nothing was changed.")
