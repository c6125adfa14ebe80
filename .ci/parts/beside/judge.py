"""Judges the calibration of statements: all of them about the start, and the worst group of at least 100.

    judge.py CALIBRATION LEAST TOLERANCE

Fails if fewer than LEAST statements about the start were judged, or their part that was kept is farther than TOLERANCE from
0.5, 0.9 or 0.95.
"""

import json
import sys

groups = json.load(open(sys.argv[1]))["groups"]
least, tolerance = int(sys.argv[2]), float(sys.argv[3])
failed = False
for quantity in ["start", "end"]:
    own = [group for group in groups if group["quantity"] == quantity]
    total = sum(group["statements"] for group in own)
    for idx, level in [(2, 0.5), (3, 0.9), (4, 0.95)]:
        kept = sum(group["kept"][idx]["part"] * group["statements"] for group in own) / max(total, 1)
        large = [group for group in own if group["statements"] >= 100]
        worst = max(large, key=lambda group: abs(group["kept"][idx]["part"] - level), default=None)
        line = f"{quantity} at {level}: {kept:.3f} of {total} kept"
        if worst:
            line += (f"; worst group: {worst['queue']}, {worst['procs']} processors, "
                     f"{worst['kept'][idx]['part']:.3f} of {worst['statements']}")
        print(line)
        failed |= abs(kept - level) > tolerance or total < least
sys.exit(failed)
