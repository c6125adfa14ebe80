"""Where the service is: arguments, environment, the user's clusters and defaults, by the rules of the program."""

from __future__ import annotations

import json
import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Union
from urllib.parse import urlsplit

from tollgate._errors import ArgumentError, RecordError

__all__ = ["Address", "check_private", "find_address", "read_token"]

StrPath = Union[str, "os.PathLike[str]"]

_DEFAULT_PORT = 443
_MAX_TOKEN = 256


@dataclass(frozen=True)
class Address:
    """The address of a service: a socket of this host, or a URL with what both ends show each other."""

    socket: str | None = None
    host: str = ""
    port: int = _DEFAULT_PORT
    authority: str = "localhost"
    """``host:port`` as in the URL."""
    fingerprint: bytes | None = None
    ca: str | None = None
    certificate: str | None = None
    token_file: str | None = None

    def __str__(self) -> str:
        return self.socket or self.authority


def find_address(
    *,
    data: StrPath | None,
    url: str | None,
    cluster: str | None,
    token_file: StrPath | None,
    certificate: StrPath | None,
    ca: StrPath | None,
    fingerprint: str | None,
) -> Address:
    """Return where the service is: an argument goes before the environment, and a data directory before a URL of it."""
    named = [name for name, value in (("data", data), ("url", url), ("cluster", cluster)) if value is not None]
    if len(named) > 1:
        raise ArgumentError(f"{named[0]} and {named[1]}: expected one address of a service")
    shown = {"token_file": token_file, "certificate": certificate, "ca": ca, "fingerprint": fingerprint}
    if cluster is not None:
        _refuse(shown)
        return _of_cluster(cluster)
    if url is None and data is None:
        url = _variable("TOLLGATE_URL")
    if url is None:
        _refuse(shown)
        return Address(socket=os.path.join(_data_dir(data), "socket"))
    print_of = fingerprint if fingerprint is not None or ca is not None else _variable("TOLLGATE_FINGERPRINT")
    return _remote(
        url,
        fingerprint=print_of,
        token_file=_path(token_file, "TOLLGATE_TOKEN_FILE"),
        certificate=_path(certificate, "TOLLGATE_CERTIFICATE"),
        ca=_path(ca, "TOLLGATE_CA"),
    )


def _variable(name: str) -> str | None:
    return os.environ.get(name) or None


def _path(given: StrPath | None, variable: str) -> str | None:
    return os.fspath(given) if given is not None else _variable(variable)


def _refuse(shown: dict[str, StrPath | None]) -> None:
    for name, value in shown.items():
        if value is not None:
            raise ArgumentError(f"{name}: is for a service that a URL names; expected url beside it")


def _data_dir(given: StrPath | None) -> str:
    if given is not None:
        return os.fspath(given)
    if data := _variable("TOLLGATE_DATA"):
        return data
    if state := _variable("XDG_STATE_HOME"):
        return os.path.join(state, "tollgate")
    if home := _variable("HOME"):
        return os.path.join(home, ".local/state/tollgate")
    raise ArgumentError("no data directory: set data, TOLLGATE_DATA or HOME")


def _remote(
    url: str, *, fingerprint: str | None, token_file: str | None, certificate: str | None, ca: str | None
) -> Address:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port, parts = None, None, urlsplit("")
    is_plain = parts.path in ("", "/") and not parts.query and not parts.fragment and "@" not in parts.netloc
    if parts.scheme != "https" or not host or not is_plain:
        raise ArgumentError(f"{url}: expected a URL as in https://host:8443")
    if fingerprint is None and ca is None:
        raise ArgumentError(
            f"{url}: the service cannot be authenticated: expected a fingerprint or trusted certificates",
            "`tollgate serve` prints its fingerprint: give it as fingerprint or in TOLLGATE_FINGERPRINT",
        )
    return Address(
        host=host,
        port=_DEFAULT_PORT if port is None else port,
        authority=parts.netloc,
        fingerprint=None if fingerprint is None else _fingerprint(fingerprint),
        ca=ca if fingerprint is None else None,
        certificate=certificate,
        token_file=token_file,
    )


