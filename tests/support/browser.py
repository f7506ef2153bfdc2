"""Pages in a browser without a screen: what a script sees that does what a reader does."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
from html import unescape
from pathlib import Path
from typing import Any

import pytest

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
BROWSER = next(filter(None, map(shutil.which, PROGRAMS)), None)
needs_browser = pytest.mark.skipif(BROWSER is None, reason="needs Chromium")
WATCH = '<script>const errors = []; addEventListener("error", (event) => errors.push(event.message));</script>'
DRIVER = """
<pre id="driven"></pre>
<script>
const driven = (() => { %s })();
document.getElementById("driven").textContent = JSON.stringify({ driven, errors });
</script>
<script>
const shown = document.getElementById("driven");
if (!shown.textContent) shown.textContent = JSON.stringify({ errors });
</script>
"""


def driven(page: str, script: str) -> Any:
    """What a script returns that runs when a page is there. Fails if it, or the page's own script, raised an error."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "page.html"
        path.write_text(
            page.replace("<body>", f"<body>{WATCH}").replace("</body>", f"{DRIVER % script}</body>"), encoding="utf-8"
        )
        command = [str(BROWSER), "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                   f"--user-data-dir={folder}/profile", "--dump-dom", path.as_uri()]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    shown = re.search(r'<pre id="driven">(.*?)</pre>', done.stdout, re.DOTALL)
    assert shown, done.stderr[-2000:]
    result = json.loads(unescape(shown[1]))
    assert result["errors"] == [], result
    return result["driven"]
