# A model's hypotheses are carried out, compared with what was measured, kept for later runs, and shown by tune and report; what
# is nonsense costs requests and nothing else. A recorded run is replayed without the model.
. "$(dirname "$0")/common.sh" "$@"
cat > app.cu <<'C'
__global__ void twice(float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = x[i] * 2 + 1;
}
int main() { float* x; cudaMalloc(&x, 65536); cudaMemset(x, 0, 65536); twice<<<64, 256>>>(x, 16384); return cudaDeviceSynchronize(); }
C
cat > answer.sh <<'S2'
#!/bin/sh
n=$(ls asked | wc -l); cat > asked/$n
if grep -q "Write no code yet" asked/$n; then cat <<A
Two cards, the better one first.
**CARD 1**
- FAMILY: arithmetic
- BOUND: latency of the arithmetic
- CHANGE: add x to itself in place of multiplying it
- MOVES: code_bytes 300 -> 280
- GAIN: 1.3x
- RISK: low
- COST: 1 line
CARD 2
CHANGE: something
GAIN: plenty
A
else cat <<A
IDEA: idea number $n
<<<<<<< SEARCH
  if (i < n) x[i] = x[i] * 2 + 1;
=======
  if (i < n) x[i] = x[i] + x[i] + 1;  // $n
>>>>>>> REPLACE
A
fi
S2
chmod +x answer.sh; mkdir asked
expect_exit 0 "$KL" build --device cpu -- nvcc app.cu -o app
expect_exit 0 "$KL" scan
expect_exit 0 "$KL" record -- ./app
expect_exit 0 "$KL" extract twice --out mep
expect_exit_in "0 1" "$KL" tune mep --device cpu --tiers source --without-rule all --time 300 --llm "command:./answer.sh" --llm-calls 3 -v
expect_says "hypothesis 1: add x to itself in place of multiplying it (code_bytes 300 -> 280; 1.30x; risk low)"
expect_says "card 2: its GAIN 'plenty' is no factor"
expect_says "Hypothesis 1 "; expect_says "hypotheses: 1 "
grep -qF "Carry out this hypothesis" asked/1 || fail "the hypothesis was not carried out"
FINDINGS=.kernelift/findings/twice.md
grep -qE "^## (confirmed|refuted|confounded): add x to itself in place of multiplying it$" $FINDINGS || fail "no finding is in $FINDINGS"
grep -qE "^- predicted: code_bytes 300 -\\\\?> 280; 1.30x; risk low$" $FINDINGS || fail "the prediction is not in $FINDINGS"
grep -qE "^- run: mep-1.klrun, hypothesis 1, candidate #" $FINDINGS || fail "the run is not in $FINDINGS"
expect_exit 0 "$KL" report "$(ls .kernelift/runs/*.klrun)" --output report.html
grep -qF "Hypotheses of models" report.html || fail "the report has no hypotheses"
TRANSCRIPTS=$(ls -d .kernelift/runs/*.transcripts)
# Another run quotes what was found, and what a person has written beside it.
printf '## Inputs are never negative\nThe application guarantees it.\n' >> $FINDINGS
mkdir earlier; mv asked/* earlier/
expect_exit_in "0 1" "$KL" tune mep --device cpu --tiers source --without-rule all --time 300 --llm "command:./answer.sh" --llm-calls 1
grep -qF -- "- Inputs are never negative; The application guarantees it." asked/0 || fail "a person's section is not quoted"
grep -qF ": add x to itself in place of multiplying it; predicted code_bytes" asked/0 || fail "the finding is not quoted"
grep -qF "The application guarantees it." $FINDINGS || fail "a person's section was lost"
# Replayed: the same ideas, nobody is asked.
rm asked/*
expect_exit_in "0 1" "$KL" tune mep --device cpu --tiers source --without-rule all --time 300 --llm "transcript:$TRANSCRIPTS" --json
[ -z "$(ls asked)" ] || fail "a replay asked the program"
expect_says '"change": "add x to itself in place of multiplying it"'
