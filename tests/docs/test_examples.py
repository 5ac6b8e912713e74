"""Examples and generated pages keep to what the documentation promises of them."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, ROOT

GALLERY = sorted((ROOT / "examples/gallery").rglob("*.py"))
EXAMPLES = [*GALLERY, *sorted((ROOT / "examples/tutorials").rglob("*.py"))]
EXTENSIONS = DOCS / "_extensions"


def lines_of_code(path: Path) -> int:
    """Lines that are neither empty nor text of the page."""
    source = path.read_text()
    text = ast.parse(source).body[0]
    lines = source.splitlines()[text.end_lineno :]
    return sum(bool(line.strip()) and not line.lstrip().startswith("#") for line in lines)


def test_the_gallery_has_at_least_fourteen_examples():
    assert len(GALLERY) >= 14


@pytest.mark.parametrize("path", GALLERY, ids=lambda path: path.stem)
def test_an_example_of_the_gallery_is_short(path):
    assert 12 <= lines_of_code(path) <= 60


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_opens_with_a_title_and_imports_only_public_names(path):
    tree = ast.parse(path.read_text())
    title, rule, *_ = (ast.get_docstring(tree) or "").splitlines()
    assert rule == "=" * len(title)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("dikmeans"):
            module = importlib.import_module(node.module)
            for name in node.names:
                assert hasattr(module, name.name) or importlib.util.find_spec(
                    f"{node.module}.{name.name}"
                )
                assert not name.name.startswith("_")


@pytest.fixture
def api_pages(monkeypatch):
    pytest.importorskip("sphinx")
    monkeypatch.syspath_prepend(str(EXTENSIONS))
    yield importlib.import_module("api_pages")
    sys.modules.pop("api_pages")


def test_every_package_that_is_exported_has_a_page_of_reference(api_pages):
    import dikmeans

    listed = (DOCS / "reference/index.md").read_text().split()
    for name in api_pages.PACKAGES:
        assert f"api/{name}" in listed
    packages = {
        f"dikmeans.{name}" for name in dikmeans.__all__ if f"dikmeans.{name}" in sys.modules
    }
    for package in packages:
        module = sys.modules[package]
        assert package in api_pages.PACKAGES or not hasattr(module, "__path__")


def test_formats_and_versions_of_the_page_on_files_are_those_of_the_code():
    constants = re.compile(r'^(\w*)FORMAT, \1VERSION = "([\w-]+)", (\d+)$', re.M)
    in_code = {
        (name, version)
        for path in (ROOT / "src").rglob("*.py")
        for _, name, version in constants.findall(path.read_text())
    }
    page = (DOCS / "reference/file-formats.md").read_text()
    documented = set(re.findall(r"\| `(dikmeans-[\w-]+)` \| (\d+) \|", page))
    assert documented == in_code


WITHOUT_TORCH = """
import sys
from types import SimpleNamespace

class NoTorch:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            raise ModuleNotFoundError("not installed", name="torch")

sys.meta_path.insert(0, NoTorch())
sys.path.insert(0, sys.argv[1])
import api_pages

config = SimpleNamespace(autodoc_mock_imports=["torch"])
api_pages.write_pages(SimpleNamespace(srcdir=sys.argv[2]), config)
"""


def test_the_reference_lists_the_baselines_where_torch_is_not_installed(tmp_path):
    pytest.importorskip("sphinx")
    command = [sys.executable, "-c", WITHOUT_TORCH, EXTENSIONS, tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    page = tmp_path / "reference/api/dikmeans.paper.baselines.rst"
    assert page.read_text().split()[-3:] == ["DEC", "AutoencoderKMeans", "VaDE"]
