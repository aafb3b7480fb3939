# Captures, MEPs and runs that are truncated, corrupted or of a newer version: one sentence that names the file, and no crash.
. "$(dirname "$0")/common.sh" "$@"
example one-file
expect_exit 0 "$KL" build --device cpu -- nvcc -O2 nbody.cu -o nbody
expect_exit 0 "$KL" scan
expect_exit 0 "$KL" record -- ./nbody
KERNEL=forces
expect_exit 0 "$KL" extract "$KERNEL" --out mep
expect_exit_in "0 1" "$KL" tune mep --evals 4 --device cpu
RUN=$(ls .kernelift/runs/*.klrun | head -1)

cp -r mep cut && truncate -s 100 cut/mep.json
expect_exit 3 "$KL" replay cut; expect_says "mep.json"; expect_brief
cp -r mep flip && for f in flip/data/*.bin; do printf '\xff' | dd of="$f" bs=1 seek=5 conv=notrunc status=none; done
expect_exit 3 "$KL" replay flip; expect_says "data/"; expect_brief
cp -r mep future && sed -i 's/"version": *1/"version": 99/; s/"oldest_reader": *1/"oldest_reader": 99/' future/mep.json
expect_exit 3 "$KL" replay future; expect_says "newer Kernelift"; expect_brief

cp -r .kernelift/capture saved
truncate -s 64 .kernelift/capture/blobs.klb
expect_exit 3 "$KL" extract "$KERNEL" --out other; expect_says "blobs.klb"; expect_brief
rm -rf .kernelift/capture && cp -r saved .kernelift/capture
echo garbage > .kernelift/capture/manifest.json
# The rest of the capture is used, and the damaged file is named.
expect_exit 0 "$KL" extract "$KERNEL" --out other; expect_says "warning: the capture is damaged"; expect_says "manifest.json"

head -c 3000 "$RUN" > cut.klrun
expect_exit 3 "$KL" report cut.klrun -o x.html; expect_says "cut.klrun"; expect_brief
echo "not a database" > text.klrun
expect_exit 3 "$KL" export text.klrun --to json; expect_says "text.klrun"; expect_brief
