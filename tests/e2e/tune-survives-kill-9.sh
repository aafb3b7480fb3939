# kill -9 in the middle of a run, then --resume: what was evaluated is still there and is not evaluated again.
. "$(dirname "$0")/common.sh" "$@"
example one-file
expect_exit 0 "$KL" build --device cpu -- nvcc -O2 nbody.cu -o nbody
expect_exit 0 "$KL" scan
expect_exit 0 "$KL" record -- ./nbody
KERNEL=forces
expect_exit 0 "$KL" extract "$KERNEL" --out mep
"$KL" tune mep --device cpu --time 60 >/dev/null 2>&1 & TUNER=$!
sleep 8
kill -9 $TUNER; wait $TUNER 2>/dev/null || true
RUN=$(ls .kernelift/runs/*.klrun | head -1)
expect_exit 0 "$KL" export "$RUN" --to json
BEFORE=$(json 'len(d["trials"])')
[ "$BEFORE" -ge 2 ] || fail "only $BEFORE candidates survived the kill"
expect_exit_in "0 1" "$KL" tune mep --device cpu --evals 5 --resume
expect_exit 0 "$KL" export "$RUN" --to json
[ "$(json 'len(d["trials"])')" -gt "$BEFORE" ] || fail "the run did not go on"
[ "$(json 'len(set(t["candidate"]["key"] for t in d["trials"])) == len(d["trials"])')" = True ] || fail "a candidate was evaluated twice"
sleep 1
! pgrep -f "$WORK/one-file/mep" >/dev/null || fail "a worker outlived the killed tuner"
