"""The command `dikmeans` itself: help that answers at once, and commands of other packages."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
from typing import get_args

import pytest
import typer
from typer.testing import CliRunner

from dikmeans.cli import app, options
from dikmeans.preprocessing import PREPROCESSORS
from tests.cli.conftest import invoke

COMMANDS = typer.Typer(no_args_is_help=True, help="Count things.")


@COMMANDS.command()
def ducks(number: int) -> None:
    """Count ducks."""
    typer.echo(f"{number} ducks")


@COMMANDS.command()
def geese() -> None:
    """Count geese."""


@pytest.fixture
def with_plugin(monkeypatch):
    entry_point = importlib.metadata.EntryPoint(
        "count", "tests.cli.test_app:COMMANDS", "dikmeans.commands"
    )

    def entry_points(*, group: str) -> importlib.metadata.EntryPoints:
        assert group == "dikmeans.commands"
        return importlib.metadata.EntryPoints([entry_point])

    monkeypatch.setattr(importlib.metadata, "entry_points", entry_points)


def test_an_entry_point_becomes_a_command(with_plugin):
    assert "Count things." in invoke("--help").stdout
    assert "Count geese." in invoke("count", "--help").stdout
    assert invoke("count", "ducks", 3).stdout == "3 ducks\n"
    assert invoke("count", "ducks", "three").exit_code == 2


def test_commands_of_other_packages_are_imported_only_when_needed(monkeypatch, tmp_path):
    def entry_points(*, group: str) -> None:
        pytest.fail("looked for other packages")

    monkeypatch.setattr(importlib.metadata, "entry_points", entry_points)
    assert invoke("info", tmp_path).exit_code == 2


def test_help_and_version_need_neither_numba_nor_scikit_learn():
    code = (
        "import sys\n"
        "from typer.testing import CliRunner\n"
        "from dikmeans.cli import app\n"
        "for words in (['--help'], ['--version'], ['fit', '--help'], ['choose-k', '--help']):\n"
        "    assert CliRunner().invoke(app, words).exit_code == 0\n"
        "heavy = {'numba', 'sklearn', 'scipy', 'numpy'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_help_shows_the_extra_that_a_device_needs():
    done = CliRunner(env={"COLUMNS": "200"}).invoke(app, ["fit", "--help"])
    assert "dikmeans[deep]" in done.stdout


@pytest.mark.parametrize(
    "words", [[], ["fit"], ["studio"], ["reproduce"], ["reproduce", "table"]], ids=" ".join
)
def test_help_shows_flags_without_a_type(words):
    shown = CliRunner(env={"COLUMNS": "100"}).invoke(app, [*words, "--help"]).stdout
    assert "Show this message and exit." in shown
    assert "bool" not in shown.lower()


def test_every_preprocessing_can_be_named():
    names, _ = get_args(options.Preprocessing)
    assert set(get_args(names)) == {"auto", "none", *filter(None, PREPROCESSORS)}


def test_the_version_is_that_of_the_package():
    assert invoke("--version").stdout == f"dikmeans {importlib.metadata.version('dikmeans')}\n"
