"""A user's script under a type checker: the package has types, and they are found (py.typed)."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from tests.packaging.test_wheel import wheel  # noqa: F401 -- a fixture

GOOD = """
import numpy as np
from numpy.typing import NDArray

from dikmeans import DIKMeans, align, pairwise_cost

X: NDArray[np.float32] = np.zeros((20, 8, 8), np.float32)
model: DIKMeans = DIKMeans(n_clusters=3, warp="affine", random_state=0).fit(X)
cost: float = model.inertia_
names: list[str | None] = list(model.cluster_names_)
"""
BAD = """
from dikmeans import DIKMeans, pairwise_cost

DIKMeans(n_clusters="ten")
DIKMeans(warp="spline")
pairwise_cost([[0.0]], [[0.0]], no_such_option=1)
"""


@pytest.fixture(scope="module")
def checker(wheel, tmp_path_factory):  # noqa: F811
    """Runs mypy on a script, in an environment into which the wheel was installed."""
    folder = tmp_path_factory.mktemp("typed")
    venv.create(folder / "env")
    paths = {"base": str(folder / "env"), "platbase": str(folder / "env")}
    site = Path(sysconfig.get_path("purelib", vars=paths))
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    # what the package needs is taken from here, but not the package itself
    needed = Path(sysconfig.get_path("purelib"))
    for name in ("numpy", "typing_extensions.py"):
        if (needed / name).exists():
            (site / name).symlink_to(needed / name)
    python = folder / "env" / ("Scripts" if sys.platform == "win32" else "bin") / "python"

    def check(text: str) -> list[str]:
        (folder / "script.py").write_text(text)
        command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary"]
        command += ["--python-executable", str(python), "--cache-dir", str(folder / "cache")]
        done = subprocess.run(
            [*command, "script.py"], capture_output=True, text=True, cwd=folder, env={"PATH": ""}
        )
        assert done.stderr == ""
        return done.stdout.splitlines()

    return check


def test_a_script_that_uses_the_package_rightly_passes(checker):
    assert checker(GOOD) == []


def test_wrong_arguments_and_names_are_found(checker):
    found = checker(BAD)
    assert [line.split(":")[1] for line in found if "error" in line] == ["4", "5", "6"]
