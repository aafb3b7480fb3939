# A kernel written by hand (or by a model) with declared parameters is judged, searched and patched in: launches are computed from its
# parameters and the kernel's arguments, the patch holds the chosen values and no declaration, and mistakes are named by line.
. "$(dirname "$0")/common.sh" "$@"
mkdir app && cd app
# The launch is in a function of its own, whose argument says how many blocks there are at other sizes.
python3 - "$SRC/tests/e2e/gamma.cu" > gamma.cu <<'P'
import sys
text = open(sys.argv[1]).read()
launch = "correct<<<(n + BLOCK - 1) / BLOCK, BLOCK>>>(in, out, 0.45f, n)"
assert launch in text
text = text.replace(launch, "correct_image(in, out, n)")
print(text.replace("int main()", "void correct_image(const float* in, float* out, int n) {\n  " + launch + ";\n}\n\nint main()"), end="")
P
printf 'gamma\n.kernelift/\n' > .gitignore
commit_all
expect_exit 0 "$KL" build --device cpu -- nvcc -O2 gamma.cu -o gamma
expect_exit 0 "$KL" scan
expect_exit 0 "$KL" record -- ./gamma
expect_exit 0 "$KL" extract correct --out .kernelift/mep/k
python3 - .kernelift/mep/k/kernel.cu <<'P'
import re, sys
text = open(sys.argv[1]).read()
begin, end = text.index("  __shared__ float curve"), text.index("}\n", text.index("out[i]"))
body = """  // kernelift: launch grid.x = ceil_div(n, TILE * PER), block.x = TILE
  constexpr int TILE = 32;  // kernelift: tune TILE in {32, 64, 128}
  constexpr int PER = 2;    // kernelift: tune PER in 2..8 times 2 where TILE * PER <= 512
  __shared__ float curve[LEVELS + 1];
  for (int level = threadIdx.x; level <= LEVELS; level += TILE) curve[level] = powf(level / (float)LEVELS, gamma);
  __syncthreads();
  for (int part = 0; part < PER; ++part) {
    int i = (blockIdx.x * PER + part) * TILE + threadIdx.x;
    if (i >= n) return;
    float at = in[i] * LEVELS;
    int level = min((int)at, LEVELS - 1);
    out[i] = curve[level] + (at - level) * (curve[level + 1] - curve[level]);
  }
"""
open("mine.cu", "w").write(text[:begin] + body + text[end:])
wrong = text[:begin] + body.replace("= curve", "= 1 + curve") + text[end:]
open("wrong.cu", "w").write(wrong)
open("unknown.cu", "w").write((text[:begin] + body + text[end:]).replace("ceil_div(n,", "ceil_div(pixels,"))
P
cp mine.cu wrong.cu unknown.cu .kernelift/ && rm mine.cu wrong.cu unknown.cu
expect_exit 2 "$KL" tune .kernelift/mep/k --device cpu --template .kernelift/unknown.cu
grep -qE "unknown.cu: line [0-9]+: grid.x is computed from 'pixels', which is neither" "$WORK/.err" || fail "the mistake is not named by its line"
expect_exit 2 "$KL" tune .kernelift/mep/k --device cpu --template .kernelift/mep/k/kernel.cu; expect_says "declares no parameters"
[ ! -e .kernelift/runs ] || fail "a template that cannot be read left a run"
expect_exit_in "0 1" "$KL" evaluate .kernelift/mep/k --device cpu .kernelift/mine.cu
expect_says "TILE=32, block.x=32: correct"
expect_gain "$KL" tune .kernelift/mep/k --device cpu --tiers params --evals 30 --template .kernelift/mine.cu --template .kernelift/wrong.cu
expect_says "template wrong.cu: none of its first 6 settings is right, so it was tried no further"
grep -qE "template mine.cu: PER=[248], TILE=(32|64|128)" "$WORK/.out" || fail "the best candidate is not the template's"
RUN=$(ls -t .kernelift/runs/*.klrun | head -1)
"$KL" export "$RUN" --to json > run.json
python3 - <<'P' || fail "the run does not hold the template's settings with their parents"
import json
trials = json.load(open("run.json"))["trials"]
own = [t for t in trials if any(s["origin"] == "template" and s["rule"] == "mine.cu" for s in t["candidate"]["steps"])]
assert len({(t["candidate"]["values"]["TILE"], t["candidate"]["values"]["PER"]) for t in own}) >= 5, len(own)
assert all(t["parents"] for t in own)
assert all("kernelift: tune TILE" in t["candidate"]["source"] for t in own)
assert sum(any(s.get("rule") == "wrong.cu" for s in t["candidate"]["steps"]) for t in trials) == 6
P
# A model's answer in this form is searched in the same way.
printf '#!/bin/sh\ncat >/dev/null\nprintf "IDEA: fewer tables\\n\\140\\140\\140\\n"; cat .kernelift/mine.cu; printf "\\140\\140\\140\\n"\n' > .kernelift/answer.sh
chmod +x .kernelift/answer.sh
expect_gain "$KL" tune .kernelift/mep/k --device cpu --tiers source,params --without-rule all --evals 20 --no-inherit --llm command:.kernelift/answer.sh --llm-calls 1
"$KL" export "$(ls -t .kernelift/runs/*.klrun | head -1)" --to json > run.json
python3 - <<'P' || fail "the parameters that the model declared were not searched"
import json
trials = [t["candidate"] for t in json.load(open("run.json"))["trials"]]
own = [c for c in trials if any(s["origin"] == "model" for s in c["steps"])]
assert len({(c["values"]["TILE"], c["values"]["PER"]) for c in own if c["tier"] in ("source", "params")}) >= 4, own
P
rm run.json
expect_gain "$KL" apply "$RUN" --device cpu --time 10 --build 'nvcc -O2 gamma.cu -o gamma' --run ./gamma --check ./gamma
git diff HEAD^ HEAD -- gamma.cu > "$WORK/.diff"
! grep -q '^[+].*kernelift:' "$WORK/.diff" || { cat "$WORK/.diff" >&2; fail "a declaration is part of the patch"; }
grep -qE '^\+.*correct<<<\(n \+ [0-9]+\) / [0-9]+, [0-9]+>>>' "$WORK/.diff" || { cat "$WORK/.diff" >&2; fail "the launch is not computed from n"; }
grep -qE '^\+  constexpr int TILE = [0-9]+;$' "$WORK/.diff" || { cat "$WORK/.diff" >&2; fail "the value is not in the definition"; }
