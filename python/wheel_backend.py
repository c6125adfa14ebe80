"""Builds the wheel: maturin builds the module, and this file the program that lies beside it.

Maturin makes one kind of binding a wheel, so that the program comes in as a file of data. Variables:

- ``TOLLGATE_PROFILE``: the profile of cargo for both, ``release`` by default; ``dist`` is that of packages;
- ``TOLLGATE_PROGRAM``: a program that was built before, which is taken instead;
- ``TOLLGATE_GLIBC``: the oldest glibc on which both run, as ``2.28``. That takes ``cargo zigbuild`` and ``ziglang``.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import platform
import shutil
import subprocess
import tarfile
import zipfile
from pathlib import Path

import maturin

HERE = Path(__file__).resolve().parent
SCRIPTS = HERE / "tollgate.data" / "scripts"


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    _put_program()
    name = maturin.build_wheel(wheel_directory, _with_profile(config_settings), metadata_directory)
    _pack_tightly(Path(wheel_directory) / name)
    return name


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    _put_program()
    return maturin.build_editable(wheel_directory, _with_profile(config_settings), metadata_directory)


def get_requires_for_build_wheel(config_settings=None):
    return []


def get_requires_for_build_editable(config_settings=None):
    return []


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    # Maturin asks for the folder even where it takes nothing from it.
    SCRIPTS.mkdir(parents=True, exist_ok=True)
    return maturin.prepare_metadata_for_build_wheel(metadata_directory, _with_profile(config_settings))


prepare_metadata_for_build_editable = prepare_metadata_for_build_wheel


def get_requires_for_build_sdist(config_settings=None):
    return []


def build_sdist(sdist_directory, config_settings=None):
    """Packs every file of the repository, from which both module and program are built."""
    root = HERE.parent
    version = _version()
    name = f"tollgate-{version}"
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, check=True)
    files = sorted(file for file in listed.stdout.decode().split("\0") if file)
    path = Path(sdist_directory) / f"{name}.tar.gz"
    information = f"Metadata-Version: 2.4\nName: tollgate\nVersion: {version}\n".encode()
    with (
        open(path, "wb") as out,
        gzip.GzipFile("", "wb", fileobj=out, mtime=_moment()) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for file in files:
            archive.add(root / file, f"{name}/{file}", filter=_plain)
        entry = _plain(tarfile.TarInfo(f"{name}/PKG-INFO"))
        entry.size = len(information)
        archive.addfile(entry, io.BytesIO(information))
    return path.name


def _plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    """Forgets who packed the file and when, so that the same files are the same archive."""
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    entry.mode = 0o755 if entry.mode & 0o100 else 0o644
    entry.mtime = _moment()
    return entry


def _moment() -> int:
    return int(os.environ.get("SOURCE_DATE_EPOCH", "0"))


def _version() -> str:
    metadata = subprocess.run(
        ["cargo", "metadata", "--no-deps", "--format-version=1", "--manifest-path", HERE / "Cargo.toml"],
        capture_output=True,
        check=True,
    )
    return json.loads(metadata.stdout)["packages"][0]["version"]


def _profile() -> str:
    return os.environ.get("TOLLGATE_PROFILE", "release")


def _with_profile(config_settings):
    settings = dict(config_settings or {})
    arguments = f"--profile={_profile()}"
    if glibc := os.environ.get("TOLLGATE_GLIBC"):
        arguments += f" --zig --compatibility manylinux_{glibc.replace('.', '_')}"
    settings.setdefault("build-args", arguments)
    return settings


def _pack_tightly(wheel: Path) -> None:
    """Packs the files of a wheel once more, as small as deflate can: maturin packs them quickly."""
    tight = wheel.with_suffix(".tight")
    with zipfile.ZipFile(wheel) as quick, zipfile.ZipFile(tight, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as packed:
        for entry in quick.infolist():
            packed.writestr(entry, quick.read(entry), compress_type=zipfile.ZIP_DEFLATED, compresslevel=9)
    tight.replace(wheel)


def _put_program() -> None:
    """Puts the program where maturin takes the scripts of the wheel from, without its symbols."""
    shutil.rmtree(SCRIPTS.parent, ignore_errors=True)
    SCRIPTS.mkdir(parents=True)
    program = SCRIPTS / "tollgate"
    shutil.copy(os.environ.get("TOLLGATE_PROGRAM") or _build_program(), program)
    if shutil.which("strip"):
        subprocess.run(["strip", "--strip-all", program], check=True)


def _build_program() -> str:
    glibc = os.environ.get("TOLLGATE_GLIBC")
    command = ["cargo-zigbuild" if glibc else "cargo", "rustc", "--locked", "--profile", _profile()]
    command += ["--package", "tollgate-cli", "--bin", "tollgate", "--message-format", "json-render-diagnostics"]
    if glibc:
        command += ["--target", f"{platform.machine()}-unknown-linux-gnu.{glibc}"]
    if _profile() == "dist":
        # The level of the last crate alone, at which all are linked as one: at that of most crates, which is for size,
        # nothing that decides is inlined across crates, and no loop is vectorised.
        command += ["--", "-C", "opt-level=3"]
    built = subprocess.run(command, cwd=HERE.parent, stdout=subprocess.PIPE, check=True)
    for line in built.stdout.decode().splitlines():
        message = json.loads(line)
        if message.get("reason") == "compiler-artifact" and message.get("executable"):
            return message["executable"]
    raise RuntimeError("cargo built no program")
