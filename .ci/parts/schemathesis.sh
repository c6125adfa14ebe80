#!/usr/bin/env bash
# Sends a service of its own requests that its description (OpenAPI) allows, and requests that it
# forbids, and fails if an answer is one that the description does not name.
#
#   .ci/parts/schemathesis.sh [SECONDS] [OPTION..]
#
# SECONDS is the time for requests [default: 60]; OPTIONs are schemathesis' own, as `--seed 7`.
# TOLLGATE is the program to test [default: what `cargo build` makes]. Needs Python 3.10 or newer, and
# the network once: schemathesis goes into the target directory.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

version=4.32.5
seconds=${1:-60}
shift || true

target=$(realpath "${CARGO_TARGET_DIR:-target}")
tools=$target/schemathesis-$version
if [ ! -x "$tools/bin/schemathesis" ]; then
  python3 -m venv "$tools"
  "$tools/bin/pip" install --quiet "schemathesis==$version"
fi
if [ -z "${TOLLGATE:-}" ]; then
  cargo build --quiet -p tollgate-cli
  TOLLGATE=$target/debug/tollgate
fi

data=$(mktemp -d)
started=()
end() {
  for pid in "${started[@]}"; do kill "$pid" 2>/dev/null || true; done
  wait
  rm -rf "$data"
}
trap end EXIT

"$TOLLGATE" serve --data "$data" >"$data/notes" 2>&1 &
started+=($!)
until [ -S "$data/socket" ]; do
  kill -0 "${started[0]}" || { cat "$data/notes"; exit 1; }
  sleep 0.1
done

# The Unix socket on a port, as `ssh -L` forwards one: that is how a browser reaches it.
python3 - "$data" <<'PYTHON' &
import asyncio, pathlib, sys

data = pathlib.Path(sys.argv[1])

async def carry(source, sink):
    try:
        while piece := await source.read(65536):
            sink.write(piece)
            await sink.drain()
    except OSError:
        pass
    finally:
        sink.close()

async def forward(reader, writer):
    inner, outer = await asyncio.open_unix_connection(data / "socket")
    await asyncio.gather(carry(reader, outer), carry(inner, writer))

async def main():
    server = await asyncio.start_server(forward, "127.0.0.1", 0)
    (data / "port.new").write_text(str(server.sockets[0].getsockname()[1]))
    (data / "port.new").rename(data / "port")
    await server.serve_forever()

asyncio.run(main())
PYTHON
started+=($!)
until [ -e "$data/port" ]; do
  kill -0 "${started[1]}" || exit 1
  sleep 0.1
done
url=http://localhost:$(cat "$data/port")

# Left out: streams and waits, which end when a job does, and workers' connections, which are no HTTP; and
# the check that nothing can be read once it is deleted, because a cancelled job is still shown.
parts=$PWD/.ci/parts
cd "$data"
SCHEMATHESIS_HOOKS=schemathesis_hooks PYTHONPATH=$parts "$tools/bin/schemathesis" run \
  "$url/v1/openapi.json" \
  --max-time "$seconds" \
  --request-timeout 10 \
  --continue-on-failure \
  --warnings off \
  --exclude-path-regex '/(events|wait|work)$' \
  --exclude-checks use_after_free \
  "$@"
