#!/usr/bin/env bash
# Packages of a clean tree: program and module for glibc 2.28, wheel, sdist, .deb, .rpm, container, SBOM, checksums.
#
#   .ci/parts/packages.sh RESULTS [STEP..]    steps: build again pythons next pack units install rpm recipes container sums;
#                                           all by default
#
# The packages lie in RESULTS/dist. `again` builds the wheel a second time, and both must be the same bytes. `next` builds
# programs of two next versions: `store` has a step of the schema more, and `jobs` does not read unfinished jobs of this one.
# `install` and `rpm` try the packages in a bare Debian, and upgrade to these versions, which needs root and mmdebstrap.
# `pythons` runs the tests of the module with the wheel and the Python of each newer Debian. TOLLGATE_PROFILE: the profile of
# cargo.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. .ci/prepare

mkdir -p "$1"
results=$(realpath "$1")
shift
dist=$results/dist
stage=$results/stage
tools=$results/tools
tree=$results/tree
version=$(sed -n 's/^version = "\(.*\)"/\1/p' python/Cargo.toml)
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH TOLLGATE_PROFILE=${TOLLGATE_PROFILE:-dist} TOLLGATE_GLIBC=2.28
PATH=$tools/bin:$PATH

prepare_tools() {
  [ -x "$tools/bin/cargo-zigbuild" ] || {
    python3 -m venv "$tools"
    "$tools/bin/pip" install --quiet cargo-zigbuild==0.24.1 ziglang==0.17.1 maturin==1.16.0
  }
}

# Fails if a file asks for a newer glibc than 2.28.
check_glibc() {
  local file newest
  for file in "$@"; do
    newest=$(objdump -T "$file" | grep -o 'GLIBC_[0-9.]*' | sort -Vu | tail -1)
    echo "$(basename "$file"): $newest"
    [ "$(printf '%s\nGLIBC_2.28\n' "$newest" | sort -V | tail -1)" = GLIBC_2.28 ]
  done
}

