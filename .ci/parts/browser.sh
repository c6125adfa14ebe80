#!/usr/bin/env bash
# The window in a real browser, in front of a real service: what it shows, what it refuses, who sees what, how long its
# pages are busy before many jobs, pictures of each page, and figures of their speed.
#
#   .ci/parts/browser.sh PROGRAM FOLDER
#
# PROGRAM is the built tollgate; FOLDER keeps the Python environment and the pictures. CHROMIUM names the browser. Without
# one the part does not run, and says so.
set -euo pipefail
program=$(realpath "$1")
mkdir -p "$2"
folder=$(realpath "$2")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/browser" && pwd)

chromium=${CHROMIUM:-$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)}
if [ -z "$chromium" ]; then
  echo "not run: there is no Chromium here (apt-get install chromium, or CHROMIUM=PROGRAM)"
  exit 0
fi
[ -x "$folder/venv/bin/playwright" ] || {
  python3 -m venv "$folder/venv"
  "$folder/venv/bin/pip" install --quiet --requirement "$here/requirements.txt"
}
run=$(mktemp -d)
trap 'rm -rf "$run"' EXIT
"$folder/venv/bin/python" "$here/window.py" "$program" "$chromium" "$run/behaviour"
"$folder/venv/bin/python" "$here/access.py" "$program" "$chromium" "$run/access"
"$folder/venv/bin/python" "$here/served.py" "$program" "$chromium" "$run/served"
"$folder/venv/bin/python" "$here/crowd.py" "$program" "$chromium" "$run/crowd"
"$folder/venv/bin/python" "$here/pictures.py" "$program" "$chromium" "$run/pictures" "$folder/shots"
"$folder/venv/bin/python" "$here/figures.py" "$program" "$chromium" "$run/figures"
