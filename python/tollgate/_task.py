"""Runs one call of an executor on a worker: ``python task.py FOLDER``. A copy of this file lies beside the calls.

It uses the standard library alone, in words that every Python 3 reads: the Python of the worker may be another one. What few
calls need is imported where it is used: imports take longer than many a call.
"""

# mypy: ignore-errors

import os
import sys

try:
    # The half of `pickle` that is in C. The other half imports regular expressions, which takes longer than many a call.
    import _pickle as pickle
except ImportError:
    import pickle


def main():
    folder = sys.argv[1]
    number = int(os.environ.get("TOLLGATE_TASK") or 0)
    with open(os.path.join(folder, "about"), "rb") as file:
        about = pickle.load(file)
    result = run(folder, number, about)
    path = os.path.join(folder, "%d.result" % number)
    partial = "%s.%s.%d" % (path, os.uname()[1], os.getpid())
    with open(partial, "wb") as file:
        pickle.dump(result, file, protocol=3)
    # A result is whole once it has its name.
    os.replace(partial, path)
    sys.stdout.flush()
    return 0 if result["kind"] == "value" else 1


def run(folder, number, about):
    here = list(sys.version_info[:2])
    if here != about["python"]:
        words = ".".join(map(str, about["python"]))
        found = "%s on %s is Python %s" % (sys.executable, os.uname()[1], sys.version.split()[0])
        return {"kind": "problem", "text": "expected Python %s as in the caller: %s" % (words, found)}
    sys.path[:] = about["path"]
    try:
        import_main(about)
        if about["cloudpickle"]:
            import cloudpickle as pickler
        else:
            pickler = pickle
        function, calls = load(folder, number)
    except BaseException as error:
        text = "the call cannot be read here: %s: %s" % (type(error).__name__, error)
        return {"kind": "problem", "text": text, "trace": trace_of(error)}
    try:
        values = [function(*args, **kwargs) for args, kwargs in calls]
    except BaseException as error:
        return raised(error, pickler)
    try:
        return {"kind": "value", "value": pickler.dumps(values)}
    except Exception as error:
        text = "the result cannot be pickled: %s: %s" % (type(error).__name__, error)
        return {"kind": "problem", "text": text}


def import_main(about):
    """Imports the script of the caller if the call names something of it, as the module multiprocessing does."""
    if not about["main"]:
        return
    import runpy
    import types

    os.environ["TOLLGATE_IMPORTS_MAIN"] = "1"
    try:
        kind, name = about["main"]
        if kind == "module":
            content = runpy.run_module(name, run_name="__mp_main__", alter_sys=True)
        else:
            content = runpy.run_path(name, run_name="__mp_main__")
    finally:
        del os.environ["TOLLGATE_IMPORTS_MAIN"]
    module = types.ModuleType("__mp_main__")
    module.__dict__.update(content)
    sys.modules["__main__"] = sys.modules["__mp_main__"] = module


def load(folder, number):
    with open(os.path.join(folder, "function"), "rb") as file:
        function = pickle.load(file)
    with open(os.path.join(folder, "offsets"), "rb") as file:
        file.seek(8 * number)
        offset = int.from_bytes(file.read(8), "little")
    with open(os.path.join(folder, "arguments"), "rb") as file:
        file.seek(offset)
        return function, pickle.load(file)


def raised(error, pickler):
    """Returns an exception as itself, or in words if it cannot be sent."""
    trace = trace_of(error)
    sys.stderr.write(trace)
    try:
        sent = pickler.dumps(error)
        pickle.loads(sent)
    except Exception:
        text = "%s: %s" % (type(error).__name__, error)
        return {"kind": "problem", "text": "it raised what cannot be pickled: %s" % text, "trace": trace}
    return {"kind": "error", "error": sent, "trace": trace}


def trace_of(error):
    import traceback

    return "".join(traceback.format_exception(type(error), error, error.__traceback__))


if __name__ == "__main__":
    sys.exit(main())
