"""What figures and report are made of, fitted once; and a real browser to open the report with."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from report_pages import embedded_data
from sklearn.datasets import load_digits

from dikmeans import DIKMeans
from dikmeans.datasets import Card, ImageSet
from dikmeans.report import write_report

CARD = Card("Digits & <b>friends</b>", "made for a test", "-", "small", "none")
# What a file may be called on a Unix system, and what must stay text.
EVIL_NAMES = [
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(2)</script>",
    "\u2028 & \"quoted\" 'name'",
]
BROWSER, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-dev-shm-usage --window-size=1300,900"
)


@dataclass(frozen=True)
class Report:
    """A report's file with what it was made from."""

    path: Path
    model: DIKMeans
    image_set: ImageSet

    @property
    def payload(self) -> dict[str, Any]:
        """The data that the page embeds."""
        return embedded_data(self.path)


@pytest.fixture(scope="session")
def report(real_digits, tmp_path_factory) -> Report:
    """150 digits of five classes in five clusters, three of them with names that attack the page."""
    X, y = real_digits
    chosen = np.flatnonzero(y < 5)[:150]
    names = [f"scan {i:03d}.png" for i in range(len(chosen))]
    names[: len(EVIL_NAMES)] = EVIL_NAMES
    classes = ("zero", "one", "two", "three", "four")
    image_set = ImageSet(X[chosen], y[chosen].astype(np.int64), classes, tuple(names), CARD)
    model = DIKMeans(5, random_state=0, n_swaps=2).fit(image_set.images)
    path = tmp_path_factory.mktemp("report") / "report.html"
    return Report(write_report(path, model, image_set), model, image_set)


@pytest.fixture(scope="session")
def chromium(tmp_path_factory):
    """One browser for all tests; without one they do not run, and `make test` has said so."""
    if not BROWSER or not DRIVER:
        pytest.skip(
            "no chromium with chromedriver on this machine: tools/browser.sh says how to get them"
        )
    from selenium import webdriver

    downloads = tmp_path_factory.mktemp("downloads")
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        for flag in (*FLAGS.split(), f"--user-data-dir={profile}"):
            options.add_argument(flag)
        options.add_experimental_option("prefs", {"download.default_directory": str(downloads)})
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        driver = webdriver.Chrome(options, webdriver.ChromeService(DRIVER))
        driver.downloads = downloads
        try:
            yield driver
        finally:
            driver.quit()


@pytest.fixture(scope="session")
def eights() -> SimpleNamespace:
    """8 x 8 digits 0 to 3, their labels, and a model of them."""
    digits = load_digits()
    chosen = digits.target < 4
    X, y = digits.images[chosen][:90], digits.target[chosen][:90]
    return SimpleNamespace(X=X, y=y, model=DIKMeans(4, n_swaps=0, random_state=0, n_jobs=1).fit(X))
