# Without any CUDA toolkit on the machine, Kernelift's own headers take an application from build to MEP.
. "$(dirname "$0")/common.sh" "$@"
if [ -z "${KERNELIFT_NO_TOOLKIT:-}" ]; then
  # Hides an installed toolkit in a mount namespace of its own.
  unshare -rm true 2>/dev/null || { echo "skipped: mount namespaces are not available"; exit 77; }
  KERNELIFT_NO_TOOLKIT=1 exec unshare -rm bash "$SRC/tests/e2e/$(basename "$0")" "$@"
fi
[ ! -d /usr/local/cuda ] || mount -t tmpfs none /usr/local/cuda
unset CUDA_HOME CUDA_PATH CUDA_ROOT
PATH=$(echo "$PATH" | tr ':' '\n' | grep -v cuda | paste -sd:)
expect_exit 0 "$KL" doctor
expect_says "the CPU device works with Kernelift's own headers"
example heat
expect_exit 0 "$KL" build --device cpu -- sh -c 'cmake -S . -B build -DCMAKE_BUILD_TYPE=Release && cmake --build build -j2'
expect_exit 0 ./build/heat --check
expect_says PASSED
expect_exit 0 "$KL" scan
expect_exit 0 "$KL" record -- ./build/heat
expect_exit 0 "$KL" extract dot_kernel
expect_says "proven equal"
