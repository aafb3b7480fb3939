# A generic kernel that runs a lambda is tuned as any other, and the patch changes the lambda's body in the host function,
# and nothing else. The same holds for a lambda in a template, one for both sides, and a functor, as far as tuning goes.
. "$(dirname "$0")/common.sh" "$@"
mkdir app && cd app && cp "$SRC/tests/e2e/layer.cu" app.cu && cp "$SRC/tests/e2e/layer.h" .
printf 'app\n.kernelift/\n' > .gitignore
commit_all
BUILD='nvcc -O2 --extended-lambda app.cu -o app'
expect_exit 0 "$KL" build --device cpu -- sh -c "$BUILD"
expect_exit 0 "$KL" scan --json
ids() { json '"\n".join(k["id"] for k in d["kernels"] if "'"$1"'" in k["key"])'; }
[ "$(json 'len(d["kernels"])')" = 5 ] || fail "five kernels are made for five types"
json '[k["name"] for k in d["kernels"]]' | grep -q '(lambda at app.cu:17:' || fail "the place of a lambda is not named from the application's folder"
GATHER=$(ids 'gather(') SPREAD=$(ids 'spread<float>') MIX=$(ids 'mix(') MAIN=$(ids 'main::') SCALE=$(ids 'Scale')
expect_exit 0 "$KL" record --device cpu -- ./app
for id in $GATHER $SPREAD $MIX $MAIN $SCALE; do
  expect_exit 0 "$KL" extract "$id" --out ".kernelift/mep/$id"
  expect_exit 0 "$KL" replay ".kernelift/mep/$id" --warm --device cpu
done

# The program around such a kernel finds it by the name that nvcc gives it.
if [ -x /usr/local/cuda/bin/nvcc ]; then
  for id in $GATHER $SPREAD $MAIN; do
    mangled=$(python3 -c "import json; print(json.load(open('.kernelift/mep/$id/mep.json'))['kernel']['mangled'])")
    (cd ".kernelift/mep/$id" && /usr/local/cuda/bin/nvcc -arch=sm_90 --extended-lambda -no-compress main.cu -o standalone) || fail "nvcc main.cu"
    grep -qF "\"$mangled\"" ".kernelift/mep/$id/main.cu" || fail "main.cu does not name $mangled"
    grep -qaF ".text.$mangled" ".kernelift/mep/$id/standalone" || fail "nvcc names the kernel otherwise than $mangled"
    rm ".kernelift/mep/$id/standalone"
  done
fi

# Its launch is named by the lambda's place, whatever block it is tried with.
expect_exit_in "0 1" "$KL" tune ".kernelift/mep/$SPREAD" --device cpu --tiers params --evals 3 --json
[ "$(json '"launch_failed" in d["outcomes"]')" = False ] || fail "another block is launched under a name that the image lacks"

# Only the lambda's own text is the kernel's: other lambdas of the unit stay as they are.
expect_gain "$KL" tune ".kernelift/mep/$GATHER" --device cpu --tiers source --evals 6
RUN=$(ls -t .kernelift/runs/*.klrun | head -1)
expect_exit 0 "$KL" export "$RUN" --to json
python3 - "$WORK/.out" <<'P' || fail "a candidate changes text that is not the kernel's"
import json, sys
for trial in json.load(open(sys.argv[1]))["trials"]:
    source = trial["candidate"]["source"]
    for other in ("out[i] += in[(i + k) % n] * Real(0.1);", "out[i] = weight * out[i] + (1 - weight) * in[i];", "for (int step = 0; step < steps; ++step) {"):
        assert other in source, trial["candidate"]["steps"]
P
expect_gain "$KL" apply "$RUN" --device cpu --time 10 --build "$BUILD" --run ./app --check './app | grep -q mean'
expect_says "kept: "
[ "$(git diff --name-only HEAD^ HEAD)" = app.cu ] || fail "the patch changes more than the lambda's file"
git diff -U0 HEAD^ HEAD | grep '^@@' | sed 's/.*-\([0-9]*\).*/\1/' | while read -r line; do
  [ "$line" -ge 17 ] && [ "$line" -le 23 ] || fail "line $line is outside of the lambda"
done
! grep -q "other instances" "$WORK/.out" || fail "the template is not changed, so that no other instance is"
! grep -q "other code that uses those lines" "$WORK/.out" || fail "nothing else uses the lambda"

# Another launch, by hand: the generic launcher's own expression changes, with the launches of all kernels.
cat .kernelift/mep/$SPREAD/kernel.cu > spread.cu
sed -i 's/out\[i\] += in\[(i + k) % n\] \* Real(0.1);/out[i] += Real(0.1) * in[(i + k) % n];/' spread.cu
expect_exit 0 "$KL" evaluate ".kernelift/mep/$SPREAD" spread.cu --device cpu
expect_says "spread.cu: correct"
# What the body names decides what the host hands to the kernel.
sed 's/for (int k = 0; k < 8; ++k) {/for (int k = 0; k < 8 + 0 * n; ++k) {/' spread.cu > captures.cu
expect_exit 1 "$KL" evaluate ".kernelift/mep/$SPREAD" captures.cu --device cpu
expect_says "host-function"
