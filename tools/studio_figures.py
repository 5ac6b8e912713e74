"""Pictures of the studio for the documentation, taken while a person's steps are played.

    python tools/studio_figures.py RUN docs/results/figures

Works on a copy of RUN. Needs Chromium and chromedriver; see `tools/browser.sh`.
"""

from __future__ import annotations

import base64
import csv
import io
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from PIL import Image
from selenium import webdriver

FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
WIDTH, HEIGHT = 1240, 800
SETTLED_SECONDS, LONGEST_SECONDS = 2.0, 600
COLORS = 128
# Names of the files, and the script that leads to what they show; in this order. `shown` is the
# cluster with most pictures of the folder that it is named after, `other` another one.
NAME = "scissors"
STEPS = {
    "studio-overview": "await there('.card')",
    "studio-rename": """location.hash = `cluster/${shown}`; await there('#members .tile');
        byId('name').click(); document.querySelector('input.rename').value = 'scissors'""",
    "studio-select": """document.activeElement.blur(); await there('.strip [title^=scissors]');
        await edit([{kind: 'note', cluster: shown, text: 'Four fingers in some: look again.'}]);
        await there('#members .tile:nth-child(8)');
        const tiles = document.querySelectorAll('#members .tile'); tiles[5].click();
        tiles[7].dispatchEvent(new MouseEvent('click', {bubbles: true, shiftKey: true}))""",
    "studio-merge": "clearSelection(); askMerge(shown); await there('#choose[open] img')",
    "studio-doubtful": """byId('choose').close(); location.hash = 'doubtful';
        await there('.decision')""",
    "studio-picture": """location.hash = `picture/${queue[0].number}`; toggleTheme();
        await there('iframe[style*=height]')""",
    "studio-map": """toggleTheme(); location.hash = 'map';
        await there('main.map iframe[style*=height]')""",
    "studio-compare": """edit([{kind: 'merge', clusters: [other], into: shown}]).then(startRefit);
        await there('#keep')""",
}
# Around each step: a way to wait for something, and at the end for all pictures in view.
STEP = """const shown = 'c%d', other = 'c%d';
const done = arguments[arguments.length - 1];
const sleep = () => new Promise((resolve) => setTimeout(resolve, 200));
const there = async (what) => { while (!document.querySelector(what)) await sleep(); };
(async () => {
  %s;
  await sleep();
  const inView = (image) => image.getBoundingClientRect().top < innerHeight;
  const isThere = (image) => image.complete && image.naturalWidth > 0;
  while (![...document.images].filter(inView).every(isThere)) await sleep();
})().then(done);"""


def main(run: Path, folder: Path) -> None:
    """Write one PNG per step."""
    options = webdriver.ChromeOptions()
    for flag in FLAGS:
        options.add_argument(flag)
    options.binary_location = shutil.which("chromium")
    with tempfile.TemporaryDirectory() as place:
        shown, other = clusters_to_show(run)
        copy = shutil.copytree(run, Path(place) / run.name)
        command = [sys.executable, "-m", "dikmeans.cli", "studio", str(copy), "--no-browser"]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        driver = webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))
        try:
            assert server.stdout is not None
            size = {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False}
            driver.set_script_timeout(LONGEST_SECONDS)
            driver.command_executor.client_config.timeout = LONGEST_SECONDS
            driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
            driver.get(server.stdout.readline().split()[1])
            for name, script in STEPS.items():
                driver.execute_async_script(STEP % (shown, other, script))
                take(driver, folder / f"{name}.png")
        finally:
            driver.quit()
            server.terminate()
            server.wait()


def clusters_to_show(run: Path) -> tuple[int, int]:
    """The cluster with most pictures of the folder `NAME`, and another one."""
    with (run / "labels.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    counts = Counter(int(row["cluster"]) for row in rows if row["file"].startswith(f"{NAME}/"))
    shown = counts.most_common(1)[0][0]
    return shown, next(int(row["cluster"]) for row in rows if int(row["cluster"]) != shown)


def take(driver: webdriver.Chrome, path: Path) -> None:
    """A picture of the page, in few colors: it is small then."""
    time.sleep(SETTLED_SECONDS)
    shot = driver.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})
    image = Image.open(io.BytesIO(base64.b64decode(shot["data"]))).convert("RGB")
    image.quantize(COLORS, dither=Image.Dither.NONE).save(path, optimize=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
