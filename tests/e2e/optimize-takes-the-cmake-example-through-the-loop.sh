# One command on the CMake example keeps a patch. Afterwards the tree has it on a new branch as a small change of the
# application's sources, builds with the application's own command, and passes its check.
. "$(dirname "$0")/common.sh" "$@"
example heat
# In this copy the blocks are small and each computes a table of its own, so larger blocks gain so much that no noise hides it.
sed -i 's/define BLOCK_X 8/define BLOCK_X 2/; s/define BLOCK_Y 4/define BLOCK_Y 2/; s/define BLOCK_Z 4/define BLOCK_Z 2/' src/config.h
sed -i '/const int z = blockIdx/a\
  __shared__ Real keep[256];\
  for (int k = threadIdx.x + BLOCK_X * (threadIdx.y + BLOCK_Y * threadIdx.z); k < 256; k += BLOCK_X * BLOCK_Y * BLOCK_Z)\
    keep[k] = powf(k / 255.0f, 0.01f);\
  __syncthreads();
s/= p\[extent.at(x, y, z)\];/= p[extent.at(x, y, z)] * keep[255];/' src/operator.cuh
[ "$(grep -c keep src/operator.cuh)" = 3 ] && grep -q 'BLOCK_Z 2$' src/config.h || fail "the example has changed, and this test's edits no longer apply"
printf 'build/\n.kernelift/\n' > .gitignore
commit_all
ORIGINAL=$(git rev-parse HEAD)
BUILD='cmake -S . -B build -DCMAKE_BUILD_TYPE=Release && cmake --build build -j2'
RUN='./build/heat --size 32 --steps 2'
expect_gain "$KL" optimize --device cpu --time 25 --kernels 1 --skip 2 --json --build "$BUILD" --run "$RUN" --check "$RUN --check"
tail -30 "$WORK/.err"
[ "$(json 'all(k["outcome"] for k in d["kernels"])')" = True ] || fail "a kernel without an outcome"
[ "$(json 'any(k["outcome"] == "kept" and k["measured"] > 1.01 for k in d["kernels"])')" = True ] || fail "exit 0, but nothing was kept"
grep -q '"launch_index":[01],' .kernelift/capture/instances.jsonl .kernelift/capture.old/instances.jsonl 2>/dev/null && fail "a launch was recorded in spite of --skip"
[ "$(json 'all(k["predicted"] > 1 for k in d["kernels"] if k["outcome"] == "kept")')" = True ] || fail "kept without a prediction"

# The patch is committed on a branch, changes nothing else, is small, and changes only sources of the application and the
# file that names their flags.
[ -z "$(git status --porcelain)" ] || { git status; fail "optimize left uncommitted changes"; }
case $(git branch --show-current) in kernelift/*) ;; *) fail "the patch is not on a branch of its own" ;; esac
[ "$(git rev-parse HEAD)" != "$ORIGINAL" ] || fail "nothing was committed"
git merge-base --is-ancestor "$ORIGINAL" HEAD || fail "the branch does not start from the original"
git --no-pager diff --stat "$ORIGINAL" HEAD
git diff --name-only "$ORIGINAL" HEAD | grep -qv '^src/.*\.\(cu\|cuh\|h\)$\|^CMakeLists.txt$' && fail "the patch changes a file that is not a source of the application"
CHANGED=$(git diff --numstat "$ORIGINAL" HEAD | awk '{ sum += $1 + $2 } END { print sum }')
[ "$CHANGED" -le 80 ] || fail "the patch is too large: $CHANGED changed lines"
[ -z "$(git diff --numstat --ignore-all-space "$ORIGINAL" HEAD | awk '$1 + $2 == 0')" ] || fail "a file changed only in its white space"

# The printed way back leads to the original.
BRANCH=$(git branch --show-current)
$(json '[k["way_back"] for k in d["kernels"] if k["outcome"] == "kept"][0]') || fail "there is no way back"
[ "$(git rev-parse HEAD)" = "$ORIGINAL" ] || fail "the way back leads elsewhere"
git switch -q "$BRANCH"

# A fresh build of the committed tree passes the check.
git clone -q . "$WORK/fresh" && cd "$WORK/fresh"
expect_exit 0 "$KL" build --device cpu -- sh -c "$BUILD"
expect_exit 0 $RUN --check
expect_says PASSED
