# A CMake build that is watched keeps no path of Kernelift's: the same commands go on without it, with nothing to build
# again, and every compile has been logged as nvcc got it. The CPU device keeps away from that folder.
. "$(dirname "$0")/common.sh" "$@"
# Without our folder, which CMake writes down with the rest of PATH, and which may itself be called kernelift.
PATH=${PATH#"$BIN:"}:/usr/local/cuda/bin
command -v nvcc >/dev/null && command -v cmake >/dev/null || { echo "skipped: nvcc and cmake are needed"; exit 77; }
cat > CMakeLists.txt <<'C'
cmake_minimum_required(VERSION 3.20)
project(app LANGUAGES CUDA)
add_executable(app app.cu)
target_compile_options(app PRIVATE "-DSIZES=1\\,2\\,4")
C
echo '__global__ void k(int* p) { int n[] = {SIZES}; *p += n[1]; } int main() { k<<<1, 1>>>(nullptr); }' > app.cu
BUILD='cmake -S . -B out -DCMAKE_CUDA_COMPILER=nvcc -DCMAKE_CUDA_ARCHITECTURES=75 && cmake --build out'
expect_exit 0 "$KL" build --device cuda -- sh -c "$BUILD"
expect_says "1 compile command in"
python3 - <<'P'
import json
[entry] = json.load(open(".kernelift/compile_commands.json"))
assert "-DSIZES=1\\,2\\,4" in entry["arguments"], entry
P
! grep -rlI kernelift out || fail "files of the build name Kernelift"
expect_exit 0 env -u CUDACXX sh -c "$BUILD"
! grep -q Building .out || fail "something was compiled again without Kernelift"
expect_exit 0 "$KL" scan
expect_says "1 kernel, 1 launch site"
! grep -q "parsed completely" .err || fail "the list in the definition was not understood"
expect_exit 2 "$KL" build --device cpu -- sh -c "$BUILD"
expect_says "was configured with"
expect_says "give the build command another folder"
expect_brief 1
