"""docs/reference.md, from the program's own help and schemas."""
import json


def fields(schema, defs, prefix=""):
    """(name, type, description) of every field, depth first; a [] after a name is a list."""
    for name, field in schema.get("properties", {}).items():
        inner, path = field, f"{prefix}{name}"
        if "$ref" in inner and inner["$ref"].startswith("#/"):
            inner = {**defs[inner["$ref"].split("/")[-1]], "description": inner.get("description", "")}
            yield path, "object", inner["description"] + " (name, bytes, children)"
            continue
        kind = inner.get("type", "document" if "$ref" in inner else "word")
        kind = " or ".join(kind) if isinstance(kind, list) else kind
        yield path, kind, inner.get("description", "")
        if "properties" in inner:
            yield from fields(inner, defs, path + ".")
        items = inner.get("items", {})
        if "properties" in items:
            yield from fields(items, defs, path + "[].")


def commands(help_text):
    """The names of all commands, from the program's help."""
    return [line.split()[0] for line in help_text.split("Commands:\n")[1].split("\n\n")[0].splitlines()
            if line.startswith("  ") and line[2] != " "]


def text(run):
    """`run`: words of a command line to what it prints."""
    out = ["# Reference\n", "Made by `scripts/check-docs --write` from the program itself. [How-to](how-to.md) pages tell what to use "
           "when.\n", "## Commands\n"]
    seen = set()
    for command in commands(run("help")):
        shown, shared = [], []
        for paragraph in run(f"help {command} --help-all").split("\n\n"):
            if paragraph in seen and paragraph.split(":")[0] in ("Model", "A model by its sizes", "Run", "Card", "Job"):
                shared.append(paragraph.split(":")[0])
            elif not paragraph.startswith("Exit status"):
                shown.append(paragraph)
                seen.add(paragraph)
        if shared:
            shown.append("And the flags of estimate that describe a job: " + ", ".join(shared) + ".")
        out.append(f"### {command}\n\n```text\n" + "\n\n".join(p.strip("\n") for p in shown) + "\n```\n")
    out.append("## JSON documents\n\nBytes are integers; a field keeps its meaning while `schema_version` stays. `vramplan schema NAME` "
               "prints the JSON Schema.\n")
    for name in run("schema").split():
        if name == "flags":
            continue
        schema = json.loads(run(f"schema {name}"))
        out.append(f"### {name}\n\n{schema['title']}.\n\n| field | type | meaning |\n| --- | --- | --- |")
        out += [f"| `{path}` | {kind} | {meaning} |" for path, kind, meaning in fields(schema, schema.get("$defs", {}))]
        out.append("")
    return "\n".join(out)
