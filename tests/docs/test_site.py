"""The documentation as a site: it builds without a warning, and a browser shows all of every page."""

from __future__ import annotations

import html
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest
from libraries import REQUIRED

ROOT = pathlib.Path(__file__).resolve().parents[2]
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
BROWSER = next(filter(None, map(shutil.which, NAMES)), None)
NEEDED = ("sphinx", "furo", "myst_nb", "sphinx_design", "sphinx_gallery", "torch")
WIDTHS = (1280, 390)  # pixels: a small screen, a phone
pytestmark = [
    pytest.mark.release("it builds the site"),
    pytest.mark.not_sanitized("it runs programs of its own"),
    pytest.mark.timeout(900),  # the build runs the notebooks and the gallery
]

# Each page is in a frame of each width. What is wider than the text of its page is listed, unless an element
# around it scrolls.
HARNESS = """<!doctype html><meta charset="utf-8"><pre id="said">nothing</pre>
%s
<script>
function look(page) {
  const view = page.defaultView, found = [];
  const content = page.querySelector(".content"), right = content.getBoundingClientRect().right;
  for (const e of content.querySelectorAll("*")) {
    if (e.getBoundingClientRect().right <= right + 1) continue;
    let around = e.parentElement;
    while (around !== content && !/auto|scroll|hidden/.test(view.getComputedStyle(around).overflowX))
      around = around.parentElement;
    if (around === content) found.push(`${e.tagName} ${e.className}: ${(e.textContent || "").slice(0, 60)}`);
  }
  if (page.documentElement.scrollWidth > view.innerWidth) found.push("the page scrolls sideways");
  if (content.scrollWidth > content.clientWidth + 1) found.push("the text scrolls sideways");
  return found;
}
window.onload = () => {
  const frames = [...document.querySelectorAll("iframe")];
  document.getElementById("said").textContent =
    JSON.stringify(frames.map(f => [f.title, f.contentWindow.innerWidth, look(f.contentDocument)]));
};
</script>
"""
TOGETHER = 12  # pages in one run of the browser


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    for name in NEEDED:
        if not REQUIRED:
            pytest.importorskip(name, reason="the extras docs and test have it")
    if shutil.which("dot") is None:
        assert not REQUIRED, "graphviz is not installed: its program dot draws the pictures of the pages"
        pytest.skip("graphviz is not installed")
    folder = tmp_path_factory.mktemp("site")
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("ZE_", "ZESIM_"))
    }
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", "-W", "-n", "--keep-going", "docs", folder / "html"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        encoding="utf-8",
        timeout=800,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "html"


def pages_of(site):
    return sorted(
        str(path.relative_to(site)) for path in site.rglob("*.html") if path.parts[-1] != "search.html"
    )


def test_there_are_pages_of_every_kind(site):
    pages = pages_of(site)
    assert {"index.html", "exchange.html", "reference/arrays.html", "notebooks/tour.html"} <= set(pages)
    assert "auto_gallery/heat_equation.html" in pages


def test_notebooks_show_their_outputs(site):
    for notebook in (ROOT / "docs" / "notebooks").glob("*.ipynb"):
        page = (site / "notebooks" / f"{notebook.stem}.html").read_text(encoding="utf-8")
        assert page.count('class="cell_output') > 3, notebook.stem
    assert "cell_output" in page
    kernels = (site / "notebooks" / "kernels.html").read_text(encoding="utf-8")
    assert re.search(r'<img[^>]*src="[^"]*\.svg"', kernels)  # the timeline


def test_programs_of_the_gallery_show_their_pictures(site):
    for program in (ROOT / "docs" / "gallery").glob("*.py"):
        page = (site / "auto_gallery" / f"{program.stem}.html").read_text(encoding="utf-8")
        assert f"sphx_glr_{program.stem}_001.png" in page
        assert f"{program.name}" in page


@pytest.mark.skipif(BROWSER is None and not REQUIRED, reason=f"none of {', '.join(NAMES)} is installed")
def test_no_page_is_cut_off_or_scrolls_sideways(site, tmp_path):
    pages, wrong = pages_of(site), {}
    for first in range(0, len(pages), TOGETHER):
        shown = [(page, width) for page in pages[first : first + TOGETHER] for width in WIDTHS]
        frame = '<iframe src="{}" title="{}" style="width: {}px; height: 800px; border: 0"></iframe>'
        frames = [frame.format((site / page).as_uri(), page, width) for page, width in shown]
        harness = tmp_path / "harness.html"
        harness.write_text(HARNESS % "\n".join(frames), encoding="utf-8")
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--dump-dom"]
        options += ["--allow-file-access-from-files", "--window-size=1400,900", "--timeout=120000"]
        options += ["--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={tmp_path / 'profile'}"]
        command = [BROWSER, *options, harness.as_uri()]
        done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=180, check=True)
        (text,) = re.findall(r'<pre id="said">(.*?)</pre>', done.stdout, re.S)
        said = json.loads(html.unescape(text))
        assert [(page, width) for page, width, _ in said] == shown
        wrong |= {f"{page} at {width} px": found for page, width, found in said if found}
    assert not wrong
