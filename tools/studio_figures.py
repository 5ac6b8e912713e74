"""Pictures of the studio for the documentation, taken while a person's steps are played.

    python tools/studio_figures.py RUN docs/results/figures

Works on a copy of RUN. Needs Chromium and chromedriver; see `tools/browser.sh`.
"""

from __future__ import annotations

import base64
import io
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from PIL import Image
from selenium import webdriver

FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
WIDTH, HEIGHT = 1240, 800
SETTLED_SECONDS = 3.0
COLORS = 128
# Names of the files, and the script that leads to what they show; in this order.
STEPS = {
    "studio-overview": "",
    "studio-rename": "location.hash = 'cluster/c1'; setTimeout(() => byId('name').click(), 800);"
    "setTimeout(() => { document.querySelector('input.rename').value = 'fist' }, 1200)",
    "studio-select": "document.activeElement.blur(); setTimeout(() => {"
    "const tiles = document.querySelectorAll('#members .tile'); tiles[5].click();"
    "tiles[7].dispatchEvent(new MouseEvent('click', {bubbles: true, shiftKey: true})) }, 1200)",
    "studio-merge": "clearSelection(); askMerge('c1')",
    "studio-doubtful": "byId('choose').close(); location.hash = 'doubtful'",
    "studio-picture": "location.hash = `picture/${queue[0].number}`; toggleTheme()",
    "studio-map": "toggleTheme(); location.hash = 'map'",
    "studio-compare": "edit([{kind: 'merge', clusters: ['c2'], into: 'c1'}]).then(startRefit)",
}
# What must be in the page before a picture of it is taken.
AWAITED = {"studio-map": "iframe", "studio-compare": "#keep", "studio-merge": "#choose[open] img"}


def main(run: Path, folder: Path) -> None:
    """Write one PNG per step."""
    options = webdriver.ChromeOptions()
    for flag in FLAGS:
        options.add_argument(flag)
    options.binary_location = shutil.which("chromium")
    with tempfile.TemporaryDirectory() as place:
        copy = shutil.copytree(run, Path(place) / run.name)
        command = [sys.executable, "-m", "dikmeans.cli", "studio", str(copy), "--no-browser"]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        driver = webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))
        try:
            assert server.stdout is not None
            size = {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False}
            driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
            driver.get(server.stdout.readline().split()[1])
            for name, script in STEPS.items():
                driver.execute_script(script)
                take(driver, folder / f"{name}.png", AWAITED.get(name, "main h1"))
        finally:
            driver.quit()
            server.terminate()
            server.wait()


def take(driver: webdriver.Chrome, path: Path, awaited: str) -> None:
    """A picture of the page once it shows what it should, in few colors: it is small then."""
    while not driver.find_elements("css selector", awaited):
        time.sleep(0.2)
    time.sleep(SETTLED_SECONDS)
    shot = driver.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})
    image = Image.open(io.BytesIO(base64.b64decode(shot["data"]))).convert("RGB")
    image.quantize(COLORS, dither=Image.Dither.NONE).save(path, optimize=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
