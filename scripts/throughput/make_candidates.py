#!/usr/bin/env python3
"""Candidates for measuring throughput: the tiled matrix product of a MEP in every configuration, or one source under many
compiler recipes. One JSON object a line, for `kernelift evaluate`.

    make_candidates.py source   MEP N [UNROLLS]   108 configurations for each unrolling of the inner loop (1,2,4,8…)
    make_candidates.py best     MEP N             108 configurations; loops of unknown length are unrolled as far as nvcc does
    make_candidates.py compiler MEP COUNT         COUNT recipes of the MEP's own source
    make_candidates.py same     MEP COUNT         the original, COUNT times
    make_candidates.py distinct CANDIDATES VERDICTS   of those that `evaluate --json` found good, one for each machine code
"""
import itertools
import json
import random
import re
import sys

RECIPE = {"level": "O3", "passes": "", "unroll_threshold": -1, "inline_threshold": -1, "fast_math": [], "vectorize": True, "options": []}
PASSES = ["sroa", "early-cse", "gvn", "instcombine<no-verify-fixpoint>", "simplifycfg", "reassociate", "dse", "sink", "bdce", "adce", "jump-threading",
          "correlated-propagation", "mem2reg", "tailcallelim", "separate-const-offset-from-gep<lower-gep>", "nary-reassociate",
          "slsr", "speculative-execution", "newgvn", "div-rem-pairs", "loop-simplify", "lcssa"]
LOOPS = ["loop(loop-rotate)", "loop-mssa(licm)", "loop(indvars)", "loop(loop-unroll-full)", "loop-unroll<O3;upperbound>", "loop(loop-idiom)", "loop(loop-deletion)", "loop-mssa(simple-loop-unswitch)"]


def candidate(source, note, tier, values=None, launches=None, recipe=None):
    return {"source": source, "tier": tier, "proposer": "benchmark", "note": note, "values": values or {}, "recipe": recipe or RECIPE,
            "launches": launches or [], "scratch": []}


def with_values(source, values):
    for name, value in values.items():
        if name == "UNROLL":
            source, found = re.subn(r"(?m)^#pragma unroll 1$", f"#pragma unroll {value}", source)
        else:
            source, found = re.subn(rf"(?m)^#define {name} .*$", f"#define {name} {value}", source)
        if found != 1:
            sys.exit(f"{name} is defined {found} times in kernel.cu")
    return source


def of_source(source, n, unrolls, kernel, options=()):
    for bx, by, tx, ty, tk, unroll in itertools.product((8, 16, 32), (8, 16), (1, 2, 4), (1, 2, 4), (16, 32), unrolls):
        values = dict(BX=bx, BY=by, TX=tx, TY=ty, TK=tk, UNROLL=unroll)
        launch = {"kernel": kernel, "grid": [str(n // (bx * tx)), str(n // (by * ty)), "1"], "block": [str(bx), str(by), "1"], "shared": "0"}
        note = " ".join(f"{k}={v}" for k, v in values.items())
        yield candidate(with_values(source, values), note, "params", values, [launch], dict(RECIPE, options=list(options)))


def of_compiler(source, count):
    draw = random.Random(1)  # The same recipes every time.
    for i in range(count):
        passes = []
        for _ in range(draw.randint(4, 14)):
            passes.append(draw.choice(PASSES) if draw.random() < 0.7 else draw.choice(LOOPS))
        text = "always-inline,function(" + ",".join(["sroa"] + passes + ["instcombine<no-verify-fixpoint>"]) + "),globaldce"
        yield candidate(source, f"recipe {i}: {text}", "compiler", recipe=dict(RECIPE, passes=text))


def distinct(candidates, verdicts):
    """Two equal texts of PTX become equal machine code, so different machine code was different PTX."""
    seen = set()
    good = {v["note"]: v["image"]["identity"] for v in json.load(open(verdicts))["verdicts"] if v["outcome"] == "ok" and "identity" in v["image"]}
    for line in open(candidates):
        image = good.get(json.loads(line)["note"])
        if image is not None and image not in seen:
            seen.add(image)
            yield line.strip()


def main():
    if sys.argv[1] == "distinct":
        print("\n".join(distinct(sys.argv[2], sys.argv[3])))
        return
    what, folder, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    source = open(f"{folder}/kernel.cu").read()
    kernel = json.load(open(f"{folder}/mep.json"))["kernel"]["mangled"]
    if what == "source":
        unrolls = [int(u) for u in sys.argv[4].split(",")] if len(sys.argv) > 4 else [1]
        made = of_source(source, count, unrolls, kernel)
    elif what == "best":
        made = of_source(source, count, [1], kernel, ["-unroll-partial-threshold=300"])
    elif what == "compiler":
        made = of_compiler(source, count)
    else:
        made = (candidate(source, f"the original, copy {i}", "source") for i in range(count))
    for one in made:
        print(json.dumps(one))


main()
