# A CMake application with LANGUAGES CUDA configures and builds with the wrappers, runs without a GPU, and passes its check.
. "$(dirname "$0")/common.sh" "$@"
example heat
expect_exit 0 "$KL" build --device cpu -- sh -c 'cmake -S . -B build -DCMAKE_BUILD_TYPE=Release && cmake --build build -j2'
expect_exit 0 ./build/heat --check
expect_says PASSED
[ -s .kernelift/compile_commands.json ] || fail "no compile commands were logged"
[ -z "$(git -C . status --porcelain 2>/dev/null | grep kernelift || true)" ] || fail "the state folder shows in git"
