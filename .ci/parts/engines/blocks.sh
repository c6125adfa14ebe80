# Sourced by scripts that type what documents tell a reader to type, as the user of .ci/parts/engines/named.sh. The script sets `docs`.
# shellcheck shell=bash disable=SC2154

# blocks DOCUMENT ENGINE: prints the blocks of a document that are marked with an engine: `sh slurm`.
blocks() {
  awk -v mark="\`\`\`sh $2" '
    /^```/ && inside { inside = 0; next }
    $0 == mark       { inside = 1; found = 1; next }
    inside           { print }
    END              { exit !found }
  ' "$docs/$1"
}

# ann_types NAME: runs lines of standard input as the user types them, and shows them.
ann_types() {
  { echo 'set -Eeuo pipefail; cd; trap '\''echo "failed: $BASH_COMMAND" >&2'\'' ERR; set -v'; cat; } >"$folder/home/$1.sh"
  as_ann bash "$folder/home/$1.sh"
}
