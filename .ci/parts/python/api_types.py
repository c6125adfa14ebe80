#!/usr/bin/env python3
"""Writes `python/tollgate/api.py`, the answers of the service, from `docs/schemas/openapi.json`. Run it after a change of the API.

usage: api_types.py [--check]
"""

import json
import keyword
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
OUT = ROOT / "python/tollgate/api.py"
# The answers that methods of the client return; what they hold follows.
ANSWERS = [
    "ServiceStatus",
    "SubmitResponse",
    "BatchResponse",
    "AlterResponse",
    "SignalResult",
    "JobDetails",
    "JobList",
    "JobExplanation",
    "JobHistory",
    "JobOutput",
    "NodeList",
]
HEAD = '''"""Answers of the service, as dataclasses with the names of the API.

Instants are aware :class:`~datetime.datetime` objects in UTC, and fields that end in ``_s`` are numbers of seconds. None is
what does not apply. A word, as in ``state``, may be one of a later version of the service. Fields that this version
does not know are left out. A name that is a word of Python has ``_`` behind it: ``from_``.
"""

# Written by .ci/parts/python/api_types.py.

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

'''


def named(schema: dict) -> str | None:
    """Returns the schema that a field names; None for plain values, and for words, which are text."""
    if "$ref" in schema:
        return schema["$ref"].rsplit("/", 1)[-1]
    return next((name for option in schema.get("anyOf", []) if (name := named(option)) is not None), None)


def is_words(schemas: dict, name: str) -> bool:
    return "properties" not in schemas[name]


def kind(schemas: dict, schema: dict) -> str:
    """Returns the type of a value without None."""
    name = named(schema)
    if name is not None:
        return "str" if is_words(schemas, name) else name
    types = schema.get("type")
    types = [types] if isinstance(types, str) else types
    plain = next(one for one in types if one != "null")
    if plain == "array":
        return f"tuple[{kind(schemas, schema['items'])}, ...]"
    if plain == "object":
        return f"dict[str, {kind(schemas, schema['additionalProperties'])}]"
    if schema.get("format") == "date-time":
        return "datetime"
    return {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}[plain]


def is_nullable(schema: dict) -> bool:
    types = schema.get("type", [])
    return "null" in types or any(option.get("type") == "null" for option in schema.get("anyOf", []))


def declaration(schemas: dict, schema: dict, required: bool) -> str:
    """Returns the type of a field and its default."""
    plain = kind(schemas, schema)
    if is_nullable(schema):
        return f"{plain} | None" + ("" if required else " = None")
    if required:
        return plain
    if plain.startswith("tuple"):
        return f"{plain} = ()"
    if plain.startswith("dict"):
        return f"{plain} = field(default_factory=dict)"
    if plain in ("bool", "int"):
        return f"{plain} = {schema.get('default', {'bool': False, 'int': 0}[plain])!r}"
    return f"{plain} | None = None"


def reachable(schemas: dict) -> list[str]:
    found, waiting = [], list(ANSWERS)
    while waiting:
        name = waiting.pop(0)
        if name in found or is_words(schemas, name):
            continue
        found.append(name)
        for schema in schemas[name]["properties"].values():
            of = named(schema) or named(schema.get("items", {}))
            waiting += [of] if of else []
    return sorted(found)


def doc(text: str, indent: str) -> str:
    lines = textwrap.wrap(" ".join(text.split()), 120 - len(indent) - 6)
    return f'{indent}"""' + f"\n{indent}".join(lines) + '"""\n'


def module(schemas: dict) -> str:
    names = reachable(schemas)
    text = HEAD + "__all__ = [\n" + "".join(f'    "{name}",\n' for name in names) + "]\n"
    for name in names:
        schema = schemas[name]
        required = schema.get("required", [])
        text += f"\n\n@dataclass(frozen=True, kw_only=True)\nclass {name}:\n" + doc(schema["description"], "    ") + "\n"
        fields = sorted(schema["properties"].items(), key=lambda item: item[0] not in required)
        for field, of in fields:
            # A keyword of Python is no name of a field.
            name = f"{field}_" if keyword.iskeyword(field) else field
            text += f"    {name}: {declaration(schemas, of, field in required)}\n"
            if "description" in of:
                text += doc(of["description"], "    ")
    return text


def main() -> int:
    schemas = json.loads((ROOT / "docs/schemas/openapi.json").read_text())["components"]["schemas"]
    text = module(schemas)
    if "--check" in sys.argv[1:]:
        return 0 if OUT.read_text() == text else 1
    OUT.write_text(text)
    return 0


sys.exit(main())
