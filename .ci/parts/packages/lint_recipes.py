#!/usr/bin/env python3
"""Checks the filled recipes: lint_recipes.py FOLDER SHA256

The programs of Spack, EasyBuild and conda-forge check a recipe where they are installed; this reads what each of them
requires of a file, and that nothing of the template is left.
"""

import ast
import sys
from pathlib import Path


def spack(path: Path, sum: str) -> None:
    tree = ast.parse(path.read_text())
    [recipe] = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    assert recipe.name == "Tollgate" and path.parent.name == "tollgate"
    assert ast.get_docstring(recipe)
    calls = {
        node.value.func.id: node.value
        for node in recipe.body
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    }
    assert {"license", "version", "depends_on"} <= set(calls)
    [given] = [word.value for word in calls["version"].keywords if word.arg == "sha256"]
    assert ast.literal_eval(given) == sum


def easybuild(path: Path, sum: str) -> None:
    names: dict[str, object] = {}
    templates = {"SOURCELOWER_TAR_GZ": "tollgate.tar.gz"}
    exec(compile(path.read_text(), path, "exec"), templates, names)
    assert {"name", "version", "homepage", "description", "toolchain", "moduleclass", "easyblock"} <= set(names)
    assert names["checksums"] == [sum]
    toolchain = names["toolchain"]
    assert path.stem == f"{names['name']}-{names['version']}-{toolchain['name']}-{toolchain['version']}"


def main(folder: str, sum: str) -> None:
    places = Path(folder)
    spack(places / "spack" / "tollgate" / "package.py", sum)
    [recipe] = places.glob("easybuild/*.eb")
    easybuild(recipe, sum)
    conda = (places / "conda-forge" / "recipe.yaml").read_text()
    assert sum in conda and "0" * 64 not in conda
    print("the recipes have what their programs require, and the checksum of this release")


main(*sys.argv[1:])
