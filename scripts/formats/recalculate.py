"""Recalculate workbooks of vramplan in LibreOffice and compare every formula with the value that the program wrote.

Usage: recalculate.py VRAMPLAN. Exits 5 when a cell differs.
Checked for each job: the workbook as written, and the workbook of another job with this one's inputs typed into it.
"""
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
import zipfile

NS = {"m": "http://schemas.openxmlformats.org/spreadsheetml/2006/main"}
ALWAYS = """<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry" xmlns:xs="http://www.w3.org/2001/XMLSchema"
 xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><item oor:path="/org.openoffice.Office.Calc/Formula/Load">
<prop oor:name="OOXMLRecalcMode" oor:op="fuse"><value>0</value></prop></item></oor:items>
"""
JOBS = [
    "--model gpt2 --gpu t4 --micro-batch 4 --seq 512 --segments 3 --precision amp-fp16 --attention eager",
    "--model llama-3.1-8b --gpu a100-80gb --seq 8192 --checkpoint per-layer",
    "--model qwen2.5-7b --gpu rtx-4090 --seq 2048 --lora r=16,targets=all-linear --quant nf4",
    "--layers 100 --hidden 1024 --heads 16 --micro-batch 8 --seq 512 --segments 7 --precision mixed-bf16 --gpu h100-sxm",
]


def cells(path):
    """{(sheet, cell): (formula or None, value)}"""
    with zipfile.ZipFile(path) as z:
        shared = []
        if "xl/sharedStrings.xml" in z.namelist():
            for item in ET.fromstring(z.read("xl/sharedStrings.xml")).findall("m:si", NS):
                shared.append("".join(t.text or "" for t in item.iter("{%s}t" % NS["m"])))
        names = [s.get("name") for s in ET.fromstring(z.read("xl/workbook.xml")).find("m:sheets", NS)]
        out = {}
        for i, name in enumerate(names, 1):
            for c in ET.fromstring(z.read(f"xl/worksheets/sheet{i}.xml")).iter("{%s}c" % NS["m"]):
                f, v = c.find("m:f", NS), c.find("m:v", NS)
                if v is None:
                    continue
                text = shared[int(v.text)] if c.get("t") == "s" else v.text
                out[name, c.get("r")] = (f.text if f is not None else None, text)
        return out


def recalculated(path, folder):
    profile = folder / "profile" / "user"
    if not profile.exists():
        profile.mkdir(parents=True)
        (profile / "registrymodifications.xcu").write_text(ALWAYS)
    out = folder / "out"
    subprocess.run(["soffice", f"-env:UserInstallation=file://{profile.parent}", "--headless", "--convert-to", "xlsx",
                    "--outdir", out, path], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120)
    return cells(out / path.name)


def with_inputs(path, gpu, inputs, to):
    """A copy with another card and other numbers in the sheet Inputs, which is the first."""
    with zipfile.ZipFile(path) as z, zipfile.ZipFile(to, "w", zipfile.ZIP_DEFLATED) as out:
        for item in z.infolist():
            data = z.read(item)
            if item.filename == "xl/worksheets/sheet1.xml":
                text, n = re.subn(r'(<c r="B3" s="\d+") t="s"><v>\d+</v>', rf'\g<1> t="str"><v>{gpu}</v>', data.decode())
                assert n == 1, "gpu"
                for cell, value in inputs.items():
                    text, n = re.subn(rf'(<c r="{cell}"[^>]*><v>)[^<]*(</v>)', rf"\g<1>{value}\g<2>", text)
                    assert n == 1, cell
                data = text.encode()
            out.writestr(item, data)


def differing(got, expected, sheets):
    wrong, compared = [], 0
    for (sheet, cell), (formula, value) in expected.items():
        if formula is None or sheet not in sheets:
            continue
        compared += 1
        now = got.get((sheet, cell), (None, "nothing"))[1]
        try:
            same = abs(float(now) - float(value)) <= max(0.5, 1e-12 * abs(float(value))) if abs(float(value)) > 1e6 else \
                abs(float(now) - float(value)) < 1e-9 * max(1, abs(float(value)))
        except ValueError:
            same = now == value
        if not same:
            wrong.append(f"{sheet}!{cell} ={formula}: {now}, the program says {value}")
    return wrong, compared


def main():
    vramplan = sys.argv[1]
    wrong, compared = [], 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        books = []
        for i, job in enumerate(JOBS):
            book = folder / f"job{i}.xlsx"
            subprocess.run([vramplan, "estimate", *job.split(), "--quiet", "--xlsx", book], check=False)
            books.append((book, cells(book)))
        for book, expected in books:
            w, n = differing(recalculated(book, folder), expected, ("Model", "Curve", "GPUs"))
            wrong, compared = wrong + w, compared + n
        for (_, expected), (other, _) in zip(books, books[1:] + books[:1]):
            inputs = {c: v for (s, c), (f, v) in expected.items() if s == "Inputs" and c[0] == "B" and int(c[1:]) >= 5}
            changed = folder / "changed.xlsx"
            with_inputs(other, expected["Inputs", "B3"][1], inputs, changed)
            w, n = differing(recalculated(changed, folder), expected, ("Model", "GPUs"))
            wrong, compared = wrong + w, compared + n
    print(f"sheet: {compared} formula cells recalculated, {len(wrong)} differ")
    for line in wrong[:20]:
        print("  " + line)
    return 5 if wrong or compared < 1000 else 0


if __name__ == "__main__":
    sys.exit(main())
