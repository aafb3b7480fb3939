# An application with CMake's language HIP configures, builds, runs and is scanned; find_package(hip) and Makefiles that use
# HIPCXX find the wrappers too.
. "$(dirname "$0")/common.sh" "$@"
example hip-filter
expect_exit 0 "$KL" build --device cpu -- sh -c 'cmake -S . -B build && cmake --build build -j2'
expect_exit 0 ctest --test-dir build
expect_exit 0 "$KL" scan --json
[ "$(json 'd["language"]')" = hip ] || fail "scan reports the language $(json 'd["language"]')"
[ "$(json 'len(d["units"]), len(d["kernels"]) > 2, len(d["launches"]) > 2')" = "3 True True" ] || fail "scan did not find all units, kernels and launches"

mkdir "$WORK/small" && cd "$WORK/small"
cat > main.cpp <<'HIP'
#include <hip/hip_runtime.h>
__global__ void twice(int* p) { p[threadIdx.x] *= 2; }
int main() {
  int host[4] = {1, 2, 3, 4}, *device;
  if (hipMalloc(&device, sizeof host) != hipSuccess) return 2;
  (void)hipMemcpy(device, host, sizeof host, hipMemcpyHostToDevice);
  twice<<<1, 4>>>(device);
  (void)hipMemcpy(host, device, sizeof host, hipMemcpyDeviceToHost);
  return host[3] != 8;
}
HIP
cat > CMakeLists.txt <<'CMAKE'
cmake_minimum_required(VERSION 3.18)
project(small LANGUAGES CXX)
find_package(hip 6 REQUIRED)
add_executable(small main.cpp)
target_link_libraries(small PRIVATE hip::device)
CMAKE
printf 'HIPCXX ?= /opt/rocm/bin/hipcc\nby-make: main.cpp\n\t$(HIPCXX) -o $@ $<\n' > Makefile
expect_exit 0 "$KL" build --device cpu -- sh -c 'cmake -S . -B build -DCMAKE_CXX_COMPILER=hipcc && cmake --build build && make'
expect_exit 0 build/small
expect_exit 0 ./by-make
