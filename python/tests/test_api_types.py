"""The types of answers and arguments beside the description of the API."""

from __future__ import annotations

import dataclasses
import json
import types
from datetime import datetime
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

import pytest

from tollgate import _request, api

DESCRIPTION = Path(__file__).parents[2] / "docs/schemas/openapi.json"
SCHEMAS: dict[str, Any] = json.loads(DESCRIPTION.read_text())["components"]["schemas"]


def fits(hint: Any, schema: dict[str, Any]) -> bool:
    """Whether a type holds what a schema allows."""
    if get_origin(hint) in (Union, types.UnionType):
        return any(fits(one, schema) for one in get_args(hint) if one is not type(None))
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return hint is str if "properties" not in SCHEMAS[name] else hint is getattr(api, name)
    if "anyOf" in schema:
        return all(fits(hint, one) for one in schema["anyOf"] if one.get("type") != "null")
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    kind = next(kind for kind in kinds if kind != "null")
    if kind == "array":
        return get_origin(hint) is tuple and fits(get_args(hint)[0], schema["items"])
    if kind == "object":
        return get_origin(hint) is dict and fits(get_args(hint)[1], schema["additionalProperties"])
    plain = {"string": str, "integer": int, "number": float, "boolean": bool}[kind]
    return hint is (datetime if schema.get("format") == "date-time" else plain)


@pytest.mark.parametrize("name", api.__all__)
def test_fields_are_those_of_the_description(name: str) -> None:
    kind = getattr(api, name)
    hints = get_type_hints(kind)
    fields = {field.name.removesuffix("_"): field for field in dataclasses.fields(kind)}
    assert set(fields) == set(SCHEMAS[name]["properties"]), "run .ci/parts/python/api_types.py"
    for key, schema in SCHEMAS[name]["properties"].items():
        hint, field = hints[fields[key].name], fields[key]
        assert fits(hint, schema), (key, hint, schema)
        is_required = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        assert is_required == (key in SCHEMAS[name].get("required", [])), key
        may_be_none = type(None) in get_args(hint)
        can_be_null = "null" in json.dumps(schema)
        assert may_be_none or not can_be_null, key


def test_every_field_of_a_request_has_an_argument(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("job.sh").write_text("#!/bin/sh\n")
    plain: dict[str, Any] = dict.fromkeys(_request._PLAIN, 1)
    whole: Any = plain | {
        "deadline": "+2h",
        "begin": "+1h",
        "estimate": "1m",
        "time_limit": "2m",
        "mem": "2G",
        "resources": {"gpu": 1},
        "array": range(4),
        "after": [7],
        "retries": 3,
        "notify": ["end"],
        "signal": "SIGUSR1@5s",
        "hold": True,
        "error": None,
    }
    named = {"deadline": "2027-01-01T00:00Z", "begin": "2027-01-01T00:00Z"}
    made = _request.job_request(["./job.sh"], whole) | _request.job_request([], named)  # type: ignore[arg-type]
    made |= _request.job_request(["./job.sh"], whole)
    by_experience = _request.job_request(["true"], {"mem": "auto"})
    assert by_experience["auto_memory"] is True
    assert "memory_bytes" not in by_experience
    # The arguments of quotes, and what shows where a job came from.
    made |= {"auto_memory": by_experience["auto_memory"]}
    assert set(made) | {"hold_s", "levels", "submit_line"} == set(SCHEMAS["JobRequest"]["properties"])
    assert (made["memory_bytes"], made["signal"], made["array"]) == (2 << 30, {"name": "USR1", "before_s": 5.0}, "0-3")
