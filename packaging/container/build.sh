#!/usr/bin/env bash
# Makes a container image from a minimal Debian and the package: build.sh PACKAGE.deb IMAGE.tar
#
# The image is an archive that `docker load` and `podman load` read. Its layers have the time SOURCE_DATE_EPOCH.
set -euo pipefail
package=$(realpath "$1")
image=$(realpath "$2")
suite=${TOLLGATE_SUITE:-bookworm}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

mmdebstrap --variant=minbase --include=ca-certificates \
  --customize-hook="copy-in $package /tmp" \
  --customize-hook='chroot "$1" sh -c "dpkg -i /tmp/*.deb && rm /tmp/*.deb"' \
  --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/doc/*' \
  --dpkgopt='path-include=/usr/share/doc/*/copyright' \
  "$suite" "$folder/layer.tar"
"$(dirname "$0")/image.py" "$folder/layer.tar" "$image"
