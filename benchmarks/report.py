"""A report beside the fit it shows: processor time of both, and the size of the page.

    python -m benchmarks.report FOLDER 8 [2000]

clusters at most so many pictures of FOLDER into 8 clusters. Wall-clock time is left out: it tells
how busy the machine is.
"""

from __future__ import annotations

import sys
import tempfile
import time
import warnings
from pathlib import Path

from dikmeans import DIKMeans
from dikmeans.datasets import ImageSource
from dikmeans.report import write_report
from dikmeans.runs import find_originals


def main(folder: str, n_clusters: int, limit: int = 2000) -> None:
    source = ImageSource.resolve(folder, options={"largest_side": 64}, limit=limit)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # reduced sizes
        images = source.load()
    start = time.process_time()
    model = DIKMeans(n_clusters, random_state=0).fit(images.images)
    fitted = time.process_time()
    with tempfile.TemporaryDirectory() as place:
        originals = find_originals(images, source)
        page = write_report(
            Path(place) / "report.html",
            model,
            images,
            originals=originals,
            assignment=model.assignment_,
        )
        made, size = time.process_time(), page.stat().st_size
    print(f"{len(images):,} pictures of {'x'.join(map(str, images.shape))}, {n_clusters} clusters")
    print(f"fit    {fitted - start:7.1f} s of processor time")
    print(f"report {made - fitted:7.1f} s of processor time, {size / 1e6:.1f} MB")


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
