# One command on the CMake example: a final table, every kernel's fate named, and an application that still passes.
. "$(dirname "$0")/common.sh" "$@"
example heat
printf 'build/\n.kernelift/\n' > .gitignore
commit_all
expect_exit_in "0 1" "$KL" optimize --device cpu --time 90 --json \
  --build 'cmake -S . -B build -DCMAKE_BUILD_TYPE=Release && cmake --build build -j2' --run './build/heat' --check './build/heat --check'
[ "$(json 'len(d["kernels"]) >= 1')" = True ] || fail "no kernel was looked at"
[ "$(json 'all(k["outcome"] for k in d["kernels"])')" = True ] || fail "a kernel without an outcome"
cat "$WORK/.err" | tail -20
expect_exit 0 "$KL" build --device cpu -- cmake --build build -j2
expect_exit 0 ./build/heat --check
expect_says PASSED
