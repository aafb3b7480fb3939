# A kernel that fetches from textures, one of them in a struct, and writes a surface: what lies behind them is captured with
# its type, replayed, judged like buffers, and a candidate goes back as a patch.
. "$(dirname "$0")/common.sh" "$@"
mkdir app && cd app
cp "$SRC/tests/e2e/warp.cu" . && printf 'warp\n.kernelift/\n' > .gitignore
commit_all
expect_exit 0 "$KL" build --device cpu -- nvcc -O2 warp.cu -o warp
expect_exit 0 "$KL" scan
expect_exit 0 "$KL" record -- ./warp
expect_exit 0 "$KL" extract warp --out .kernelift/mep/k
python3 - <<'P' || fail "the MEP does not hold the textures"
import json
regions = json.load(open(".kernelift/mep/k/mep.json"))["instances"][0]["regions"]
kinds = sorted((r["kind"], r["element"], r["before"] != r["after"]) for r in regions)
assert kinds == [("array", "float", False), ("array", "float", False), ("array", "float", True), ("device", "float", True),
                 ("device", "float2", False), ("texture", "byte", False), ("texture", "byte", False),
                 ("texture", "byte", False)], kinds
assert "arg 0 +8" in [r["reached_from"] for r in regions if r["kind"] == "texture"]
P
grep -q 'a texture over an array of 250 x 60 float, linear filter' .kernelift/mep/k/main.cu || fail "main.cu does not describe the textures"
expect_exit 0 "$KL" replay .kernelift/mep/k --device cpu
expect_says PASS
# What a surface was written with is judged, within the tolerance of its floats.
sed 's/y + 0.5f) - sum, left/y + 0.5f) - sum * 1.01f, left/' .kernelift/mep/k/kernel.cu > .kernelift/off.cu
expect_exit 1 "$KL" evaluate .kernelift/mep/k --device cpu .kernelift/off.cu
expect_says "wrong"
# Whole powers need no pow.
sed 's|float w = float(pow(double(flow.decay), abs(k) / 1.0));|float w = 1; for (int j = 0; j < abs(k); ++j) w *= flow.decay;|' .kernelift/mep/k/kernel.cu > .kernelift/better.cu
printf '#!/bin/sh\ncat >/dev/null\nprintf "IDEA: whole powers\\n\\140\\140\\140\\n"; cat .kernelift/better.cu; printf "\\140\\140\\140\\n"\n' > .kernelift/answer.sh
chmod +x .kernelift/answer.sh
expect_gain "$KL" tune .kernelift/mep/k --device cpu --tiers source --evals 8 --no-inherit --llm command:.kernelift/answer.sh --llm-calls 1
expect_gain "$KL" apply "$(ls -t .kernelift/runs/*.klrun | head -1)" --device cpu --time 10 --build 'nvcc -O2 warp.cu -o warp' --run ./warp --check ./warp
expect_says "kept: "
git diff HEAD^ HEAD -- warp.cu | grep -q '^+.*w \*= flow.decay' || fail "the patch does not change warp.cu"
