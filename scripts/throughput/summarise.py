#!/usr/bin/env python3
"""What `kernelift evaluate --json` said, in the benchmark's terms: rate, distinct machine code, failures, spread.

    summarise.py FILE.json...
"""
import collections
import json
import statistics
import sys

total, seconds, distinct = 0, 0.0, set()
for name in sys.argv[1:]:
    run = json.load(open(name))
    verdicts = run["verdicts"]
    total, seconds = total + len(verdicts), seconds + run["seconds"]
    images = {v["image"]["identity"] for v in verdicts if "identity" in v.get("image", {})}
    distinct |= {(name, image) for image in images}
    medians = [v["timings"][0]["seconds"] for v in verdicts if v["outcome"] == "ok" and v["timings"]]
    best = min((v for v in verdicts if v["outcome"] == "ok" and v["timings"]), key=lambda v: v["timings"][0]["seconds"])
    gains = sum(v["outcome"] == "ok" and bool(v["timings"]) and v["timings"][0]["speedup_low"] > 1.01 for v in verdicts)
    print(f"{name}: {len(verdicts) / run['seconds']:.1f} per second, {len(images)} distinct images, ready after {run['ready_seconds']:.2f} s, "
          f"{dict(collections.Counter(v['outcome'] for v in verdicts))}, best {min(medians) * 1e6:.1f} us ({best['note'][:60]}{'; ' + best['detail'] if best['detail'] else ''}), {gains} gains, "
          f"spread {(max(medians) - min(medians)) / statistics.median(medians) * 100:.2f} %")
print(f"all: {total} candidates in {seconds:.1f} s: {total / seconds:.1f} per second, {len(distinct)} distinct images")