# Builds a wheel from the source distribution, in a tree and with compiled files of its own.
wheel_of_sdist() {
  rm -rf "$tree" "$2"
  mkdir -p "$tree" "$2"
  tar -xzf "$1" -C "$tree" --strip-components 1
  (
    cd "$tree"
    # Where the compiler found a file is part of messages.
    export CARGO_TARGET_DIR=$tree/target CARGO_INCREMENTAL=0 RUSTFLAGS="--remap-path-prefix=$tree=/tollgate"
    export XDG_CACHE_HOME=$results/cache
    "$tools/bin/pip" wheel --quiet --no-deps --no-build-isolation --wheel-dir "$2" .
  )
  # 3 % smaller than the best that zlib does.
  apt_install advzip advancecomp
  advzip --quiet --recompress --shrink-normal "$2"/*.whl
}

build() {
  step "a source distribution, and a wheel from it"
  rm -rf "$dist"
  mkdir -p "$dist"
  "$tools/bin/python" -c 'import sys; sys.path.insert(0, "python"); import wheel_backend as b; print(b.build_sdist(sys.argv[1]))' "$dist"
  wheel_of_sdist "$dist/tollgate-$version.tar.gz" "$dist/wheel"
  mv "$dist"/wheel/*.whl "$dist"
  rmdir "$dist/wheel"
  local parts=$results/parts
  rm -rf "$parts"
  "$tools/bin/python" -m zipfile -e "$dist"/*.whl "$parts"
  check_glibc "$parts/tollgate/_native.abi3.so" "$parts/tollgate-$version.data/scripts/tollgate"
  ls -l "$dist"
}

again() {
  step "the same wheel from a second build"
  wheel_of_sdist "$dist/tollgate-$version.tar.gz" "$results/again"
  cmp "$dist"/*.whl "$results"/again/*.whl
  echo "both wheels are the same bytes"
}

# Runs a command in a system in FOLDER: in_root FOLDER COMMAND.. Mounts, processes and ports go with the command.
in_root() {
  apt_install ip iproute2
  as_root unshare --mount --net --pid --fork --kill-child sh -c \
    'ip link set lo up && mount --rbind /dev "$1/dev" && mount -t proc proc "$1/proc" && root=$1 && shift && exec chroot "$root" "$@"' \
    in_root "$@"
}

pythons() {
  apt_install mmdebstrap mmdebstrap
  local suite root=$results/root
  rm -rf "$results/wheels"
  "$tools/bin/pip" download --quiet --only-binary :all: --dest "$results/wheels" pytest==9.2.0
  cp "$dist"/*.whl "$results/wheels"
  for suite in trixie forky; do
    step "the wheel with the Python of Debian $suite"
    # A suite that is not released yet may be an old copy.
    [ -f "$results/$suite.tar" ] || mmdebstrap --variant=minbase --include=python3-venv \
      --aptopt='Acquire::Check-Valid-Until "false"' "$suite" "$results/$suite.tar" || {
      rm -f "$results/$suite.tar"
      echo "NOT RUN, for lack of Debian $suite: the wheel with its Python"
      continue
    }
    as_root rm -rf "$root"
    mkdir -p "$root/tree"
    as_root tar -xf "$results/$suite.tar" -C "$root"
    cp -r "$results/wheels" "$root"
    tar -xzf "$dist/tollgate-$version.tar.gz" -C "$root/tree" --strip-components 1
    in_root "$root" sh -euc 'useradd --create-home ada; cd /tree; exec setpriv --reuid=ada --regid=ada --clear-groups \
      env HOME=/home/ada sh -euc "python3 --version; python3 -m venv ~/env
        ~/env/bin/pip install --quiet --no-index --find-links /wheels tollgate pytest
        ~/env/bin/python -m pytest -q -p no:cacheprovider python/tests"'
    as_root rm -rf "$root"
  done
}

next_versions() {
  step "the next version, with a step of the schema, and one that does not read unfinished jobs"
  local tree=$results/next version
  rm -rf "$tree"
  mkdir -p "$tree" "$results/programs"
  tar -xzf "$dist"/tollgate-*.tar.gz -C "$tree" --strip-components 1
  for version in store jobs; do
    .ci/parts/packages/next_version.py "$tree" "$version"
    (cd "$tree" && CARGO_TARGET_DIR=$results/next-target cargo build --quiet --locked --package tollgate-cli)
    strip --strip-all -o "$results/programs/$version" "$results/next-target/debug/tollgate"
    "$results/programs/$version" --version
  done
}

# Puts everything that a package installs into a directory, as it will lie on the host.
fill_stage() {
  rm -rf "$stage"
  mkdir -p "$stage/bin" "$stage/man" "$stage/completions" "$stage/maintainer/deb" "$stage/maintainer/rpm"
  install -m 755 "$results/parts/tollgate-$version.data/scripts/tollgate" "$stage/bin/tollgate"
  "$stage/bin/tollgate" generate man --out "$stage/man"
  gzip -9n "$stage"/man/*.1
  "$stage/bin/tollgate" generate completions bash >"$stage/completions/tollgate"
  "$stage/bin/tollgate" generate completions zsh >"$stage/completions/_tollgate"
  "$stage/bin/tollgate" generate completions fish >"$stage/completions/tollgate.fish"
  "$stage/bin/tollgate" generate config >"$stage/config.toml.sample"
  cat packaging/maintainer/account.sh >"$stage/maintainer/rpm/post"
  { echo 'if [ "$1" = 0 ]; then'; cat packaging/maintainer/stop.sh; echo 'fi'; } >"$stage/maintainer/rpm/preun"
  { printf '#!/bin/sh\nset -e\n'; cat packaging/maintainer/account.sh; } >"$stage/maintainer/deb/postinst"
  { printf '#!/bin/sh\nset -e\n[ "$1" = remove ] || exit 0\n'; cat packaging/maintainer/stop.sh; } >"$stage/maintainer/deb/prerm"
  chmod 755 "$stage"/maintainer/*/*
  find "$stage" -exec touch --no-dereference --date "@$SOURCE_DATE_EPOCH" {} +
}

