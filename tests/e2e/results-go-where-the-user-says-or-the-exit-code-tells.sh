# -o writes through links, pipes and devices and replaces none of them; a full disk or a closed pipe on stdout is exit code 3
# with one sentence; a program that was started with closed streams writes into nobody's file.
. "$(dirname "$0")/common.sh" "$@"
cat > app.cu <<'C'
__global__ void twice(float* x) { x[threadIdx.x] = x[threadIdx.x] * 2 + 1; }
int main() { float* x; cudaMalloc(&x, 1024); cudaMemset(x, 0, 1024); twice<<<1, 256>>>(x); return cudaDeviceSynchronize(); }
C
expect_exit 0 "$KL" build --device cpu -- nvcc app.cu -o app
expect_exit 0 "$KL" scan
expect_exit 0 "$KL" record -- ./app
expect_exit 0 "$KL" extract twice --out mep
expect_exit_in "0 1" "$KL" tune mep --device cpu --evals 2 --tiers compiler
RUN=$(ls .kernelift/runs/*.klrun | head -1)

echo old > target; ln -s target link; mkfifo pipe
expect_exit 0 "$KL" report "$RUN" -o link
[ -L link ] && grep -q "</html>" target || fail "the link was replaced or its target not written"
cat pipe > piped & expect_exit 0 "$KL" report "$RUN" -o pipe; wait $!
[ -p pipe ] && cmp piped target || fail "the pipe was replaced or not written"
expect_exit 0 "$KL" export "$RUN" --to json -o /dev/null
[ -c /dev/null ] || fail "/dev/null was replaced"
expect_exit 3 "$KL" export "$RUN" --to t4 -o /dev/full; expect_says "/dev/full: No space left"; expect_brief 1
expect_exit 0 "$KL" report "$RUN" -o -; cmp "$WORK/.out" target || fail "- is not stdout"
expect_exit 0 "$KL" export "$RUN" --to json -o -; json 'd["format"]' >/dev/null

# lost CMD...: with stdout on a full disk, behind a pipe that nobody reads, and closed.
lost() {
  local code=0
  "$@" >/dev/full 2>err </dev/null || code=$?
  [ $code = 3 ] && grep -q "cannot write to stdout: No space left" err || { cat err; fail "'$*' >/dev/full exited with $code"; }
  { sleep 0.2; "$@" 2>err </dev/null && echo 0 > code || echo $? > code; } | true
  [ "$(cat code)" = 3 ] && grep -q "cannot write to stdout: Broken pipe" err || { cat err; fail "'$*' | true exited with $(cat code)"; }
  code=0; "$@" >&- 2>err </dev/null || code=$?
  [ $code = 3 ] && grep -q "cannot write to stdout: Bad file" err || { cat err; fail "'$*' >&- exited with $code"; }
  [ "$(grep -c "cannot write to stdout" err)" = 1 ] || fail "not one sentence"
}
lost "$KL" --help
lost "$KL" --version
lost "$KL" scan --help
lost "$KL" doctor
lost "$KL" doctor --json
lost "$KL" build --device cpu -- true
lost "$KL" scan
lost "$KL" scan --json
lost "$KL" record -- ./app
lost "$KL" extract twice --out mep
lost "$KL" replay mep --device cpu --json
lost "$KL" evaluate mep mep/kernel.cu --device cpu
lost "$KL" tune mep --device cpu --evals 2 --tiers compiler
lost "$KL" report "$RUN" -o page.html
lost "$KL" export "$RUN" --to json
lost "$KL" apply --rollback
"$KL" export "$RUN" --to cachefile > cache.json
lost "$KL" simulate --trials cache.json --strategy random --evals 2 --seeds 2
# What was asked wrongly stays wrong usage.
code=0; "$KL" report --json >/dev/full 2>err || code=$?; [ $code = 2 ] || fail "wrong usage exited with $code"

# Started without any stream: what it writes is what it should.
expect_exit 0 "$KL" report "$RUN" -o target
rm -f page.html; "$KL" report "$RUN" -o page.html <&- >&- 2>&- || true
cmp page.html target || fail "the page holds something else"
