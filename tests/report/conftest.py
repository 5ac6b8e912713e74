"""A report, written once, and a real browser to open it in."""

from __future__ import annotations

import shutil
import tempfile

import numpy as np
import pytest

from dikmeans import DIKMeans, Search
from dikmeans.datasets import Card, ImageSet
from dikmeans.report import write_report
from tests.report.report_pages import Report

CARD = Card("Digits & <b>friends</b>", "made for a test", "-", "small", "none")
# Names that files may have on a Unix system, and that must stay text.
HOSTILE_NAMES = [
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(2)</script>",
    "\u2028 & \"quoted\" 'name'",
]
BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--disable-dev-shm-usage", "--window-size=1300,900"),
)


@pytest.fixture(scope="session")
def report(real_digits, tmp_path_factory) -> Report:
    """150 digits of five classes in five clusters, three of them with hostile names."""
    X, y = real_digits
    chosen = np.flatnonzero(y < 5)[:150]
    names = [f"scan {i:03d}.png" for i in range(len(chosen))]
    names[: len(HOSTILE_NAMES)] = HOSTILE_NAMES
    classes = ("zero", "one", "two", "three", "four")
    image_set = ImageSet(X[chosen], y[chosen].astype(np.int64), classes, tuple(names), CARD)
    model = DIKMeans(5, random_state=0, search=Search(n_swaps=2)).fit(image_set.images)
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_report(path, model, image_set, assignment=model.assignment_)
    return Report(path, model, image_set)


@pytest.fixture(scope="session")
def chromium(tmp_path_factory):
    """One browser for all tests, which are skipped if there is none."""
    if not BROWSER or not DRIVER:
        pytest.skip("no chromium with chromedriver: tools/browser.sh says how to get them")
    from selenium import webdriver

    downloads = tmp_path_factory.mktemp("downloads")
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        for flag in (*FLAGS, f"--user-data-dir={profile}"):
            options.add_argument(flag)
        options.add_experimental_option("prefs", {"download.default_directory": str(downloads)})
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        driver = webdriver.Chrome(options, webdriver.ChromeService(DRIVER))
        driver.downloads = downloads
        try:
            yield driver
        finally:
            driver.quit()
