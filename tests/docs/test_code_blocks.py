"""Every code block of README and documentation does what it says.

Python blocks of a page run one after another, as a reader would type them, at a desk where small
pictures lie (`tests/docs/conftest.py`). Blocks with ``>>>`` must print what they show, others what
stands in a block of text right after them. Commands must be ones that the program understands, and
those of `EXECUTED` pages are run.
"""

from __future__ import annotations

import doctest
import importlib.util
import io
import json
import re
import shlex
import shutil
import tomllib
import warnings
from collections.abc import Iterator
from contextlib import redirect_stdout

import pytest
import typer
from typer.testing import CliRunner

from dikmeans.cli import app
from dikmeans.edits import edit_from_json
from tests.docs.pages import ROOT, Block, code_blocks, inline_tokens, page_name, pages

PAGES = {page_name(page): page for page in pages()}
# What is another thing here: a cluster of machines, a shared disk, a GPU; what would take hours.
REPLACED = {
    '"tcp://scheduler:8786"': "processes=False, n_workers=1, dashboard_address=None",
    '"/shared/images.zarr", shape': '"written.zarr", shape',
    '"/shared/': '"',
    '"cuda"': "None",  # no device: the compiled loops
    "verbose=1)": "max_steps=2)",  # of the training of a network
    "PAPER_GRID).fit": '{"landmarks": [3, 4]}).fit',
}
# Blocks that no test can run, by what stands in them; they are compiled.
NOT_RUN = {
    'load("mnist", "test")': "downloads the data set",
    "SLURMCluster(": "needs the queue of a computing center",
}
EXECUTED = ("README.md", "docs/tutorials/own-folder.md", "docs/refine.md")
# Commands that do not end by themselves, or take minutes: only parsed.
NOT_EXECUTED = {"studio", "demo", "reproduce", "choose-k"}


def python_blocks(name: str) -> list[Block]:
    return [block for block in code_blocks(PAGES[name]) if block.language.split()[:1] == ["python"]]


def shown_output(block: Block) -> str | None:
    """What a page shows right after a block as its output, if it does."""
    blocks = code_blocks(PAGES[block.page])
    after = blocks[blocks.index(block) + 1 :]
    return after[0].text if after and after[0].language == "text" else None


def run(block: Block, names: dict[str, object]) -> None:
    """Run a block, and compare what it prints with what the page shows."""
    text = block.text
    for old, new in REPLACED.items():
        text = text.replace(old, new)
    if ">>>" in text:
        where = f"{block.page}:{block.line}"
        test = doctest.DocTestParser().get_doctest(text, names, where, where, block.line)
        runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
        runner.run(test, clear_globs=False)
        assert runner.failures == 0, f"{where}: see the output above"
        names.update(test.globs)
        return
    # lines keep their numbers, so that a traceback leads to the page
    code = compile("\n" * block.line + text, block.page, "exec")
    if not any(mark in block.text for mark in NOT_RUN):
        with redirect_stdout(io.StringIO()) as printed:
            exec(code, names)
        shown = shown_output(block)
        assert shown is None or printed.getvalue() == shown, f"{block.page}:{block.line}"


@pytest.mark.parametrize("name", [name for name in PAGES if python_blocks(name)])
def test_python_blocks_of_a_page_run_in_their_order(name, names):
    if name == "docs/baselines.md":
        pytest.importorskip("torch")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # notes to users, as on the size of pictures
            for block in python_blocks(name):
                run(block, names)
    finally:
        if "client" in names:
            names["client"].close()


def test_blocks_that_are_not_run_still_exist():
    text = "".join(page.read_text() for page in PAGES.values())
    assert all(mark in text for mark in (*NOT_RUN, *REPLACED))


@pytest.mark.parametrize(
    "name",
    [name for name, page in PAGES.items() if any(b.language == "json" for b in code_blocks(page))],
)
def test_edits_that_a_page_shows_are_edits(name):
    for block in code_blocks(PAGES[name]):
        if block.language == "json":
            assert [edit_from_json(entry) for entry in json.loads(block.text)]


# -- commands ------------------------------------------------------------------------------------


def commands(name: str) -> Iterator[list[str]]:
    """Command lines in the blocks of a page that are no Python, as lists of words."""
    for block in code_blocks(PAGES[name]):
        if block.language in ("", "bash", "console"):
            text = block.text.replace("\\\n", " ")
            for line in text.splitlines():
                line = line.removeprefix("$ ").strip()
                if re.match(r"(dikmeans|pip|make|python) ", line):
                    yield shlex.split(line, comments=True)


PAGES_WITH_COMMANDS = [name for name in PAGES if any(commands(name))]


def find_command(words: list[str]) -> tuple[object, object, list[str]]:
    """The (sub)command that words name, its context, and the words that are left."""
    command = typer.main.get_command(app)
    context = typer.Context(command, info_name="dikmeans")
    while hasattr(command, "list_commands"):
        name, *words = words
        found = command.get_command(context, name)
        assert found is not None, f"there is no command {name!r}"
        command, context = found, typer.Context(found, context, name)
    return command, context, words


@pytest.mark.parametrize("name", PAGES_WITH_COMMANDS)
def test_commands_of_a_page_are_understood(name):
    makefile = (ROOT / "Makefile").read_text()
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    for program, *words in commands(name):
        if program == "dikmeans" and "-" not in words[0][:1] and not words[0].isupper():
            command, context, rest = find_command(words)
            if "..." not in rest:
                command.make_context(context.info_name, rest, parent=context.parent)
        elif program == "pip":
            for extra in re.findall(r"\[([\w,]+)\]", " ".join(words)):
                assert set(extra.split(",")) <= set(extras), f"no extra {extra!r}"
        elif program == "make":
            assert re.search(rf"^{words[0]}:", makefile, re.M), f"make {words[0]}"
        elif program == "python" and words[:1] == ["-m"] and words[1].startswith("benchmarks."):
            assert importlib.util.find_spec(words[1]) is not None, words[1]
        elif program == "python" and words[0].endswith(".py"):
            assert (ROOT / words[0]).exists(), words[0]


@pytest.mark.parametrize("name", PAGES)
def test_options_within_sentences_are_options(name):
    for token in inline_tokens(PAGES[name]):
        if token.type == "code_inline" and re.match(r"dikmeans [a-z-]+ ", token.content):
            words = token.content.partition("|")[0].split()[1:]  # not what it is piped to
            command, context, rest = find_command(words)
            known = {
                option
                for parameter in command.get_params(context)
                for option in (*parameter.opts, *parameter.secondary_opts)
            }
            used = {word for word in rest if re.match("--?[a-z]", word)}
            assert used <= known, f"{token.content}: {used - known}"


@pytest.mark.parametrize("name", EXECUTED)
def test_commands_of_the_pages_that_people_start_with_run(name, desk):
    lines = [words for program, *words in commands(name) if program == "dikmeans"]
    if any(words[0] == "fit" for words in lines):
        shutil.rmtree("run")  # the page makes it
    for words in lines:
        if words[0] not in NOT_EXECUTED:
            done = CliRunner().invoke(app, words)
            assert done.exit_code == 0, f"dikmeans {shlex.join(words)}: {done.output}"
