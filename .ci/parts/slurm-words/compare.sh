#!/usr/bin/env bash
# Types the same command lines at tollgate's commands and at a real Slurm: exit code and first line on standard error
# must agree.
#
#   compare.sh TOOLS FOLDER PATH
#
# TOOLS has tollgate's commands, and its service answers. FOLDER is that of the real Slurm, and PATH finds its commands.
# Needs root.
set -euo pipefail
tools=$1 folder=$2 system_path=$3
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
engine=$here/../engines/slurm.sh
export PATH=$system_path
"$engine" up "$folder" >/dev/null
trap '"$engine" down "$folder" >/dev/null' EXIT
. "$folder/env"
work=$(mktemp -d)
cd "$work"
printf '#!/bin/sh\ntrue\n' >ok.sh
printf '#!/bin/sh\r\ntrue\r\n' >dos.sh
printf 'echo\n' >plain.sh
printf '' >empty.sh
printf '#!/bin/sh\n#SBATCH -J x y\n' >stray.sh
printf '#!/bin/sh\n#SBATCH --foo\n' >foo.sh

# Runs a line, and prints its exit code and the first line on standard error.
answer() {
  local code=0
  PATH=$1 bash -c "$2" >/dev/null 2>"$work/stderr" || code=$?
  echo "$code $(head -n 1 "$work/stderr")"
}

failed=0 count=0
while IFS= read -r line; do
  [ -n "$line" ] && [ "${line:0:1}" != '#' ] || continue
  count=$((count + 1))
  ours=$(answer "$tools:$system_path" "$line")
  theirs=$(answer "$system_path" "$line")
  [ "$ours" = "$theirs" ] || {
    printf '%s\n  tollgate: %s\n  Slurm:    %s\n' "$line" "$ours" "$theirs"
    failed=$((failed + 1))
  }
done <"$here/lines.txt"
cd /
rm -r "$work"
echo "$count command lines, $failed with another exit code or first line"
[ "$failed" = 0 ]
