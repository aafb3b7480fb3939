# kill -9 in the middle of a run, then --resume: what was evaluated is still there and is not evaluated again.
. "$(dirname "$0")/common.sh" "$@"
example one-file
expect_exit 0 "$KL" build --device cpu -- nvcc -O2 nbody.cu -o nbody
expect_exit 0 "$KL" scan
expect_exit 0 "$KL" record -- ./nbody
KERNEL=$(python3 -c "import json; print(json.load(open('.kernelift/capture/manifest.json'))['profile'][0]['key'].split('(')[0].split('<')[0])")
expect_exit 0 "$KL" extract "$KERNEL" --out mep
"$KL" tune mep --device cpu --time 60 >/dev/null 2>&1 & TUNER=$!
sleep 8
kill -9 $TUNER; wait $TUNER 2>/dev/null || true
RUN=$(ls .kernelift/runs/*.klrun | head -1)
expect_exit 0 "$KL" export "$RUN" --to json
BEFORE=$(json 'len(d["candidates"])')
[ "$BEFORE" -ge 2 ] || fail "only $BEFORE candidates survived the kill"
expect_exit 0 "$KL" tune mep --device cpu --evals $((BEFORE + 5)) --resume
expect_exit 0 "$KL" export "$RUN" --to json
[ "$(json 'len(d["candidates"])')" -gt "$BEFORE" ] || fail "the run did not go on"
[ "$(json 'len(set(c["candidate"]["key"] if "candidate" in c else c["key"] for c in d["candidates"])) == len(d["candidates"])')" = True ] || fail "a candidate was evaluated twice"
sleep 1
! pgrep -f "$WORK/one-file/mep" >/dev/null || fail "a worker outlived the killed tuner"
