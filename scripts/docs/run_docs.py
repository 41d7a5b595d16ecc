"""Run the commands of the documentation. Usage: run_docs.py ROOT [--write]. Exits 5 when something is not as shown.

In a `sh` block each line that begins with scripts/run is run and may answer 0 or 1. In a `console` block the lines after
"$ scripts/run ..." are what it prints, up to the next "$"; a line of "..." stands for any number of lines. A block after the
comment <!-- not run --> is left alone. docs/reference.md is made from the program's own help and schemas.
"""
import difflib
import pathlib
import re
import subprocess
import sys

import reference

BLOCK = re.compile(r"(?P<before><!-- not run -->\n)?```(?P<kind>sh|console)\n(?P<body>.*?)```", re.S)


def run(root, command):
    """Status and output of a command as a shell runs it at the root."""
    environment = {"PATH": "/usr/bin:/bin:/usr/local/bin", "HOME": "/nonexistent", "LANG": "C.UTF-8"}
    done = subprocess.run(["bash", "-c", command], cwd=root, env=environment, capture_output=True, text=True,
                          stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout


def matches(shown, printed):
    """Whether the lines shown are those printed, "..." being any."""
    pattern = "".join("(.*\n)*?" if line == "..." else re.escape(line) + "\n" for line in shown.splitlines())
    return re.fullmatch(pattern, "".join(line.rstrip() + "\n" for line in printed.splitlines())) is not None


def console(root, body, problems, write):
    """A block with its outputs: as they are, or as they should be."""
    out = ""
    for part in re.split(r"^(?=\$ )", body, flags=re.M):
        command, _, shown = part.partition("\n")
        if not command.startswith("$ scripts/run"):
            out += part
            continue
        status, printed = run(root, command[2:])
        if status > 1:
            problems.append(f"status {status}: {command}")
        elif not matches(shown, printed):
            if write and "...\n" not in shown:
                shown = "".join(line.rstrip() + "\n" for line in printed.splitlines())
            else:
                problems.append(f"prints something else: {command}\n" + "".join(
                    difflib.unified_diff(shown.splitlines(True), printed.splitlines(True), "shown", "printed", n=1)))
        out += command + "\n" + shown
    return out


# Of the examples in help: what needs a file, a device or a program that is not here.
ELSEWHERE = ("jobs.", "config.json", "-- python", "torchrun", "a.json", ".xlsx", "t.html", "<(", "> ", "probe device", "probe overhead",
             "train.py")


def examples(root, problems):
    """Runs the examples of every command's help; how many."""
    ran = 0
    for command in reference.commands(run(root, "scripts/run help")[1]):
        for line in run(root, f"scripts/run help {command}")[1].split("Examples:\n")[1].splitlines():
            if not line.startswith("  vramplan ") or any(e in line for e in ELSEWHERE):
                continue
            status, _ = run(root, line.split("  #")[0].replace("  vramplan ", "scripts/run ", 1).split(" | ")[0])
            ran += 1
            if status > 1:
                problems.append(f"status {status}: help {command}: {line}")
    return ran


def main():
    root, write = pathlib.Path(sys.argv[1]), "--write" in sys.argv
    problems, commands = [], 0
    made = reference.text(lambda words: run(root, "scripts/run " + words)[1])
    page = root / "docs" / "reference.md"
    if write:
        page.write_text(made)
    elif not page.exists() or page.read_text() != made:
        problems.append("docs/reference.md lags behind: scripts/check-docs --write")
    for path in [root / "README.md", root / "CONTRIBUTING.md", *sorted((root / "docs").glob("*.md"))]:
        def block(found):
            nonlocal commands
            if found["before"]:
                return found[0]
            lines = [line for line in found["body"].splitlines() if re.match(r"(\$ )?scripts/run", line)]
            commands += len(lines)
            if found["kind"] == "console":
                return found[0].replace(found["body"], console(root, found["body"], problems, write))
            for line in lines:
                status, _ = run(root, line)
                if status > 1:
                    problems.append(f"status {status}: {line}")
            return found[0]

        text = path.read_text()
        new = BLOCK.sub(block, text)
        if write and new != text:
            path.write_text(new)
    commands += examples(root, problems)
    print(f"docs: {commands} commands run, {len(problems)} are not as shown")
    for p in problems:
        print("  " + p)
    return 5 if problems or commands < 70 else 0


sys.exit(main())
