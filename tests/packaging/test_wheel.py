"""The wheel: what is in it, and that it runs in an environment where nothing else is."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
import zipfile
from email.parser import Parser
from importlib.metadata import requires
from itertools import chain
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def run(*command: str | Path, **options) -> str:
    """The output of a command, which must succeed."""
    done = subprocess.run(command, capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="session")
def wheel(tmp_path_factory) -> Path:
    """The wheel of this source tree."""
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "-o", folder, cwd=ROOT)
    (path,) = folder.glob("*.whl")
    return path


def test_the_wheel_has_all_files_of_the_package_and_no_others(wheel):
    def is_source(path: Path) -> bool:
        return path.is_file() and path.suffix not in (".pyc", ".nbi", ".nbc")

    package = ROOT / "src" / "dikmeans"
    expected = {
        path.relative_to(package.parent).as_posix()
        for path in package.rglob("*")
        if is_source(path)
    }
    assert {"dikmeans/py.typed", "dikmeans/report/assets/main.js"} <= expected
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert {name for name in names if ".dist-info/" not in name} == expected
    assert any(name.endswith("licenses/LICENSE") for name in names)


def test_the_metadata_say_what_is_needed_and_where_to_read_on(wheel):
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        metadata = Parser().parsestr(archive.read(name).decode())
    classifiers = metadata.get_all("Classifier")
    for version in ("3.11", "3.12", "3.13", "3.14"):
        assert f"Programming Language :: Python :: {version}" in classifiers
    assert metadata.get_all("Project-URL")
    extras = [line for line in metadata.get_all("Requires-Dist") if "extra ==" in line]
    assert all(">=" in line for line in extras if not line.startswith("dikmeans["))
    assert any(re.match(r"torch<3,>=", line) for line in extras)


def test_every_lower_bound_is_among_the_oldest_pins():
    text = (ROOT / "requirements" / "oldest.txt").read_text("utf-8")
    pins = dict(re.findall(r"^([\w-]+)(?:\[\w+\])?==([\d.]+)$", text, re.M))
    # what builds the documentation is no part of what a user runs
    extras = [lines for name, lines in PROJECT["optional-dependencies"].items() if name != "docs"]
    bounds = {}
    for line in (*PROJECT["dependencies"], *chain(*extras)):
        name, bound = re.match(r"([\w-]+)(?:\[\w+\])?>=([\d.]+)", line).groups()
        if name != "torch":  # too large to install a second time for a test
            bounds[name] = bound
    assert set(bounds) == set(pins)
    for name, bound in bounds.items():
        assert pins[name] == bound or pins[name].startswith(f"{bound}."), name


def test_the_readme_states_what_its_five_lines_print(wheel):
    code, printed = five_lines()
    assert len([line for line in code.splitlines() if line.strip()]) <= 6
    assert printed


def five_lines() -> tuple[str, list[str]]:
    """The first lines of Python in the README, and what they print as it says there."""
    readme = (ROOT / "README.md").read_text("utf-8")
    code, printed = re.search(r"```python\n(.*?)```\n\n```text\n(.*?)```", readme, re.S).groups()
    return code, printed.splitlines()


@pytest.mark.slow
def test_the_wheel_alone_runs_the_five_lines_and_the_command(wheel, tmp_path):
    run(sys.executable, "-m", "venv", tmp_path / "empty")
    scripts = tmp_path / "empty" / ("Scripts" if sys.platform == "win32" else "bin")
    run(scripts / "python", "-m", "pip", "install", "--quiet", wheel, cwd=tmp_path)
    installed = run(scripts / "python", "-m", "pip", "list", cwd=tmp_path).lower()
    assert not re.search(r"^(pillow|matplotlib|torch|dask|starlette) ", installed, re.M)
    assert "fit" in run(scripts / "dikmeans", "--help", cwd=tmp_path)
    code, printed = five_lines()
    assert run(scripts / "python", "-c", code, cwd=tmp_path).splitlines() == printed
    # what needs an extra says which
    (tmp_path / "pictures").mkdir()
    fit = [scripts / "dikmeans", "fit", "pictures", "-k", "2", "-o", "run"]
    refused = subprocess.run(fit, capture_output=True, text=True, cwd=tmp_path)
    assert refused.returncode != 0
    assert "Traceback" not in refused.stderr


def test_the_environment_of_the_tests_has_what_the_package_asks_for():
    pins = (ROOT / "requirements" / "dev.txt").read_text("utf-8")
    known = {line.split("==")[0] for line in pins.splitlines() if "==" in line}
    needed = {re.match(r"[\w-]+", line)[0] for line in requires("dikmeans") if "extra" not in line}
    assert needed - known <= {"threadpoolctl"}  # comes with scikit-learn
