#!/usr/bin/env python3
"""The widest waiting job starts first; decides as the policy of examples/widest-first.

    tollgate replay FILE --policy exec:examples/exec-policy/widest_first.py
"""

import bisect
import json
import sys


def decide(queue, idle):
    """Takes the jobs to start from the queue: from the widest on, until one does not fit."""
    start = []
    while queue and -queue[0][0] <= idle:
        width, job = queue.pop(0)
        idle += width
        start.append(job)
    return start


def main():
    queue = []  # The waiting jobs, (-procs, job): the widest first, ties by submission.
    for line in sys.stdin:
        event = json.loads(line)
        match event["event"]:
            case "submitted":
                bisect.insort(queue, (-event["procs"], event["job"]))
            case "cancelled":
                queue = [entry for entry in queue if entry[1] != event["job"]]
            case "clear":
                queue = []
            case "pass":
                answer = {"start": decide(queue, event["nodes_idle"])}
                print(json.dumps(answer), flush=True)
            case "start" | "ended":
                pass


if __name__ == "__main__":
    main()
