"""Pictures of a report for the documentation: a cluster, and why a picture is in it.

    python tools/report_figures.py RUN/report.html docs/results/figures

Needs Chromium and chromedriver; see `tools/browser.sh`.
"""

from __future__ import annotations

import base64
import shutil
import sys
import time
from pathlib import Path

from selenium import webdriver

FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
WIDTH, HEIGHT = 1240, 860
# Names of the files and addresses of the views.
VIEWS = {"report-overview": "overview", "report-cluster": "cluster-0"}
SETTLED_SECONDS = 1.0


def main(page: Path, folder: Path) -> None:
    """Write one PNG per view."""
    options = webdriver.ChromeOptions()
    for flag in FLAGS:
        options.add_argument(flag)
    options.binary_location = shutil.which("chromium")
    driver = webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))
    try:
        size = {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        driver.get(page.resolve().as_uri())
        while not driver.execute_script("return document.documentElement.dataset.ready === ''"):
            time.sleep(0.1)
        driver.execute_script("setTheme('light')")
        # the closest decision has the most to explain
        doubtful = driver.execute_script(
            "return indexOf([...ALL_SLOTS].sort((a, b) => marginOf(a) - marginOf(b))[0])"
        )
        for name, view in {**VIEWS, "report-picture": f"picture-{doubtful}"}.items():
            driver.execute_script("location.hash = arguments[0]", view)
            time.sleep(SETTLED_SECONDS)
            shot = driver.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})
            (folder / f"{name}.png").write_bytes(base64.b64decode(shot["data"]))
    finally:
        driver.quit()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
