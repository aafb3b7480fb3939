# Sources that do not match the compile database or the scan: deleted files, another folder, files edited since the scan.
. "$(dirname "$0")/common.sh" "$@"
example one-file
expect_exit 0 "$KL" build --device cpu -- nvcc -O2 nbody.cu -o nbody
expect_exit 0 "$KL" scan
expect_exit 0 "$KL" record -- ./nbody

# Edited since the scan: the scanned kernel is no longer in the file and cannot be extracted.
cp nbody.cu saved.cu
sed -i '1i // a line that shifts all others' nbody.cu
expect_exit 3 "$KL" extract forces
expect_says "nbody.cu"; expect_says "kernelift scan"; expect_brief 2
rm nbody.cu
expect_exit 3 "$KL" extract forces
expect_says "nbody.cu"; expect_brief 2
expect_exit 3 "$KL" scan
expect_says "nbody.cu"; expect_brief 3
mv saved.cu nbody.cu
expect_exit 0 "$KL" scan
expect_exit 0 "$KL" extract forces

# A database for another folder, which does not exist.
sed "s,$PWD,/no/such/place,g" .kernelift/compile_commands.json > moved.json
expect_exit 3 "$KL" scan -p moved.json
expect_says "/no/such/place"; expect_brief 3
expect_exit 2 "$KL" scan -p no-such-folder
expect_says "no-such-folder"; expect_brief 1
# A folder without a database.
mkdir empty
expect_exit 2 "$KL" scan -p empty
expect_says "compile_commands.json"; expect_brief 1
# The earlier scan is still valid.
expect_exit 0 "$KL" extract forces
# What was built for the CPU device is up to date for a build for GPUs.
expect_exit 1 "$KL" build --device cuda -- true
expect_says "what lies here was built for the CPU device: clean"
expect_exit 0 "$KL" build --device cpu -- true
expect_says "nothing was compiled;"
# The state folder is removed while all programs are up to date: the messages name no file that does not exist.
rm -rf .kernelift
expect_exit 0 "$KL" build --device cpu -- true
expect_says "no compile command was seen"; expect_says "nothing has been compiled since"
! grep -qF "compile_commands.json" "$WORK/.out" "$WORK/.err" || fail "a message names a file that does not exist"
expect_exit 3 "$KL" scan
expect_says "from clean"; expect_brief 1
