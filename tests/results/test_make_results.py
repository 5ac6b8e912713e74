"""`make results`: which parts are made, what stands on the pages, and what a failure leaves."""

from __future__ import annotations

import importlib.util
import subprocess
from pathlib import Path

import pytest
from benchmarks.results import __main__ as command
from benchmarks.results.catalog import PARTS
from benchmarks.results.page import blocks, clear_block, write_block
from benchmarks.results.part import Part, PartError, PicturesPart, TablePart, without_missing_rows
from benchmarks.results.provenance import Provenance

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "docs" / "results"
PAGE = """# Speed

By hand.

<!-- results: hello -->
<!-- end of results -->

Between.

<!-- results: sum -->
<!-- end of results -->

After.
"""


def script(text: str) -> str:
    return f"python -c {text}"


HELLO = Part("hello", "speed.md", script("print('hello')"), 1, code=("src",))
SUM = Part("sum", "speed.md", script("print(1+1)"), 1, code=("src",))
FAILS = Part("sum", "speed.md", script("raise(SystemExit(3))"), 1, code=("src",))


def git(root: Path, *arguments: str) -> str:
    name = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    done = subprocess.run(
        ("git", *name, *arguments), cwd=root, check=True, capture_output=True, text=True
    )
    return done.stdout


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A repository with one page and one source."""
    monkeypatch.setattr(command, "PARTS", {part.name: part for part in (HELLO, SUM)})
    page = tmp_path / "docs" / "results" / "speed.md"
    page.parent.mkdir(parents=True)
    page.write_text(PAGE)
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "code.py").write_text("x = 1\n")
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "-m", "first")
    return tmp_path


def page_of(root: Path) -> Path:
    return root / "docs" / "results" / "speed.md"


def states(root: Path) -> list[str]:
    return [command.state(part, root).split(":")[0] for part in (HELLO, SUM)]


def commit(root: Path, text: str) -> None:
    (root / "src" / "code.py").write_text(text)
    git(root, "commit", "--quiet", "-am", "change")


def test_every_missing_part_is_made_and_nothing_else_on_the_page_changes(root):
    assert states(root) == ["missing", "missing"]
    assert command.main([], root) == 0
    made = blocks(page_of(root))
    assert {name: block.output for name, block in made.items()} == {"hello": "hello", "sum": "2"}
    head = git(root, "rev-parse", "--short=7", "HEAD").strip()
    assert {block.provenance.commit for block in made.values()} == {head}
    assert made["hello"].command == HELLO.command
    prose = [line for line in PAGE.splitlines() if line and not line.startswith("<!--")]
    kept = page_of(root).read_text().splitlines()
    assert [line for line in kept if line in prose] == prose
    assert states(root) == ["current", "current"]


def test_what_is_current_is_not_made_again_unless_it_is_named(root, monkeypatch):
    command.main([], root)
    made = []
    monkeypatch.setattr(Part, "run", lambda part, *_: made.append(part.name) or "again")
    assert command.main([], root) == 0
    assert made == []
    assert command.main(["sum"], root) == 0
    assert made == ["sum"]
    assert blocks(page_of(root))["sum"].output == "again"


def test_a_change_of_the_code_makes_figures_old_and_clearing_removes_them(root, capsys):
    command.main([], root)
    commit(root, "x = 2\n")
    assert states(root) == ["older", "older"]
    command.main(["--list"], root)
    assert capsys.readouterr().out.count("the code has changed since") == 2
    command.main(["--clear", "sum"], root)
    assert states(root) == ["older", "missing"]
    assert "make results PARTS=sum" in page_of(root).read_text()


def test_a_change_elsewhere_leaves_them_current(root):
    command.main([], root)
    (root / "notes.txt").write_text("new")
    git(root, "add", ".")
    git(root, "commit", "--quiet", "-m", "notes")
    assert states(root) == ["current", "current"]


def test_comments_and_annotations_leave_them_current(root):
    commit(root, "def f(x):\n    return x + 1\n")
    command.main([], root)
    commit(root, 'def f(x: int) -> int:\n    """Add one."""\n    return x + 1  # one\n')
    assert states(root) == ["current", "current"]
    commit(root, 'def f(x: int) -> int:\n    """Add one."""\n    return x + 2  # one\n')
    assert states(root) == ["older", "older"]


def test_a_listed_refactoring_leaves_them_current(root):
    command.main([], root)
    commit(root, "y = 1\n")
    assert states(root) == ["older", "older"]
    [done] = git(root, "log", "-1", "--format=%h", "--abbrev=7").split()
    listed = root / "benchmarks" / "results" / "refactorings.txt"
    listed.parent.mkdir(parents=True)
    listed.write_text(f"# why\n{done} renamed\n")
    assert states(root) == ["current", "current"]
    commit(root, "y = 2\n")
    assert states(root) == ["older", "older"]


def test_a_commit_that_is_not_there_makes_a_figure_old(root):
    write_block(page_of(root), SUM, Provenance("0123abc", "2026-01-31", "two cores"), "2")
    assert command.state(SUM, root) == "older: the code has changed since 0123abc"


def test_a_change_of_the_benchmark_makes_its_figures_old():
    part = Part("kernel", "speed.md", "python -m benchmarks.kernel --quick", 1, code=("src",))
    assert part.sources == ("src", "benchmarks/kernel.py")
    assert HELLO.sources == ("src",)


def test_another_command_makes_a_figure_old(root, monkeypatch):
    command.main([], root)
    longer = Part("sum", "speed.md", script("print(1+1+1)"), 1, code=("src",))
    assert command.state(longer, root).startswith("older: made by another command")


def test_a_part_that_fails_is_named_and_the_others_are_made(root, monkeypatch, capsys):
    monkeypatch.setattr(command, "PARTS", {"sum": FAILS, "hello": HELLO})
    before = page_of(root).read_text()
    assert command.main([], root) == 1
    assert "Not made: sum: it ended with exit code 3." in capsys.readouterr().err
    assert states(root) == ["current", "missing"]
    assert page_of(root).read_text() != before


def test_uncommitted_code_makes_no_figure(root, capsys):
    (root / "src" / "code.py").write_text("x = 3\n")
    assert command.main(["sum"], root) == 1
    assert "commit first" in capsys.readouterr().err
    assert states(root)[1] == "missing"


def test_no_part_starts_after_the_minutes_are_over(root):
    assert command.main(["--minutes", "0"], root) == 0
    assert states(root) == ["missing", "missing"]


def test_an_unknown_part_is_answered_with_those_there_are(root, capsys):
    with pytest.raises(SystemExit):
        command.main(["kernle"], root)
    error = capsys.readouterr().err
    assert "no part kernle" in error
    assert "hello, sum" in error


def test_a_page_without_the_marks_is_named(root):
    part = Part("other", "speed.md", "python", 1)
    with pytest.raises(PartError, match=r"speed\.md has 0 blocks <!-- results: other -->"):
        clear_block(page_of(root), part)


def test_a_picture_that_was_not_made_is_named(root):
    part = PicturesPart("sum", "speed.md", script("pass"), 1, pictures=("centroids",))
    with pytest.raises(PartError, match="made no centroids"):
        part.run(root, None)


def test_rows_without_a_run_are_counted_not_shown():
    rows = "| a | 1 |\n| b | not run |\n| c | not run |\n\nNotes."
    shown = without_missing_rows(rows)
    assert shown == "| a | 1 |\n\nNotes.\n\nRows that have no run yet, and are left out: 2."
    assert without_missing_rows("| a | 1 |\n") == "| a | 1 |\n"


@pytest.mark.parametrize(
    ("row", "is_complete"),
    [
        ("| MNIST | DEC | 85.4 | 3 | all 60,000 |", True),
        ("| MNIST | DEC | 85.4 | 10 | 2,000 of 60,000 |", True),
        ("| MNIST | DEC | 85.4 | 1 of 3 | all 60,000 |", False),
        ("| MNIST | DEC | 85.4 | 1 of 3 | 2,000 of 60,000 |", False),
        ("Rows that have no run yet, and are left out: 2.", False),
    ],
)
def test_a_table_that_lacks_runs_is_unfinished(row, is_complete):
    table = TablePart("table", "table.md", "dikmeans reproduce table", 1)
    assert table.is_complete(f"{row}\n\nNotes.") == is_complete


def test_provenance_is_read_as_it_was_written():
    written = Provenance("0123abc", "2026-01-31", "AMD EPYC with AVX2, 2 cores, Python 3.11.7")
    assert Provenance.parse(str(written)) == written
    assert Provenance.parse("Measured one evening.") is None


def test_a_block_with_lines_of_its_own_comes_back_whole(root):
    provenance = Provenance("0123abc", "2026-01-31", "two cores")
    table = "| a |\n|--:|\n| 1 |\n\nCommit to memory."
    write_block(page_of(root), SUM, provenance, f"\n{table}\n\n")
    block = blocks(page_of(root))["sum"]
    assert (block.provenance, block.output) == (provenance, table)


def test_pages_and_parts_belong_together():
    """Each part has a block on its page, each block a part, and its command is the part's."""
    pages = {page.relative_to(RESULTS).as_posix(): blocks(page) for page in RESULTS.rglob("*.md")}
    found = {(page, name) for page, found in pages.items() for name in found}
    assert found == {(part.page, part.name) for part in PARTS.values()}
    for part in PARTS.values():
        block = pages[part.page][part.name]
        assert block.provenance is None or block.command == part.command, part.name


def test_every_command_of_a_part_exists():
    for part in PARTS.values():
        program, *words = part.command.split()
        assert program in ("python", "dikmeans"), part.name
        if words[0] == "-m":
            assert importlib.util.find_spec(words[1]) is not None, part.name
