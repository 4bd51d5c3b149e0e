"""Take the screenshots of README and docs, in Chromium, from a demo that runs: `make screenshots`, three minutes.

usage: python docs/images/take.py [SECONDS]          how long the crawl has run before; 90
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

HERE = Path(__file__).parent
WIDE, NARROW = {"width": 1280, "height": 800}, {"width": 390, "height": 780}


def main(seconds: str = "90") -> None:
    with tempfile.TemporaryDirectory() as folder:
        words = ["demo", "--keep", "--no-browser", "--seconds", seconds, "--out", f"{folder}/demo"]
        demo = subprocess.Popen([sys.executable, "-m", "mayfly", *words], stdout=subprocess.PIPE, text=True)
        try:
            said = ""
            for line in demo.stdout:
                said += line
                if line.startswith("All of it goes on"):
                    break
            shutil.copy(f"{folder}/demo/kept.png", HERE / "kept.png")
            sys.stdout.write(said.partition("All of it goes on")[0].replace(folder + "/", ""))  # for README
            take(re.search(r"http://[\d.:]+", said)[0])
        finally:
            demo.terminate()
            demo.wait()


def take(address: str) -> None:
    """Every picture, by its name."""
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport=WIDE)
        shot(page, f"{address}/", "reader.png")
        shot(page, f"{address}/ops", "dashboard.png")
        page.goto(f"{address}/ops/sources?sort=profit&q=loved")
        best = page.locator('td a[href^="/ops/sources/"], th a[href^="/ops/sources/"]').first
        shot(page, best.evaluate("link => link.href"), "source.png")
        shot(browser.new_page(viewport=NARROW), f"{address}/", "reader-phone.png")
        browser.close()


def shot(page: Page, url: str, name: str, whole: bool = False) -> None:
    page.goto(url)
    page.wait_for_timeout(3000)  # charts draw as their figures come in
    page.screenshot(path=HERE / name, full_page=whole)


if __name__ == "__main__":
    main(*sys.argv[1:])
