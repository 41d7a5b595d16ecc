"""Open the page of an estimate in Chromium, as a user would: its numbers are the JSON's, nothing is logged, the arrow keys move
through the timeline, nothing is wider than a phone, and a hostile name is only a name.

Usage: page.py VRAMPLAN. Exits 5 when something is wrong.
"""
import html.parser
import json
import pathlib
import subprocess
import sys
import tempfile

from recalculate import JOBS

# Runs after the page's own script; what it finds goes into the document, which Chromium prints.
WATCH = """<script>
const before = document.getElementById("at").textContent, picture = document.querySelector("svg.timeline");
picture.focus();
for (const key of ["ArrowLeft", "ArrowLeft", "PageUp"]) picture.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
const found = {focused: document.activeElement === picture, before, after: document.getElementById("at").textContent,
  overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth, alerted: window.alerted || false,
  requests: performance.getEntriesByType("resource").length};
const out = document.createElement("pre"); out.id = "found"; out.textContent = JSON.stringify(found); document.body.append(out);
</script></body>"""


class Page(html.parser.HTMLParser):
    """data-bytes by the text of the row's first cell, table by table; the text of elements with an id."""

    def __init__(self, text):
        super().__init__()
        self.tables, self.texts, self.table, self.row, self.first, self.open = {}, {}, None, None, False, []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        a = dict(attributes)
        if a.get("id"):
            self.open = a["id"]
            self.texts.setdefault(self.open, "")
        if tag == "table":
            self.table = self.tables.setdefault(a.get("id"), {})
        if tag == "tr":
            self.row, self.first = "", True
        if tag in ("td", "th") and "data-bytes" in a and self.table is not None:
            self.table.setdefault(self.row, []).append(int(a["data-bytes"]))

    def handle_endtag(self, tag):
        if tag in ("td", "th"):
            self.first = False

    def handle_data(self, data):
        if self.row is not None and self.first:
            self.row += data
        if isinstance(self.open, str):
            self.texts[self.open] += data


def opened(page, folder, width):
    """The document as Chromium has it after its scripts, and what was logged."""
    file = folder / "page.html"
    file.write_text(page.replace("</body>", WATCH))
    run = subprocess.run(["chromium", "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}/profile",
                          f"--window-size={width},900", "--virtual-time-budget=3000", "--enable-logging=stderr", "--dump-dom",
                          f"file://{file}"], capture_output=True, text=True, timeout=120, check=True)
    return Page(run.stdout), [line for line in run.stderr.splitlines() if "CONSOLE" in line]


def main():
    vramplan, wrong, compared = sys.argv[1], [], 0

    def same(what, got, expected):
        nonlocal compared
        compared += 1
        if got != expected:
            wrong.append(f"{what}: {got}, expected {expected}")

    def run(words):
        return subprocess.run([vramplan, *words], check=False, capture_output=True, text=True).stdout

    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for job in JOBS:
            words = ["estimate", *job.split()]
            document, page = json.loads(run([*words, "--json"])), run([*words, "--html", "-"])
            curve = json.loads(run(["curve", *job.split(), "--json"]))
            dom, logged = opened(page, folder, 1280)
            same(f"{job}: logged", logged, [])
            for counter, value in document["counters"].items():
                same(f"{job}: {counter}", dom.tables["counters"][counter.replace("_", " ")], [value])
            for phase in document["phases"]:
                same(f"{job}: phase {phase['name']}", dom.tables["phases"][phase["name"]], [phase["peak"]])
            for row in document["tree"]["children"]:
                same(f"{job}: {row['name']}", dom.tables["tree"][row["name"]], [row["bytes"]])
            first = curve["points"][0]
            same(f"{job}: N = 1", dom.tables["curve"]["N = 1"], [first["peak"], first["device_used"]])
            found = json.loads(dom.texts["found"])
            same(f"{job}: the keyboard reaches the picture", found["focused"], True)
            same(f"{job}: arrows move", found["before"] != found["after"] and found["after"].startswith("event "), True)
            same(f"{job}: fetched", found["requests"], 0)
            phone, _ = opened(page, folder, 500)  # the narrowest window of headless Chromium
            same(f"{job}: wider than a phone", json.loads(phone.texts["found"])["overflow"], 0)
        hostile = folder / "<img src=x onerror=alerted=1>'\"&.json"
        hostile.write_text('{"model_type": "gpt2", "n_layer": 2, "n_embd": 64, "n_head": 4}')
        page = run(["estimate", "--config", str(hostile), "--seq", "64", "--html", "-"])
        dom, logged = opened(page, folder, 1280)
        same("hostile name: logged", logged, [])
        same("hostile name: ran", json.loads(dom.texts["found"])["alerted"], False)
        same("hostile name: shown", "<img src=x onerror=alerted=1>" in dom.texts["command"], True)
    print(f"page: {compared} facts checked in Chromium, {len(wrong)} wrong")
    for line in wrong[:20]:
        print("  " + line)
    return 5 if wrong or compared < 80 else 0


sys.exit(main())
