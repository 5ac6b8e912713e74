"""The direction of imports, and what may be imported where: read from the source."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import NamedTuple

import pytest

import dikmeans

SOURCE = Path(dikmeans.__file__).parent
MODULES = sorted(SOURCE.rglob("*.py"))

# From the base up: a package may import those before it, and nothing after it. Those in one line
# know nothing of each other, but for what `MAY_ALSO` says.
LAYERS = [
    ["_typing", "errors"],
    ["parameters", "images", "frames"],
    ["io", "parallel"],
    ["registration"],
    ["kmeans"],
    ["preprocessing"],
    ["outofcore", "monitoring"],
    ["checkpoint"],
    ["model_file", "notebook"],
    ["estimator"],
    ["refinement"],
    ["evaluation", "datasets"],
    ["runs", "plot"],
    ["edits"],
    ["report"],
    ["studio"],
    ["demo"],
    ["cli"],
    ["paper"],
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}

# Within a layer.
MAY_ALSO = {("runs", "datasets")}
# For annotations alone, or inside functions: at module level it would be a cycle.
EXCEPTIONS = {("model_file", "estimator")}
# What reads files of data knows nothing of clustering.
ONLY_BASE = {"datasets": {"_typing", "errors", "frames", "images", "io", "parallel"}}

OPTIONAL = {
    "torch": {"registration/torch", "paper/baselines"},
    "dask": set(),
    "distributed": set(),
    "matplotlib": {"plot", "paper/figures"},
    "PIL": set(),
    "soundfile": set(),
    "pooch": set(),
    "starlette": {"studio"},
    "uvicorn": {"studio"},
    "mlxtend": set(),
    "umap": set(),
}


class Import(NamedTuple):
    """One import statement."""

    module: str
    names: tuple[str, ...]
    line: int
    at_top: bool
    for_types: bool


def imports_of(path: Path) -> list[Import]:
    """All imports of a file: at module level, in functions, and those for type checkers."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found: list[Import] = []

    def visit(node: ast.AST, at_top: bool, for_types: bool) -> None:
        if isinstance(node, ast.Import):
            found.extend(Import(a.name, (), node.lineno, at_top, for_types) for a in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: relative import"
            names = tuple(alias.name for alias in node.names)
            found.append(Import(node.module or "", names, node.lineno, at_top, for_types))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            at_top = False
        is_typing = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for field, value in ast.iter_fields(node):
            children = value if isinstance(value, list) else [value]
            for child in children:
                if isinstance(child, ast.AST):
                    visit(child, at_top, for_types or (is_typing and field == "body"))

    visit(tree, True, False)
    return found


def part_of(path: Path) -> str:
    """The package or module below `dikmeans` that a file belongs to."""
    first = path.relative_to(SOURCE).parts[0]
    return first.removesuffix(".py")


def targets(statement: Import) -> set[str]:
    """The packages below `dikmeans` that a statement imports."""
    first, *rest = statement.module.split(".")
    if first != "dikmeans":
        return set()
    if rest:
        return {rest[0]}
    # from dikmeans import DIKMeans: the names that are loaded lazily come from the estimator
    origins = {"DIKMeans": "estimator", "Search": "kmeans", "align": "registration"}
    origins |= {"pairwise_cost": "registration", "__version__": "_typing"}
    return {origins.get(name, name) for name in statement.names}


LIBRARY = [path for path in MODULES if part_of(path) != "__init__"]


def name_of(path: Path) -> str:
    return str(path.relative_to(SOURCE))


def test_every_part_has_its_place():
    parts = {part_of(path) for path in LIBRARY}
    assert parts == set(LEVEL)


@pytest.mark.parametrize("path", LIBRARY, ids=name_of)
def test_imports_lead_downwards(path):
    part = part_of(path)
    for statement in imports_of(path):
        if statement.for_types:
            continue
        for target in targets(statement) - {part}:
            allowed = LEVEL[target] < LEVEL[part] or (part, target) in MAY_ALSO
            if (part, target) in EXCEPTIONS and not statement.at_top:
                allowed = True
            where = f"{name_of(path)}:{statement.line}"
            assert allowed, f"{where} imports {target}, which is above it or beside it"
            if part in ONLY_BASE:
                assert target in ONLY_BASE[part], f"{where} imports {target}"


@pytest.mark.parametrize("path", LIBRARY, ids=name_of)
def test_nothing_outside_the_papers_part_imports_it(path):
    if part_of(path) == "paper":
        return
    for statement in imports_of(path):
        assert "paper" not in targets(statement), f"{name_of(path)}:{statement.line}"


@pytest.mark.parametrize("path", LIBRARY, ids=name_of)
def test_no_package_imports_the_siblings_of_its_parent_upwards(path):
    """A module in a subpackage may import its parent's other modules only if they do not import it.

    ``registration/torch`` uses ``registration``; what of ``registration`` uses ``torch`` does so in
    functions, when a device has been asked for.
    """
    parts = path.relative_to(SOURCE).parts
    for statement in imports_of(path):
        segments = statement.module.split(".")[1:]
        is_below = (
            statement.module.startswith("dikmeans.")
            and len(segments) > 2
            and segments[0] == parts[0]
            and (SOURCE / segments[0] / segments[1]).is_dir()
        )
        if not is_below or (len(parts) > 2 and parts[1] == segments[1]) or not statement.at_top:
            continue
        for other in (SOURCE / segments[0] / segments[1]).rglob("*.py"):
            for back in imports_of(other):
                own = ".".join(["dikmeans", *parts]).removesuffix(".py").removesuffix(".__init__")
                cyclic = back.at_top and not back.for_types and back.module == own
                assert not cyclic, f"{name_of(path)} and {name_of(other)} import each other"


@pytest.mark.parametrize("path", LIBRARY, ids=name_of)
def test_optional_libraries_are_imported_where_they_are_used(path):
    place = name_of(path)
    for statement in imports_of(path):
        library = statement.module.split(".")[0]
        if library not in OPTIONAL or statement.for_types or not statement.at_top:
            continue
        at_home = any(place.startswith(f"{home}/") for home in OPTIONAL[library])
        assert at_home, f"{place}:{statement.line} imports {library} at module level"


@pytest.mark.parametrize("path", LIBRARY, ids=name_of)
def test_nothing_private_of_scikit_learn_is_imported(path):
    for statement in imports_of(path):
        if statement.module.split(".")[0] != "sklearn":
            continue
        names = [*statement.module.split("."), *statement.names]
        private = [name for name in names if name.startswith("_")]
        assert not private, f"{name_of(path)}:{statement.line} imports {private}"


def test_a_user_should_know_at_most_nineteen_parameters():
    assert len(dikmeans.DIKMeans._get_param_names()) <= 19
