# An answer from examples/transcripts, replayed on the CPU device with rules left out, becomes a candidate that is right; a
# second replay gives the same candidate; a folder without answers is named.
. "$(dirname "$0")/common.sh" "$@"
example sparse
expect_exit 0 "$KL" build --device cpu -- nvcc -O2 sparse.cu -o sparse
expect_exit 0 ./sparse 600 2 --check; expect_says PASSED
expect_exit 0 "$KL" scan
expect_exit 0 "$KL" record -- ./sparse 600 2
expect_exit 0 "$KL" extract spmv --out mep
ANSWER=$SRC/examples/transcripts/spmv/1-a-few-threads-a-row.answer.md
for replay in 1 2; do
  expect_exit_in "0 1" "$KL" tune mep --device cpu --tiers source --evals 4 --without-rule all --llm "transcript:$ANSWER"
  expect_exit 0 "$KL" export "$(ls -t .kernelift/runs/*.klrun | head -1)" --to json
  json '[t["candidate"] for t in d["trials"] if t["candidate"]["proposer"].startswith("llm/")]' > candidates.$replay
  [ "$(json '[t["verdict"]["outcome"] for t in d["trials"] if t["candidate"]["proposer"].startswith("llm/")]')" = "['ok']" ] ||
    { cat "$WORK/.out" >&2; fail "replay $replay did not give one candidate that is right"; }
done
grep -qF "LANES" candidates.1 || fail "the candidate is not the answer's"
diff candidates.1 candidates.2 || fail "two replays gave different candidates"
mkdir empty
expect_exit 3 "$KL" tune mep --device cpu --llm transcript:empty; expect_says "no exchange is in empty"
