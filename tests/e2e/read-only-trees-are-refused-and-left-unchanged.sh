# A read-only application tree: scan and record report it in one sentence and say what to do. With the state folder
# elsewhere everything but the patch works, and the patch is refused without changing a byte.
. "$(dirname "$0")/common.sh" "$@"
if [ -z "${KERNELIFT_READ_ONLY:-}" ]; then
  # Permission bits do not apply to root; a read-only mount in a namespace of its own applies to every user.
  unshare -rm true 2>/dev/null || { echo "skipped: mount namespaces are not available"; exit 77; }
  KERNELIFT_READ_ONLY=1 exec unshare -rm bash "$SRC/tests/e2e/$(basename "$0")" "$@"
fi
example one-file
printf 'nbody\n' > .gitignore
commit_all
expect_exit 0 "$KL" build --device cpu --state "$WORK/state" -- nvcc -O2 nbody.cu -o nbody
trap 'cd /; umount "$WORK/one-file"; rm -rf "$WORK"' EXIT
mount --bind "$WORK/one-file" "$WORK/one-file" && mount -o remount,ro,bind "$WORK/one-file"
cd "$WORK/one-file"
SUM=$(find . -path ./.git -prune -o -type f -print0 | sort -z | xargs -0 sha256sum | sha256sum)

cp "$WORK/state/compile_commands.json" "$WORK/database.json"
expect_exit 3 "$KL" scan -p "$WORK/database.json"
expect_says ".kernelift"; expect_says "--state"; expect_brief 1
expect_exit 3 "$KL" record -- ./nbody
expect_says ".kernelift"; expect_says "--state"

expect_exit 0 "$KL" scan --state "$WORK/state"
expect_exit 0 "$KL" record --state "$WORK/state" -- ./nbody
expect_exit 0 "$KL" extract forces --state "$WORK/state" --out "$WORK/mep"
expect_exit_in "0 1" "$KL" tune "$WORK/mep" --state "$WORK/state" --device cpu --evals 6 --time 20 --tiers source
RUN=$(ls "$WORK"/state/runs/*.klrun | head -1)
expect_exit_in "1 4" "$KL" apply "$RUN" --state "$WORK/state" --device cpu --build 'nvcc -O2 nbody.cu -o nbody' --run ./nbody
[ "$CODE" = 1 ] || { expect_says "read-only"; expect_says "nbody.cu"; }
[ "$(find . -path ./.git -prune -o -type f -print0 | sort -z | xargs -0 sha256sum | sha256sum)" = "$SUM" ] || fail "the read-only tree has changed"
