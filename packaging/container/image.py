#!/usr/bin/env python3
"""Wraps a root directory into a container image: image.py LAYER.tar IMAGE.tar

The image has the format of `docker save`, with one layer. The same layer gives the same bytes.
"""

import hashlib
import io
import json
import os
import sys
import tarfile
from datetime import datetime, timezone

NAME = "tollgate"


def main(layer: str, image: str) -> None:
    moment = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
    content = open(layer, "rb").read()
    digest = hashlib.sha256(content).hexdigest()
    config = {
        "architecture": "amd64",
        "os": "linux",
        "created": datetime.fromtimestamp(moment, timezone.utc).isoformat().replace("+00:00", "Z"),
        "config": {
            "Env": ["PATH=/usr/sbin:/usr/bin:/sbin:/bin", "TOLLGATE_DATA=/var/lib/tollgate"],
            "Entrypoint": ["/usr/bin/tollgate"],
            "Cmd": ["serve", "--data", "/var/lib/tollgate", "--config", "/etc/tollgate/config.toml"],
            "Volumes": {"/var/lib/tollgate": {}},
        },
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}"]},
    }
    settings = json.dumps(config, sort_keys=True).encode()
    name = f"{hashlib.sha256(settings).hexdigest()}.json"
    tags = [f"{NAME}:{os.environ.get('TOLLGATE_VERSION', 'latest')}"]
    manifest = json.dumps([{"Config": name, "RepoTags": tags, "Layers": [f"{digest}/layer.tar"]}]).encode()
    with tarfile.open(image, "w", format=tarfile.PAX_FORMAT) as archive:
        for path, part in [(f"{digest}/layer.tar", content), (name, settings), ("manifest.json", manifest)]:
            entry = tarfile.TarInfo(path)
            entry.size, entry.mtime = len(part), moment
            archive.addfile(entry, io.BytesIO(part))


main(*sys.argv[1:])
