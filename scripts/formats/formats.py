"""The same job gives the same integers as table, JSON, CSV, Markdown, HTML page and workbook.

Usage: formats.py VRAMPLAN. Exits 5 when one differs.
"""
import csv
import io
import json
import pathlib
import re
import subprocess
import sys
import tempfile

from recalculate import JOBS, cells

COUNTERS = ("allocated", "reserved", "device_used", "capacity")


def main():
    vramplan, wrong, compared = sys.argv[1], [], 0

    def out(job, *more):
        return subprocess.run([vramplan, "estimate", *job.split(), *more], check=False, capture_output=True, text=True).stdout

    def same(what, got, expected):
        nonlocal compared
        compared += 1
        if got != expected:
            wrong.append(f"{what}: {got}, JSON has {expected}")

    for job in JOBS:
        document = json.loads(out(job, "--json"))
        (row,) = csv.DictReader(io.StringIO(out(job, "--csv")))
        page, markdown, table = out(job, "--html", "-"), out(job, "--md"), out(job)
        with tempfile.TemporaryDirectory() as folder:
            book = pathlib.Path(folder) / "book.xlsx"
            out(job, "--xlsx", book)
            sheet = cells(book)
        column = {v: c for (s, c), (_, v) in sheet.items() if s == "Jobs" and c.endswith("1") and re.fullmatch("[A-Z]+1", c)}

        def in_book(name):
            return int(float(sheet["Jobs", column[name][:-1] + "2"][1]))

        for name in COUNTERS:
            value = document["counters"][name]
            words = name.replace("_", " ")
            same(f"{job}: {name} in CSV", int(row[f"{name}_bytes"]), value)
            same(f"{job}: {name} in the workbook", in_book(f"{name}_bytes"), value)
            same(f"{job}: {name} in HTML", int(re.search(rf'{words}</t[dh]><td class="n" data-bytes="(\d+)"', page)[1]), value)
            same(f"{job}: {name} in Markdown", int(re.search(rf"\| {words} \|[^|]*\| (\d+) \|", markdown)[1]), value)
            same(f"{job}: {name} in the table", f"{value / 2**30:.2f} GiB" in table, True)
        for phase in document["phases"]:
            name = phase["name"]
            same(f"{job}: {name} in CSV", int(row[f"phase_{name}_bytes"]), phase["peak"])
            same(f"{job}: {name} in the workbook", in_book(f"phase_{name}_bytes"), phase["peak"])
            same(f"{job}: {name} in HTML", int(re.search(rf'{name}</t[dh]><td class="n" data-bytes="(\d+)"', page)[1]), phase["peak"])
            same(f"{job}: {name} in Markdown", int(re.search(rf"\| {name} \|[^|]*\| (\d+) \|", markdown)[1]), phase["peak"])
    print(f"formats: {compared} figures compared, {len(wrong)} differ")
    for line in wrong[:20]:
        print("  " + line)
    return 5 if wrong or compared < 100 else 0


sys.exit(main())