# Makes .deb and .rpm of the stage: pack_both VERSION FOLDER
pack_both() {
  ln -sfn "$stage" target/stage
  cargo deb --quiet --no-build --no-strip --package tollgate-cli --deb-version "$1-1" --fast --output "$2/"
  # Every version of rpm since RHEL 8 reads gzip.
  cargo generate-rpm --package crates/cli --payload-compress gzip --set-metadata "version = \"$1\"" \
    --output "$2/tollgate-$1-1.x86_64.rpm"
}

pack() {
  step ".deb and .rpm"
  cargo_install cargo-deb --version 3.8.0 --root "$tools"
  cargo_install cargo-generate-rpm --version 0.21.1 --root "$tools"
  fill_stage
  mkdir -p target
  rm -rf "$results/second" "$results"/next-{store,jobs} "$dist"/*.deb "$dist"/*.rpm
  mkdir -p "$results/second" "$results"/next-{store,jobs}
  pack_both "$version" "$dist"
  fill_stage
  pack_both "$version" "$results/second"
  local file next
  for next in store jobs; do
    install -m 755 "$results/programs/$next" "$stage/bin/tollgate"
    pack_both "$("$stage/bin/tollgate" --version | cut -d ' ' -f 2)" "$results/next-$next"
  done
  fill_stage
  for file in "$results"/second/*; do
    cmp "$file" "$dist/$(basename "$file")"
  done
  echo "both packages are the same bytes from two stages"
  dpkg-deb --info "$dist"/*.deb
  dpkg-deb --contents "$dist"/*.deb | grep -v '/man1/'
  apt_install rpm rpm
  rpm -qp --requires "$dist"/*.rpm
}

# Makes a bare Debian: bare FOLDER
bare() {
  apt_install mmdebstrap mmdebstrap
  [ -f "$results/bare.tar" ] || mmdebstrap --variant=minbase bookworm "$results/bare.tar"
  as_root rm -rf "$1"
  mkdir -p "$1"
  as_root tar -xf "$results/bare.tar" -C "$1"
  cp .ci/parts/packages/installed.sh "$1/installed.sh"
}

units() {
  step "units, as systemd reads them"
  local root=$results/units
  as_root rm -rf "$root"
  mkdir -p "$root/units"
  dpkg-deb --extract "$dist"/*.deb "$root"
  # `verify` looks for programs and man pages on this host.
  sed "s|/usr/bin/tollgate|$stage/bin/tollgate|; /^Documentation=/d" "$root"/usr/lib/systemd/system/tollgate.service >"$root/units/tollgate.service"
  sed "s|/usr/bin/tollgate|$stage/bin/tollgate|; /^Documentation=/d" "$root"/usr/lib/systemd/system/tollgate-worker.service >"$root/units/tollgate-worker.service"
  sed "s|/usr/bin/tollgate|$stage/bin/tollgate|; /^Documentation=/d" "$root"/usr/lib/systemd/system/tollgate-site-keep@.service >"$root/units/tollgate-site-keep@.service"
  systemd-analyze verify "$root"/units/*.service
  mkdir -p "$root/etc"
  as_root systemd-sysusers --root="$root"
  as_root systemd-tmpfiles --root="$root" --create tollgate.conf
  [ "$(stat -c %a "$root/var/lib/tollgate")" = 1771 ]
  as_root rm -rf "$root"
}

deb_package() {
  step "the .deb in a bare Debian"
  local root=$results/root
  bare "$root"
  cp "$dist"/*.deb "$root/first.deb"
  cp "$results"/next-store/*.deb "$root/store.deb"
  cp "$results"/next-jobs/*.deb "$root/jobs.deb"
  in_root "$root" sh /installed.sh "dpkg -i /first.deb" "dpkg -i /store.deb" "dpkg -i /jobs.deb" "dpkg --remove tollgate"
  as_root rm -rf "$root"
}

# The program `rpm` of this host works on the system in which the package is tried, which asks for each step.
rpm_package() {
  step "the .rpm in a bare Debian"
  apt_install rpm rpm
  local root=$results/root tried ask asks=()
  bare "$root"
  mkfifo "$root/asks" "$root/answers"
  for ask in first store jobs remove; do
    asks+=("echo $ask >/asks; read -r _ </answers")
  done
  in_root "$root" sh /installed.sh "${asks[@]}" &
  tried=$!
  ask=""
  while [ "$ask" != remove ]; do
    # Nobody asks any more once the trial has failed.
    read -r -t 120 ask <>"$root/asks" || { wait "$tried"; return 1; }
    case $ask in
      first) as_root rpm --root "$root" --nodeps --install "$dist"/*.rpm ;;
      store | jobs) as_root rpm --root "$root" --nodeps --upgrade "$results/next-$ask"/*.rpm ;;
      remove) as_root rpm --root "$root" --nodeps --erase tollgate ;;
    esac
    echo answered >"$root/answers"
  done
  wait "$tried"
  as_root rm -rf "$root"
}

recipes() {
  step "recipes, filled for this release"
  local sum
  sum=$(sha256sum "$dist/tollgate-$version.tar.gz" | cut -d ' ' -f 1)
  rm -rf "$dist/recipes"
  cp -r packaging/recipes "$dist/recipes"
  packaging/recipes/fill.py "$version" "$sum" "$dist/recipes"
  rm "$dist/recipes/fill.py"
  "$tools/bin/pip" install --quiet easybuild-framework==5.4.1 easybuild-easyblocks==5.4.1 pycodestyle py-rattler-build==0.73.0
  "$tools/bin/python" .ci/parts/packages/lint_recipes.py "$dist/recipes" "$sum"
}

container() {
  step "a container image"
  TOLLGATE_VERSION=$version packaging/container/build.sh "$dist"/*.deb "$dist/tollgate-$version-image.tar"
  apt_install podman podman
  # Unlike the usual crun, runc also runs where both versions of control groups are mounted.
  apt_install runc runc
  (
    trap 'engine rm --force --volumes --all && as_root rm -rf --one-file-system "$results"/containers{,-run}' EXIT
    engine load --input "$dist/tollgate-$version-image.tar"
    engine run --rm --network none "tollgate:$version" demo --once | tail -3
    engine run --detach --name served --network none "tollgate:$version"
    until inside root tollgate status; do
      [ "$(engine inspect --format '{{.State.Running}}' served)" = true ] || { engine logs served; exit 1; }
      sleep 1
    done
    inside root useradd --create-home ada
    inside ada tollgate submit --estimate 1s --deadline +1h -- sh -c 'id -un >who'
    inside ada tollgate wait 1
    inside ada grep '^ada$' who
    engine stop served
  )
}

# Runs podman with images and containers of its own.
engine() {
  as_root podman --storage-driver vfs --root "$results/containers" --runroot "$results/containers-run" \
    --runtime runc --cgroup-manager cgroupfs "$@"
}

# Runs a command in the container of the service: inside ACCOUNT COMMAND..
inside() {
  local account=$1
  shift
  engine exec --user "$account" --workdir /tmp served "$@"
}

# Lists the libraries inside a package of cargo: list_inside FOLDER FILE
list_inside() {
  cargo cyclonedx --quiet --manifest-path "$1/Cargo.toml" --format json --override-filename listed.cdx
  # The list of each member of the workspace is written; and they name this directory.
  sed "s|file://$PWD|file:///tollgate|g" "$1/listed.cdx.json" >"$2"
  find . -path ./target -prune -o -name listed.cdx.json -exec rm {} +
}

sums() {
  step "a list of what is inside, and checksums"
  cargo_install cargo-cyclonedx --version 0.5.9 --root "$tools"
  list_inside crates/cli "$dist/tollgate-$version.cdx.json"
  list_inside python "$dist/tollgate-$version-module.cdx.json"
  (cd "$dist" && find . -maxdepth 1 -type f ! -name SHA256SUMS -printf '%f\n' | sort | xargs sha256sum >SHA256SUMS)
  cat "$dist/SHA256SUMS"
}

prepare_tools
[ $# -gt 0 ] || set -- build again pythons next pack units install rpm recipes container sums
for part in "$@"; do
  case "$part" in
    install) deb_package ;;
    rpm) rpm_package ;;
    next) next_versions ;;
    build | again | pythons | pack | units | recipes | container | sums) "$part" ;;
    *) echo "$part: no such step" >&2; exit 2 ;;
  esac
done
