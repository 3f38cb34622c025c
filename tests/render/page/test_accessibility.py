"""The page in a browser: axe-core finds nothing serious in it, and it is as wide as the screen.

Needs Chromium, Node.js and a file of axe-core: `npm pack axe-core`, and in ACTIVETEST_AXE the path
of its axe.min.js.
"""

import json
import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from activetest.nouns.report import Note, Weight
from activetest.render import html

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
AXE = os.environ.get("ACTIVETEST_AXE", "")
CHROMIUM = next(filter(None, map(shutil.which, BROWSERS)), None)
SCRIPT = Path(__file__).parent / "run_axe.mjs"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed"),
    pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not installed"),
    pytest.mark.skipif(not os.path.isfile(AXE), reason="ACTIVETEST_AXE names no file of axe-core"),
]


def look(page: Path, width: int, scheme: str) -> dict:
    """Findings of a browser of this width and scheme in a page."""
    command = ["node", SCRIPT, CHROMIUM, AXE, page, str(width), scheme]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_axe_finds_nothing_serious_and_the_policy_blocks_nothing(detailed, tmp_path, width, scheme):
    notes = (*detailed.notes, Note("Another.", Weight.LIMITED), Note("A fact about `next`."))
    check(html.render(replace(detailed, notes=notes)), tmp_path, width, scheme)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_axe_finds_nothing_serious_in_the_page_of_a_simulation(result, tmp_path, width, scheme):
    rows = [
        result | {"acquisition": acquisition, "budget": budget, "rmse": 0.3 / budget**0.5}
        for acquisition in ("optimal", "uniform")
        for budget in (20, 50, 100)
    ]
    check(html.simulation(rows), tmp_path, width, scheme)


def check(written: str, folder: Path, width: int, scheme: str) -> None:
    """Nothing serious is in a page, its policy blocks nothing of it, and it fits the screen."""
    page = folder / "page.html"
    page.write_text(written, encoding="utf-8")
    found = look(page, width, scheme)
    serious = [each for each in found["violations"] if each["impact"] in ("serious", "critical")]
    assert not serious
    assert {"color-contrast", "svg-img-alt", "document-title"} <= set(found["passes"])
    assert found["blocked"] == []
    # A bar to scroll by takes some of it.
    assert found["width"] <= width
    # The scheme was the one that was looked at.
    assert (found["ground"] == "rgb(255, 255, 255)") == (scheme == "light")


def test_axe_finds_what_is_wrong(tmp_path):
    page = tmp_path / "report.html"
    page.write_text('<html><title>a</title><body><svg role="img"></svg></body></html>')
    found = {each["id"] for each in look(page, 1280, "light")["violations"]}
    assert {"svg-img-alt", "html-has-lang"} <= found
