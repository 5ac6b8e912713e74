"""PyTorch is imported when a baseline is used, and its absence is explained."""

from __future__ import annotations

import subprocess
import sys

import pytest

import dikmeans.paper.baselines


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_the_package_does_not_import_torch():
    code = """
import sys, dikmeans, dikmeans.paper.baselines
dir(dikmeans.paper.baselines)
print("torch" in sys.modules)
"""
    assert run(code).strip() == "False"


def test_without_torch_every_baseline_names_the_extra_to_install():
    code = """
import sys

class NotInstalled:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            raise ModuleNotFoundError("No module named 'torch'", name="torch")

sys.meta_path.insert(0, NotInstalled())
import dikmeans.paper.baselines
for name in dikmeans.paper.baselines.__all__:
    try:
        getattr(dikmeans.paper.baselines, name)
    except ImportError as error:
        print(error)
"""
    lines = run(code).splitlines()
    assert len(lines) == 3
    assert all("'torch'" in line and "pip install 'dikmeans[deep]'" in line for line in lines)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="Transformer"):
        _ = dikmeans.paper.baselines.Transformer


def test_the_baselines_are_listed_before_they_are_imported():
    assert {"AutoencoderKMeans", "DEC", "VaDE"} <= set(dir(dikmeans.paper.baselines))
