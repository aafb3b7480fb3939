# A disk that fills up: every verb reports it in one sentence, leaves no incomplete file under its final name, and continues
# once there is space again.
. "$(dirname "$0")/common.sh" "$@"
if [ -z "${KERNELIFT_FULL_DISK:-}" ]; then
  unshare -rm true 2>/dev/null || { echo "skipped: mount namespaces are not available"; exit 77; }
  KERNELIFT_FULL_DISK=1 exec unshare -rm bash "$SRC/tests/e2e/$(basename "$0")" "$@"
fi
example one-file
expect_exit 0 "$KL" build --device cpu -- nvcc -O2 nbody.cu -o nbody
expect_exit 0 "$KL" scan
./nbody 1024 6 > "$WORK/plain"

STATE=$WORK/small
trap 'cd /; umount "$STATE"; rm -rf "$WORK"' EXIT
mkdir "$STATE" && mount -t tmpfs -o size=320m none "$STATE"
cp .kernelift/compile_commands.json "$STATE"
fill() { dd if=/dev/zero of="$STATE/filler" bs=64k status=none 2>/dev/null || true; dd if=/dev/zero bs=512 status=none >>"$STATE/filler" 2>/dev/null || true; }
free_space() { rm "$STATE/filler"; }

fill
expect_exit 3 "$KL" scan --state "$STATE"
expect_says "$STATE"; expect_says "No space left"; expect_brief 1
[ ! -e "$STATE/scan.json" ] || fail "an incomplete scan.json exists"
free_space
expect_exit 0 "$KL" scan --state "$STATE"
fill
# No space at all: reported before the application is started in vain.
expect_exit 3 "$KL" record --state "$STATE" -- ./nbody 1024 6
expect_says "o space left"; expect_brief 1
[ ! -s "$WORK/.out" ] || fail "the application was run although nothing could be recorded"
# Little space: the application runs to its end undisturbed, and the launches that were not captured are named.
truncate -s 250m "$STATE/filler"
expect_exit 1 "$KL" record --state "$STATE" -- ./nbody 1024 6
expect_says "MiB left"
shape() { sed 's/[0-9.]\+/N/g' "$1" | head -1; }
[ "$(shape "$WORK/.out")" = "$(shape "$WORK/plain")" ] || fail "the application's output has changed"
free_space
expect_exit 0 "$KL" record --state "$STATE" -- ./nbody 1024 6
fill
expect_exit 3 "$KL" extract forces --state "$STATE"
expect_says "o space left"; expect_brief
[ -z "$(ls "$STATE/mep" 2>/dev/null)" ] || fail "an incomplete MEP was left behind"
free_space
expect_exit 0 "$KL" extract forces --state "$STATE" --out "$WORK/mep"
fill
expect_exit 3 "$KL" tune "$WORK/mep" --state "$STATE" --device cpu --evals 3
expect_brief 3
free_space
expect_exit_in "0 1" "$KL" tune "$WORK/mep" --state "$STATE" --device cpu --evals 3
RUN=$(ls "$STATE"/runs/*.klrun | tail -1)
expect_exit 0 "$KL" export "$RUN" --to json
BEFORE=$(json 'len(d["trials"])')
fill
expect_exit 3 "$KL" tune "$WORK/mep" --state "$STATE" --device cpu --evals 30 --resume
expect_says "full"
free_space
expect_exit 0 "$KL" export "$RUN" --to json
[ "$(json 'len(d["trials"])')" -ge "$BEFORE" ] || fail "candidates were lost"
expect_exit_in "0 1" "$KL" tune "$WORK/mep" --state "$STATE" --device cpu --evals 3 --resume
