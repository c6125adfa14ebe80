"""Judges statements by the records of the engine itself, and compares that with tollgate's own calibration.

    truth.py ENDS CALIBRATION <STATEMENTS

ENDS has a line for each job that has ended: its name, its start and its end in seconds. Fails if the part of the statements
of forests at the submission that was kept is farther than two points from what the calibration says.
"""

import json
import sys

LEVELS = [0.05, 0.1, 0.5, 0.9, 0.95]


def seconds(micros):
    return micros / 1e6


ends = {}
for line in open(sys.argv[1]):
    name, start, end = line.split()
    if start.isdigit() and end.isdigit():
        ends[name] = (int(start), int(end))
groups = json.load(open(sys.argv[2]))["groups"]
statements = [json.loads(line) for line in sys.stdin]
failed = False
own = [stated for stated in statements if stated["nth"] == 0 and stated["basis"] == "forest" and stated["key"] in ends]
for idx in [2, 3, 4]:
    kept = [ends[stated["key"]][0] <= seconds(stated["starts_by"][idx]) for stated in own]
    part = sum(kept) / len(kept)
    counted = [(group["kept"][idx]["part"], group["statements"]) for group in groups if group["quantity"] == "start"]
    calibrated = sum(part * n for part, n in counted) / sum(n for _, n in counted)
    print(f"start at {LEVELS[idx]}: {part:.3f} of {len(kept)} by the engine, {calibrated:.3f} by the calibration")
    failed |= abs(part - calibrated) > 0.02
sys.exit(failed)
