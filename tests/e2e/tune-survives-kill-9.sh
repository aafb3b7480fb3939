# kill -9 in the middle of a run, then --resume: evaluated candidates are still stored and are not evaluated again.
. "$(dirname "$0")/common.sh" "$@"
example one-file
expect_exit 0 "$KL" build --device cpu -- nvcc -O2 nbody.cu -o nbody
expect_exit 0 "$KL" scan
expect_exit 0 "$KL" record -- ./nbody
KERNEL=forces
expect_exit 0 "$KL" extract "$KERNEL" --out mep
RUN=.kernelift/runs/mep-1.klrun
trials() { expect_exit 0 "$KL" export $RUN --to json; json 'len(d["trials"])'; }
some_are_stored() { [ -s $RUN ] && [ "$(trials)" -ge 2 ]; } 2>/dev/null
"$KL" tune mep --device cpu --time 600 >/dev/null 2>&1 & TUNER=$!
until_true 300 some_are_stored || fail "no candidates are stored"
kill -9 $TUNER; wait $TUNER 2>/dev/null || true
BEFORE=$(trials)
[ "$BEFORE" -ge 2 ] || fail "only $BEFORE candidates survived the kill"
expect_exit_in "0 1" "$KL" tune mep --device cpu --evals 5 --resume
[ "$(trials)" -gt "$BEFORE" ] || fail "the run was not continued"
[ "$(json 'len(set(t["candidate"]["key"] for t in d["trials"])) == len(d["trials"])')" = True ] || fail "a candidate was evaluated twice"
no_workers() { ! pgrep -f "$WORK/one-file/mep" >/dev/null; }
until_true 60 no_workers || fail "a worker outlived the killed tuner"
