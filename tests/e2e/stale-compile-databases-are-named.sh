# Sources and compile database that have come apart: files that are gone, of another folder, or edited since the scan.
. "$(dirname "$0")/common.sh" "$@"
example one-file
expect_exit 0 "$KL" build --device cpu -- nvcc -O2 nbody.cu -o nbody
expect_exit 0 "$KL" scan
expect_exit 0 "$KL" record -- ./nbody

# Edited since the scan: what was scanned is no longer there to be lifted out.
cp nbody.cu saved.cu
sed -i '1i // a line that moves all others' nbody.cu
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

# A database that belongs to another folder, which is not there.
sed "s,$PWD,/no/such/place,g" .kernelift/compile_commands.json > moved.json
expect_exit 3 "$KL" scan -p moved.json
expect_says "/no/such/place"; expect_brief 3
expect_exit 2 "$KL" scan -p no-such-folder
expect_says "no-such-folder"; expect_brief 1
# A folder without one.
mkdir empty
expect_exit 2 "$KL" scan -p empty
expect_says "compile_commands.json"; expect_brief 1
# What was scanned before is still what it was.
expect_exit 0 "$KL" extract forces
# The state folder removed, and everything built still up to date: no file is named that is not there.
rm -rf .kernelift
expect_exit 0 "$KL" build --device cpu -- true
expect_says "no compile command was seen"; expect_says "nothing was compiled"
! grep -qF "compile_commands.json" "$WORK/.out" "$WORK/.err" || fail "it names a file that is not there"
expect_exit 3 "$KL" scan
expect_says "from clean"; expect_brief 1
