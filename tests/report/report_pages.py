"""What tests of the report share: image sets, the data inside a page, a page in a browser."""

from __future__ import annotations

import base64
import io
import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from dikmeans import DIKMeans
from dikmeans.datasets import Card, ImageSet

CARD = Card("a set", "made for a test", "-", "small", "none")


@dataclass(frozen=True)
class Report:
    """The file of a report, and what it was made from."""

    path: Path
    model: DIKMeans
    image_set: ImageSet

    @property
    def payload(self) -> dict[str, Any]:
        """The data that the page embeds."""
        return embedded_data(self.path)


def unlabeled(images: np.ndarray) -> ImageSet:
    """Images without labels, with their numbers as names."""
    return ImageSet(images, None, (), tuple(f"picture {i}" for i in range(len(images))), CARD)


def embedded_data(path: Path) -> dict[str, Any]:
    """The JSON that a report embeds."""
    page = path.read_text("utf-8")
    match = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    assert match
    return json.loads(match[1])


def unpacked(text: str, dtype: str) -> np.ndarray:
    """An array as the page embeds it."""
    return np.frombuffer(base64.b64decode(text), dtype)


def png_pixels(text: str) -> np.ndarray:
    """The pixels of a PNG file in base64."""
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(text))))


def wait_for(condition: Callable[[], Any], seconds: float = 15) -> Any:
    """The first true value of `condition()`."""
    end = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < end, f"waited {seconds} s in vain"
        time.sleep(0.05)
    return value


class Page:
    """A report that is open in the browser."""

    def __init__(self, driver: Any, path: Path):
        self.driver = driver
        driver.get_log("browser"), driver.get_log("performance")
        driver.get("about:blank")
        self.address = path.as_uri()
        driver.get(self.address)
        wait_for(lambda: self.js("return document.documentElement.dataset.ready === ''"))

    def js(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(script, *arguments)

    def go(self, fragment: str) -> None:
        self.js("location.hash = arguments[0]", fragment)
        wait_for(lambda: self.js("return shownHash === '#' + arguments[0]", fragment))

    def all(self, selector: str) -> list[Any]:
        return self.driver.find_elements("css selector", selector)

    def one(self, selector: str) -> Any:
        return self.driver.find_element("css selector", selector)

    def press(self, *keys: str) -> None:
        from selenium.webdriver.common.action_chains import ActionChains

        ActionChains(self.driver).send_keys(*keys).perform()

    def pixels(self, selector: str) -> np.ndarray:
        """The pixels of a canvas, shape (rows, columns, 3)."""
        script = "return document.querySelector(arguments[0]).toDataURL('image/png')"
        return png_pixels(self.js(script, selector).split(",")[1])[:, :, :3]

    def slide(self, t: float) -> None:
        """Move the slider from original (0) to aligned (1)."""
        self.js(
            "const slider = document.getElementById('align'); slider.value = arguments[0];"
            "slider.dispatchEvent(new Event('input'))",
            t,
        )

    def member_slots(self) -> list[int]:
        """The slots of the members of a cluster, in the order in which they are shown."""
        wait_for(lambda: self.all("#members .tile"))
        return self.js(
            "const tiles = [...document.querySelectorAll('#members .tile')];"
            "return tiles.map((tile) => Number(tile.dataset.slot))"
        )

    def complaints(self) -> list[Any]:
        """Errors and warnings that the browser has logged since the last call."""
        levels = ("SEVERE", "WARNING")
        return [entry for entry in self.driver.get_log("browser") if entry["level"] in levels]

    def requests(self) -> list[str]:
        """Addresses that the page requested (the browser's start page requests others)."""
        log = self.driver.get_log("performance")
        messages = (json.loads(entry["message"])["message"] for entry in log)
        sent = [m["params"] for m in messages if m["method"] == "Network.requestWillBeSent"]
        return [r["request"]["url"] for r in sent if r["documentURL"].startswith(self.address)]
