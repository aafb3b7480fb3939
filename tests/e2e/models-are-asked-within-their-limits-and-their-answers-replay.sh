# A program, a folder and a transcript as models: every request counts against --llm-calls, the last lines say what was used,
# a wrong answer goes back with its first differing element, and recorded answers give the same candidates with nothing asked.
. "$(dirname "$0")/common.sh" "$@"
cat > app.cu <<'C'
__global__ void twice(float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = x[i] * 2 + 1;
}
int main() { float* x; cudaMalloc(&x, 65536); cudaMemset(x, 0, 65536); twice<<<64, 256>>>(x, 16384); return cudaDeviceSynchronize(); }
C
cat > answer.sh <<'S'
#!/bin/sh
n=$(ls asked | wc -l); cat > asked/$n
cat <<A
IDEA: idea number $n
<<<<<<< SEARCH
  if (i < n) x[i] = x[i] * 2 + 1;
=======
  constexpr int OFFSET = $((n + 3));
  if (i < n) x[i] = x[i] * 2 + OFFSET;
>>>>>>> REPLACE
A
S
chmod +x answer.sh; mkdir asked
expect_exit 0 "$KL" build --device cpu -- nvcc app.cu -o app
expect_exit 0 "$KL" scan
expect_exit 0 "$KL" record -- ./app
expect_exit 0 "$KL" extract twice --out mep
expect_exit_in "0 1" "$KL" tune mep --device cpu --tiers source --without-rule all --time 300 --llm "command:./answer.sh" --llm-calls 3
expect_says "3 of 3 requests"; expect_says "of 3600 s"
[ "$(ls asked | wc -l)" -eq 3 ] || fail "the program was asked $(ls asked | wc -l) times, not 3"
grep -qF "int n = 16384" asked/0 || fail "the prompt lacks the recorded value of n"
grep -qF "16384 float" asked/0 || fail "the prompt lacks the size of x"
grep -qF "First differing element: x[0]: expected 1, got " asked/[12] || fail "the wrong result was not sent back"
TRANSCRIPTS=$(ls -d .kernelift/runs/*.transcripts)
expect_exit_in "0 1" "$KL" tune mep --device cpu --tiers source --without-rule all --time 300 --llm "transcript:$TRANSCRIPTS" -v
expect_says "the transcript has no further answer"
[ "$(ls asked | wc -l)" -eq 3 ] || fail "a replay asked the program"
"$KL" export "$(ls -t .kernelift/runs/*.klrun | head -1)" --to json > replayed.json
for n in 0 1 2; do grep -qF "idea number $n" replayed.json || fail "the recorded answer $n was not used"; done
# In a folder: answered while the run waits.
( until_true 120 test -f exchange/0001.prompt.md; sh answer.sh < exchange/0001.prompt.md > exchange/part; mv exchange/part exchange/0001.answer.md ) &
expect_exit_in "0 1" "$KL" tune mep --device cpu --tiers source --without-rule all --time 300 --llm exchange:exchange --llm-calls 1
wait
expect_says "answered 1 times"
expect_exit 2 "$KL" optimize --build true --run true --without-rule magic; expect_says "'magic' is not a rewrite rule; there are "
expect_exit 3 "$KL" tune mep --device cpu --llm "transcript:nowhere"; expect_says nowhere