def _fingerprint(words: str) -> bytes:
    prefix, _, digits = words.strip().partition(":")
    # Other programs print colons between the bytes.
    digits = digits.replace(":", "")
    if prefix != "sha256" or not re.fullmatch(r"[0-9a-fA-F]{64}", digits):
        raise ArgumentError("fingerprint: expected `sha256:` and 64 hexadecimal digits")
    return bytes.fromhex(digits)


def read_token(path: str) -> str:
    """Return the token in a file that only its owner can read.

    Raises:
        ArgumentError: The file cannot be read, others can read it, or it does not hold a token.
    """
    try:
        with open(path, "rb") as file:
            about = os.fstat(file.fileno())
            mode = stat.S_IMODE(about.st_mode) & 0o777
            # A pipe, unlike a regular file, is readable for this reader only.
            if stat.S_ISREG(about.st_mode) and mode & 0o077:
                raise ArgumentError(
                    f"{path}: expected a file that others cannot read, found mode {mode:03o}",
                    "take the rights away with `chmod go=`",
                )
            word = file.read(_MAX_TOKEN).strip()
    except OSError as error:
        raise ArgumentError(f"{path}: cannot be read: {error.strerror}") from None
    if not re.fullmatch(rb"[!-~]+", word):
        raise ArgumentError(f"{path}: expected one token")
    return word.decode()


def check_private(path: str) -> None:
    """Check that only this user and root can read and change a file with a private key."""
    try:
        about = os.stat(path)
    except OSError as error:
        raise ArgumentError(f"{path}: cannot be read: {error.strerror}") from None
    mode, me = stat.S_IMODE(about.st_mode) & 0o777, os.geteuid()
    if about.st_uid not in (me, 0) or mode & 0o027:
        raise ArgumentError(
            f"{path}: owner {about.st_uid}, mode {mode:03o}: expected a file that only user {me} and root can "
            "read and change",
            "change the mode with `chmod`, or the owner with `chown`",
        )


def _of_cluster(name: str) -> Address:
    """Return the address of a cluster by its name. The environment names no part of it, so that no service is shown the
    token of another one."""
    settings = _variable("XDG_CONFIG_HOME") or os.path.join(_variable("HOME") or "", ".config")
    path = Path(settings, "tollgate", "clusters.toml")
    found = [cluster for cluster in _clusters(path) if cluster.get("name") == name]
    if not found:
        raise ArgumentError(f"no such cluster: {name}", "`tollgate cluster list` shows the clusters")
    cluster = found[0]
    if ("data" in cluster) == ("url" in cluster):
        raise RecordError(f"{path}: cluster `{name}`: expected either data or url")
    if "data" in cluster:
        return Address(socket=os.path.join(cluster["data"], "socket"))
    return _remote(
        cluster["url"],
        fingerprint=cluster.get("fingerprint"),
        token_file=cluster.get("token_file"),
        certificate=cluster.get("certificate"),
        ca=cluster.get("ca"),
    )


def _clusters(path: Path) -> list[dict[str, str]]:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return []
    except OSError as error:
        raise RecordError(f"{path}: cannot be read: {error.strerror}") from None
    clusters: list[dict[str, str]] = []
    # Python 3.10 reads no TOML. The file has tables of strings, as `tollgate cluster add` writes them.
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        if re.fullmatch(r"\[\[\s*cluster\s*\]\](\s*#.*)?", line):
            clusters.append({})
            continue
        pair = re.fullmatch(r"""(\w+)\s*=\s*("(?:[^"\\]|\\.)*"|'[^']*')(\s*#.*)?""", line)
        if pair is None or not clusters:
            raise RecordError(f"{path}:{number}: expected [[cluster]], or a name and a string")
        try:
            clusters[-1][pair[1]] = pair[2][1:-1] if pair[2].startswith("'") else json.loads(pair[2])
        except ValueError:
            raise RecordError(f"{path}:{number}: expected a string in quotes") from None
    return clusters
