# Made-up inputs have no recorded results: the original's own results are used as reference, the MEP says so, and a kernel
# that accesses invalid memory on such inputs is refused.
. "$(dirname "$0")/common.sh" "$@"
cat > app.cu <<'C'
__global__ void scale(const float* in, float* out, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) out[i] = in[i] * 3 + 1; }
__global__ void wild(float* out, const float** table) { out[0] = table[0][0]; }
__global__ void far(float* out, long long n) { out[n << 24] = 1; }
int main() { scale<<<64, 128>>>(0, 0, 0); wild<<<1, 1>>>(0, 0); far<<<1, 1>>>(0, 0); return 0; }
C
expect_exit 0 "$KL" build --device cpu -- nvcc app.cu -o app
expect_exit 0 "$KL" scan
expect_exit 0 "$KL" extract scale --inputs synth --out mep
expect_says "made up"
grep -q "SYNTHESISED" mep/README.md || fail "the MEP does not say that its inputs are made up"
grep -q "what the original kernel itself computes" mep/README.md || fail "the MEP does not say where its reference results come from"
expect_exit 0 "$KL" replay mep
expect_says "PASS  out"
expect_exit_in "0 1" "$KL" tune mep --device cpu --evals 5
RUN=$(ls .kernelift/runs/*.klrun | head -1)
expect_exit 0 "$KL" export "$RUN" --to json
[ "$(json 'sum(t["verdict"]["outcome"] == "ok" for t in d["trials"]) >= 2')" = True ] || fail "no candidate was verified"
# A wrong reference result must make the replay fail.
python3 - <<'P'
import json
mep = json.load(open("mep/mep.json"))
region = [r for r in mep["instances"][0]["regions"] if r["before"] != r["after"]][0]
region["after"] = region["before"]
mep["version"] = 1  # Edited on purpose: format 1 has no checksum.
del mep["checksum"]
json.dump(mep, open("mep/mep.json", "w"))
P
expect_exit 1 "$KL" replay mep
expect_says "FAIL"
expect_exit 4 "$KL" extract wild --inputs synth
expect_says "record a run"; expect_brief 2
expect_exit 4 "$KL" extract far --inputs synth
expect_says "record a run"; expect_brief 2
