# The verbs one by one in a git repository: in the end the tree is patched on a new branch, and the program is built and faster.
. "$(dirname "$0")/common.sh" "$@"
tuned_gamma 6
HEAD_BEFORE=$(git rev-list --max-parents=0 HEAD)
BRANCH_BEFORE=$(git branch --show-current)
expect_exit 0 "$KL" report "$RUN" -o run.html
grep -q '</html>' run.html || fail "the report is cut short"
rm run.html
RUNS=$(ls .kernelift/runs/*.klrun | wc -l)
expect_exit_in "2 3" "$KL" tune k --device cpu --strategy nosuch --evals 1
[ "$(ls .kernelift/runs/*.klrun | wc -l)" = "$RUNS" ] || fail "a search that could not begin left a run behind"
expect_gain "$KL" apply "$RUN" --device cpu --time 10 --build 'nvcc -O2 gamma.cu -o gamma' --run ./gamma --check ./gamma
expect_says "kept: "; expect_says "on the CPU device, not on a GPU"
git diff --quiet HEAD^ HEAD -- gamma.cu && fail "the patch does not change gamma.cu"
[ "$(git rev-parse HEAD^)" = "$HEAD_BEFORE" ] || fail "the patch is not one commit on top of what was there"
[ "$(git branch --show-current)" = kernelift/correct-1 ] || fail "kept, but no branch holds the patch"
[ -z "$(git status --porcelain)" ] || fail "apply left uncommitted changes"
CERTIFICATE=$(ls .kernelift/apply/*/certificate.json) || fail "a kept patch has no certificate"
expect_gain "$KL" evaluate .kernelift/mep/k --device cpu --certificate "$CERTIFICATE"
expect_says "agrees: recorded inputs: "; expect_says "agrees: sizes run: right at "; expect_says "The certificate holds here."
sed 's/"kernel": "/"kernel": "x/' "$CERTIFICATE" > changed.json
expect_exit 3 "$KL" evaluate .kernelift/mep/k --device cpu --certificate changed.json
expect_says "damaged"
rm changed.json
git switch -q "$BRANCH_BEFORE" && [ "$(git rev-parse HEAD)" = "$HEAD_BEFORE" ] || fail "the way back does not lead back"
# A text changed by hand: a knob that is set otherwise is launched as the application would, and kept in a run that later ones
# continue, from which it is patched.
sed 's/#define BLOCK 16/#define BLOCK 256/' .kernelift/mep/k/kernel.cu > .kernelift/mine.cu
for TIME in first again; do
  expect_gain "$KL" evaluate k .kernelift/mine.cu --keep --device cpu
  expect_says "correct, faster: "; expect_says "(#2)"; expect_says "Kept in "
done
expect_exit 2 "$KL" evaluate k .kernelift/mine.cu --keep --cold --device cpu
expect_gain "$KL" apply "$(ls -t .kernelift/runs/*.klrun | head -1)" --candidate 2 --device cpu --dry-run
expect_says "+#define BLOCK 256"
expect_gain "$KL" report -o .kernelift/kept.html
