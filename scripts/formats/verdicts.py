"""Workbooks say of each card what `estimate` says: verdict and bytes, whatever of the model is trained.

Usage: verdicts.py VRAMPLAN. Exits 5 when a cell differs.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

from recalculate import cells

CARDS = ["tesla-t4", "geforce-rtx-4090", "a100-sxm4-80gb", "h100-sxm5-80gb"]
QWEN = "--model qwen2.5-7b --seq 2048 --checkpoint per-layer"
JOBS = [
    f"{QWEN} --gpu geforce-rtx-4090",
    f"{QWEN} --gpu geforce-rtx-4090 --lora r=16,targets=all-linear",
    f"{QWEN} --gpu geforce-rtx-4090 --lora r=16,targets=all-linear --quant nf4",
    f"{QWEN} --gpu geforce-rtx-4090 --lora r=16,targets=all-linear --quant int8",
    f"{QWEN} --gpu a100-sxm4-80gb --optimizer paged-adamw8bit",
    f"{QWEN} --gpu a100-sxm4-80gb --offload optimizer",
    "--model gpt2 --seq 1024 --micro-batch 8 --gpu tesla-t4 --freeze 6",
    "--model smollm2-135m --seq 512 --gpu tesla-t4 --prompt-tuning 20",
    "--model smollm2-135m --seq 512 --gpu tesla-t4 --precision mixed-fp16 --reserve 2GiB",
]


def answer(vramplan, flags):
    return json.loads(subprocess.run([vramplan, "estimate", "--json", *flags], capture_output=True, text=True).stdout)


def on_card(job, card):
    """The job's flags with another card."""
    words = job.split()
    words[words.index("--gpu") + 1] = card
    return words


def wrong_cells(vramplan, job, book):
    found, wrong = cells(book), []
    rows = {value: cell[1:] for (sheet, cell), (_, value) in found.items() if sheet == "GPUs" and cell[0] == "A" and cell[1:].isdigit()}
    named = {value: cell[1:] for (sheet, cell), (_, value) in found.items() if sheet == "Model" and cell[0] == "A"}
    own = answer(vramplan, job.split())
    need = round(float(found["Model", "B" + named["need"]][1]))
    if need != own["counters"]["device_used"]:
        wrong.append(f"{job}: need {need}, estimate {own['counters']['device_used']}")
    for card in CARDS:
        expected = answer(vramplan, on_card(job, card))
        verdict = found["GPUs", "G" + rows[card]][1]
        used = float(found["GPUs", "H" + rows[card]][1]) * 2**30
        if verdict != expected["verdict"] or abs(used - expected["counters"]["device_used"]) > 1:
            wrong.append(f"{job} on {card}: {verdict}, {used:.0f}; estimate {expected['verdict']}, {expected['counters']['device_used']}")
    return wrong


def main():
    vramplan, wrong = sys.argv[1], []
    with tempfile.TemporaryDirectory() as name:
        for i, job in enumerate(JOBS):
            book = pathlib.Path(name) / f"job{i}.xlsx"
            subprocess.run([vramplan, "estimate", *job.split(), "--quiet", "--xlsx", book], check=False, stderr=subprocess.DEVNULL)
            wrong += wrong_cells(vramplan, job, book)
    print(f"sheet: verdicts of {len(JOBS)} jobs on {len(CARDS)} cards, {len(wrong)} differ from estimate")
    for line in wrong:
        print("  " + line)
    return 5 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
