"""Validate the JSON documents in a folder with the schemas of the project, by the jsonschema package.

Usage: schemas.py SCHEMAS DOCUMENTS. Exits 5 when a document is not one of its schema.
"""
import collections
import json
import pathlib
import sys

import jsonschema
import referencing

schemas = {p.name: json.loads(p.read_text()) for p in pathlib.Path(sys.argv[1]).glob("*.schema.json")}
for schema in schemas.values():
    jsonschema.Draft202012Validator.check_schema(schema)
registry = referencing.Registry().with_resources(
    (name, referencing.Resource.from_contents(schema)) for name, schema in schemas.items())
kinds, wrong = collections.Counter(), []
for path in sorted(pathlib.Path(sys.argv[2]).glob("*.json")):
    document = json.loads(path.read_text())
    kinds[document["kind"]] += 1
    validator = jsonschema.Draft202012Validator(schemas[document["kind"] + ".schema.json"], registry=registry)
    wrong += [f"{path.name}: {e.json_path}: {e.message[:200]}" for e in validator.iter_errors(document)]
print(f"schemas: {sum(kinds.values())} documents of {len(kinds)} kinds validated, {len(wrong)} defects")
for line in wrong[:20]:
    print("  " + line)
sys.exit(5 if wrong or len(kinds) < 12 else 0)
