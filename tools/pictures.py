"""Pictures of the demonstration, of a report and of the studio, for README and documentation.

    python tools/pictures.py docs/results/figures

The report and the studio show 300 photographs of hands (Rock-Paper-Scissors, from `DIKMEANS_DATA`
or downloaded). Needs Chromium and chromedriver; see `tools/browser.sh`.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from dikmeans import DIKMeans, plot
from dikmeans.datasets.files.paths import get_data_home
from dikmeans.datasets.files.tree import open_tree
from dikmeans.datasets.pictures.decode import PICTURE_EXTENSIONS
from dikmeans.datasets.sets.rock_paper_scissors import FILES, GESTURES
from dikmeans.demo import load_digits, run_demo

TOOLS = Path(__file__).parent
N_HANDS, N_DIGITS = 300, 5000


def demonstration(folder: Path, scratch: Path) -> None:
    """Centroids of the demonstration, and the prototypes of its last model."""
    run_demo(output=scratch)
    (scratch / "demo-centroids.png").replace(folder / "demo-centroids.png")
    model = DIKMeans(10, random_state=0).fit(load_digits(N_DIGITS, 0).images)
    plot.prototypes(model).savefig(folder / "demo-prototypes.png", dpi=150)


def pages(folder: Path, scratch: Path) -> None:
    """A run of the command line, in the report and in the studio."""
    hands = scratch / "hands"
    for path in FILES.read("train", get_data_home(), True):
        with open_tree(path) as tree:
            names = [name for name in tree.names if Path(name).suffix in PICTURE_EXTENSIONS]
            for name in names[:: len(names) // (N_HANDS // len(GESTURES))]:
                photograph = hands / Path(name).parent.name / Path(name).name
                photograph.parent.mkdir(parents=True, exist_ok=True)
                photograph.write_bytes(tree.read(name))
    run = scratch / "run"
    command = [sys.executable, "-m", "dikmeans.cli", "fit", str(hands), "-k", "3"]
    subprocess.run([*command, "-o", str(run)], check=True)
    for script, shown in (("report_figures", run / "report.html"), ("studio_figures", run)):
        command = [sys.executable, str(TOOLS / f"{script}.py"), str(shown), str(folder)]
        subprocess.run(command, check=True)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        demonstration(Path(sys.argv[1]), Path(scratch))
        pages(Path(sys.argv[1]), Path(scratch))
