"""Prints how long calls of an executor take there and back, one after the other, on a service that does nothing else.

The figures are of this machine as busy as it is, so that nothing is asserted. The program is that of the package, unless
``TOLLGATE_PROGRAM`` names another one.
"""

from __future__ import annotations

import math
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3] / "python" / "tests"))

from services import RunningService

import tollgate as tg

N_CALLS = 40


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        service = RunningService(Path(folder))
        try:
            client = tg.Client(data=folder)
            with tg.Executor(client=client, deadline="+2h", estimate="1s", folder=folder) as executor:
                submits, calls = [], []
                for _ in range(N_CALLS):
                    start = time.perf_counter()
                    future = executor.submit(math.sqrt, 4.0)
                    submits.append(time.perf_counter() - start)
                    future.result(60)
                    calls.append(time.perf_counter() - start)
        finally:
            service.process.terminate()
            service.process.wait()
    print(f"{N_CALLS} calls, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    for name, times in (("submit", submits), ("there and back", calls)):
        first, middle, _ = statistics.quantiles(times, n=4)
        print(f"{name}: median {1e3 * middle:.1f} ms, a quarter within {1e3 * first:.1f} ms, least {1e3 * min(times):.1f} ms")


main()
