"""Runs functions by cluster_tools: one, several, one over its memory and one over its time."""

import time
from concurrent.futures import as_completed

import cluster_tools


def square(number):
    return number * number


def fill(_):
    text = bytearray(800_000_000)
    for at in range(0, len(text), 4096):
        text[at] = 1
    return len(text)


def rest(seconds):
    time.sleep(seconds)


def failure(resources, function, argument):
    with cluster_tools.get_executor("slurm", debug=True, keep_logs=True, job_resources=resources) as executor:
        future = executor.submit(function, argument)
        return future.exception()


def main():
    resources = {"mem": "500M", "time": "0:05:00"}
    with cluster_tools.get_executor("slurm", debug=True, keep_logs=True, job_resources=resources) as executor:
        assert executor.submit(square, 3).result() == 9
        futures = executor.map_to_futures(square, [1, 2, 3])
        values = sorted(future.result() for future in as_completed(futures))
        assert values == [1, 4, 9], values
    memory = failure({"mem": "300M", "time": "0:05:00"}, fill, 0)
    assert memory is not None and "memory" in str(memory).lower(), memory
    limit = failure({"mem": "300M", "time": "0:00:05"}, rest, 60)
    assert limit is not None, limit
    print(f"cluster_tools: {values}; memory: {type(memory).__name__}; time: {type(limit).__name__}")


if __name__ == "__main__":
    main()
