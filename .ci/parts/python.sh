#!/usr/bin/env bash
# The module for Python.
#
#   .ci/parts/python.sh quick PROGRAM    lints, and the tests with the module as cargo builds it and this program
#   .ci/parts/python.sh full RESULTS     a wheel from the tree, in an environment of each Python that is here, with the
#                                        tests, the examples of docstrings and documents, and type checkers
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. .ci/prepare

pytest=pytest==9.2.0
documents=(docs/python/{forecast,live,policy,replay}.md python/README.md)

lint() {
  cargo fmt --manifest-path python/Cargo.toml --check
  cargo clippy --locked --manifest-path python/Cargo.toml --all-targets -- -D warnings
}

# Makes a virtual environment with these packages: environment FOLDER PYTHON PACKAGE..
environment() {
  local folder=$1 python=$2
  shift 2
  rm -rf "$folder"
  "$python" -m venv "$folder"
  "$folder/bin/pip" install --quiet "$@"
}

quick() {
  local program=$1 folder library env=target/module-tests
  step "lints of the module for Python, and its library, in one build"
  cargo fmt --manifest-path python/Cargo.toml --check
  # In a folder of its own, so that no test waits for the lock of the other one.
  library=$(RUSTC_WORKSPACE_WRAPPER=clippy-driver CLIPPY_ARGS=-Dwarnings cargo build --locked \
    --manifest-path python/Cargo.toml --target-dir "${CARGO_TARGET_DIR:-target}/module" \
    --message-format json-render-diagnostics | sed -n 's/.*"filenames":\["\([^"]*lib_native\.so\)".*/\1/p')
  step "tests of the module for Python"
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' RETURN
  cp -r python/tollgate "$folder"
  cp "$library" "$folder/tollgate/_native.abi3.so"
  # Kept for the next run: it takes longer than most tests.
  "$env/bin/pip" freeze 2>/dev/null | grep -qx "$pytest" || environment "$env" python3 "$pytest"
  TOLLGATE_PROGRAM=$program PYTHONPATH=$folder "$env/bin/python" -m pytest -q -p no:cacheprovider
}

full() {
  local results=$1 wheel python env tested=()
  mkdir -p "$results"
  lint
  step "a wheel from the tree"
  environment "$results/build" python3 pip
  rm -rf "$results/dist"
  "$results/build/bin/pip" wheel --quiet --no-deps --wheel-dir "$results/dist" .
  wheel=$(echo "$results"/dist/*.whl)
  ls -l "$wheel"
  for python in python3.10 python3.11 python3.12 python3.13 python3.14; do
    "$python" -c 'import venv' 2>/dev/null || continue
    step "the tests with $python"
    env=$results/$python
    environment "$env" "$python" "$wheel" "$pytest"
    "$env/bin/python" -m pytest -q -p no:cacheprovider
    tested+=("$python")
  done
  [ ${#tested[@]} != 0 ] || { echo "no Python is here" >&2; return 1; }
  step "tables of pandas, polars, duckdb and pyarrow, the examples, and the types, with ${tested[-1]}"
  "$env/bin/pip" install --quiet pandas==3.1.1 polars==2.1.0 duckdb==2.0.1 pyarrow==26.0.1 abi3audit==0.0.26 \
    mypy==2.4.1 cloudpickle==3.1.3 pyright==1.1.414
  "$env/bin/python" -m pytest -q -p no:cacheprovider python/tests/test_tables.py python/tests/test_executor.py
  "$env/bin/python" -m pytest -q -p no:cacheprovider --doctest-modules --pyargs tollgate
  "$env/bin/python" .ci/parts/python/blocks.py "${documents[@]}"
  "$env/bin/abi3audit" "$wheel"
  "$env/bin/python" .ci/parts/python/there_and_back.py
  "$env/bin/python" .ci/parts/python/api_types.py --check
  "$env/bin/mypy" --strict --python-executable "$env/bin/python" .ci/parts/python/typed.py
  "$env/bin/python" -m mypy.stubtest --ignore-missing-stub tollgate._native
  "$env/bin/pyright" --pythonpath "$env/bin/python" .ci/parts/python/typed.py
  plugins "$results/plugins" "${tested[-1]}" "$wheel"
}

# Runs what stands on the module, each beside its host in the version of its tests: plugins FOLDER PYTHON WHEEL
plugins() {
  local env=$1 plugin loose=(--allow-subclassing-any --allow-untyped-calls --disable-error-code import-untyped)
  step "plugins for Snakemake, joblib, Dask and Parsl, with $2"
  environment "$env" "$2" "$3" mypy==2.4.1
  for plugin in python/plugins/*/; do
    "$env/bin/pip" install --quiet "$plugin[test]"
    # The hosts have few types.
    "$env/bin/mypy" --strict "${loose[@]}" "$plugin"*_tollgate/__init__.py
  done
  # Parsl looks for its programs in the PATH.
  PATH=$env/bin:$PATH "$env/bin/python" -m pytest -q -p no:cacheprovider python/plugins
  PATH=$env/bin:$PATH "$env/bin/python" .ci/parts/python/blocks.py docs/python/workflows.md
  step "the notebooks"
  "$env/bin/pip" install --quiet nbclient==0.11.0 ipykernel==7.4.0
  "$env/bin/python" .ci/parts/python/notebooks.py examples/notebooks/*.ipynb
}

case "${1:-}" in
  quick) quick "$(realpath "$2")" ;;
  full) mkdir -p "$2"; full "$(realpath "$2")" ;;
  *) sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
