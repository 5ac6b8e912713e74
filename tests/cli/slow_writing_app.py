"""The command line with a disk so slow that a test can stop it while it writes a run."""

from __future__ import annotations

import sys
import time

from dikmeans.cli import app
from dikmeans.runs import run_folder


def write_forever(*_: object) -> None:
    print("writing", file=sys.stderr, flush=True)
    time.sleep(600)


if __name__ == "__main__":  # pytest imports this file too
    run_folder.write_picture = write_forever
    app()
