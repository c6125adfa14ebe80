#!/usr/bin/env python3
"""Checks the filled recipes: lint_recipes.py FOLDER SHA256

EasyBuild reads and checks its own, and rattler-build renders that of conda-forge. Spack is in no package index: its recipe is
read as Python.
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
    from easybuild.tools.options import set_up_configuration

    # Of these only the form of the answer depends; no module is loaded.
    arguments = ["--modules-tool=EnvironmentModulesC", "--module-syntax=Tcl"]
    set_up_configuration([*arguments, "--allow-use-as-root-and-accept-consequences"], silent=True)
    from easybuild.framework.easyconfig.parser import EasyConfigParser
    from easybuild.framework.easyconfig.style import check_easyconfigs_style

    assert check_easyconfigs_style([str(path)]) == 0
    names = EasyConfigParser(str(path)).get_config_dict()
    assert {"name", "version", "homepage", "description", "toolchain", "moduleclass", "easyblock"} <= set(names)
    assert names["checksums"] == [sum]
    toolchain = names["toolchain"]
    assert path.stem == f"{names['name']}-{names['version']}-{toolchain['name']}-{toolchain['version']}"


def conda_forge(path: Path, sum: str) -> None:
    import rattler_build

    text = path.read_text()
    assert sum in text
    variants = "c_compiler: [gcc]\nrust_compiler: [rust]\nc_stdlib: [sysroot]\n"
    rendered = rattler_build.Stage0Recipe.from_yaml(text).render(rattler_build.VariantConfig.from_yaml(variants))
    assert len(rendered) == 1, rendered


def main(folder: str, sum: str) -> None:
    places = Path(folder)
    spack(places / "spack" / "tollgate" / "package.py", sum)
    [recipe] = places.glob("easybuild/*.eb")
    easybuild(recipe, sum)
    conda_forge(places / "conda-forge" / "recipe.yaml", sum)
    for path in places.rglob("*.*"):
        assert not path.is_file() or "0" * 64 not in path.read_text() or path.name == "fill.py"
    print("the recipes can be read, and have the checksum of this release")


main(*sys.argv[1:])
