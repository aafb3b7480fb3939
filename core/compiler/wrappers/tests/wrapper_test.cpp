// The wrappers with CMake, command lines as in Makefiles, relocatable code, response files and parallel builds.
#include "core/compiler/wrappers/wrapper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/process.h"

namespace kernelift::wrappers {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class Wrappers : public testing::Test {
 protected:
  void SetUp() override {
    auto made = TemporaryFolder::create("kernelift-wrapper-test");
    ASSERT_TRUE(made.ok());
    scratch_.emplace(std::move(*made));
    config_ = {folder() / "toolkit", folder() / ".kernelift", "cpu"};
    Status status = create_toolkit(config_, executable_folder() / "kernelift-wrapper");
    ASSERT_TRUE(status.ok()) << status.error().message;
  }
  fs::path folder() const { return scratch_->path(); }
  void write(const std::string& name, const std::string& text) {
    ASSERT_TRUE(write_atomically(folder() / name, std::string_view(text)).ok());
  }
  ProcessOutcome run(const std::string& line) {
    ProcessOptions options;
    options.folder = folder();
    std::string root = config_.root.string();
    options.environment = {{"PATH", root + "/bin:" + std::getenv("PATH")},
                           {"CUDACXX", root + "/bin/nvcc"},
                           {"CUDA_PATH", root},
                           {"CUDA_HOME", root},
                           {"CUDAToolkit_ROOT", root},
                           {"COMPILER_PATH", linker_folder(config_).string()}};
    auto outcome = run_process({"/bin/sh", "-c", line}, options);
    EXPECT_TRUE(outcome.ok());
    return outcome.ok() ? *outcome : ProcessOutcome{};
  }
  void expect_ok(const std::string& line) {
    ProcessOutcome outcome = run(line);
    EXPECT_TRUE(outcome.ok()) << line << '\n' << outcome.out << outcome.err;
  }
  Json log() const {
    auto json = read_json(config_.state / "compile_commands.json");
    return json.ok() ? *json : Json::array();
  }

  std::optional<TemporaryFolder> scratch_;
  WrapperConfig config_;
};

constexpr const char* kProgram = R"(
#include <cstdio>
__constant__ int offset;
__global__ void add(int* out, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) out[i] = i + offset; }
int main() {
  int seven = 7, host[64], *device;
  cudaMemcpyToSymbol(offset, &seven, sizeof seven);
  cudaMalloc(&device, sizeof host);
  add<<<2, 32>>>(device, 64);
  cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost);
  for (int i = 0; i < 64; ++i) if (host[i] != i + 7) return 1;
  std::puts(MESSAGE);
  return 0;
}
)";

TEST_F(Wrappers, HaveTheRuntimesLibrariesBesideTheirCopyOfIt) {
  fs::path runtime = folder() / "data" / "runtime";
  fs::create_directories(runtime);
  fs::copy(config_.root / "lib64" / "libcudart-kernelift.so", runtime / "libcudart.so.13");
  write("data/runtime/libtbb.so.12", "as in the archive");
  write("data/runtime/libkernelift_record.so", "not for linking");
  setenv("KERNELIFT_DATA", (folder() / "data").c_str(), 1);
  Status again = create_toolkit(config_, executable_folder() / "kernelift-wrapper");
  unsetenv("KERNELIFT_DATA");
  ASSERT_TRUE(again.ok()) << again.error().message;
  auto carried = read_text(config_.root / "lib64" / "libtbb.so.12");
  ASSERT_TRUE(carried.ok()) << carried.error().message;
  EXPECT_EQ(*carried, "as in the archive");
  EXPECT_FALSE(fs::exists(config_.root / "lib64" / "libkernelift_record.so"));
}

TEST_F(Wrappers, MakeAProgramThatRuns) {
  write("a.cu", kProgram);
  expect_ok(R"(nvcc -O2 -arch=sm_80 '-DMESSAGE="all right"' a.cu -o a)");
  EXPECT_EQ(run("./a").out, "all right\n");
}

TEST_F(Wrappers, ReadResponseFilesAndLogTheirContent) {
  write("a.cu", kProgram);
  write("flags.rsp", R"(-DMESSAGE=\\\"x\\\" -isystem=/nowhere)");
  expect_ok("nvcc --options-file flags.rsp -c a.cu -o a.o");
  ASSERT_EQ(log().size(), 1u);
  EXPECT_EQ(log()[0]["file"], "a.cu");
  EXPECT_EQ(log()[0]["output"], "a.o");
  EXPECT_EQ(log()[0]["directory"], fs::canonical(folder()).string());
  EXPECT_EQ(log()[0]["arguments"],
            Json::parse(R"(["nvcc","-DMESSAGE=\"x\"","-isystem=/nowhere","-c","a.cu","-o","a.o"])"));
}

TEST_F(Wrappers, LogNoMissingSourceAndTheLastCommandThatWroteAnOutput) {
  write("a.cu", "int a;"), write("b.cu", "int b;");
  EXPECT_FALSE(run("nvcc -c aa.cu").ok());
  EXPECT_EQ(log().size(), 0u) << "misspelled";
  expect_ok("nvcc -c a.cu -o x.o");
  expect_ok("nvcc -c b.cu -o x.o");
  ASSERT_EQ(log().size(), 1u) << log();
  EXPECT_EQ(log()[0]["file"], "b.cu");
}

TEST_F(Wrappers, DropRenamedSourcesFromTheLog) {
  write("a.cu", "int a;"), write("b.cu", "int b;");
  expect_ok("nvcc -c a.cu -o a.o && nvcc -c b.cu -o b.o && mv b.cu c.cu && nvcc -c c.cu -o c.o");
  ASSERT_EQ(log().size(), 2u) << log();
  EXPECT_EQ(log()[0]["file"], "a.cu");
  EXPECT_EQ(log()[1]["file"], "c.cu");
}

TEST_F(Wrappers, LogEveryCommandOfAParallelBuildOnce) {
  constexpr int kSources = 8;
  for (int i = 0; i < kSources; ++i)
    write("s" + std::to_string(i) + ".cpp", "int f" + std::to_string(i) + "() { return 0; }");
  std::string all = "for i in 0 1 2 3 4 5 6 7; do nvcc -c s$i.cpp -o s$i.o & done; wait";
  expect_ok(all);
  expect_ok(all);  // A rebuild replaces its entries.
  EXPECT_EQ(log().size(), size_t{kSources});
}

TEST_F(Wrappers, LinkRelocatableCodeThatTheHostCompilerLinksLater) {
  write("main.cu", R"(
extern __device__ int shared; __device__ int twice(int); static __device__ int mine = 5;
__global__ void k(int* p) { p[0] = twice(shared) + mine; }
int main() { int *d, h = 0, v = 10, w = 6; cudaMalloc(&d, 4); cudaMemcpyToSymbol(shared, &v, 4); cudaMemcpyToSymbol(mine, &w, 4);
  k<<<1, 1>>>(d); cudaMemcpy(&h, d, 4, cudaMemcpyDeviceToHost); return h == 26 ? 0 : 1; }
)");
  write("other.cu", "__device__ int shared = 1; __device__ int twice(int a) { return 2 * a; }");
  expect_ok("nvcc -dc main.cu -o main.o && nvcc -rdc=true -c other.cu -o other.o && ar rcs libother.a other.o");
  expect_ok("nvcc main.o other.o -o by_nvcc && ./by_nvcc");
  expect_ok("nvcc -dlink main.o -L. -lother -o link.o && g++ main.o link.o -L. -lother -L" + config_.root.string() +
            "/lib64 -lcudart_static -o by_host && ./by_host");
}

TEST_F(Wrappers, LinkTheirRuntimeThoughTheHostCompilersCommandNamesAnother) {
  write("main.cu", kProgram);
  write("other.c", "int other_runtime;\n");
  expect_ok(
      "nvcc -DMESSAGE='\"ran\"' -c main.cu && mkdir cuda && gcc -shared -fPIC other.c -o cuda/libcudart.so && gcc -c "
      "other.c && ar rc cuda/libcudart_static.a other.o");
  expect_ok(
      "g++ main.o -Lcuda -lcudart -o shared && ./shared && g++ main.o -Lcuda -Wl,-rpath,cuda -lcudart_static -o static "
      "&& ./static");
}

TEST_F(Wrappers, PassCMakesDetectionAndBuildItsProject) {
  write("CMakeLists.txt", R"(
cmake_minimum_required(VERSION 3.18)
project(x LANGUAGES CXX CUDA)
find_package(CUDAToolkit REQUIRED)
add_executable(app app.cu host.cpp)
set_target_properties(app PROPERTIES CUDA_ARCHITECTURES "80;90")
target_compile_definitions(app PRIVATE MESSAGE="hello world")
target_include_directories(app PRIVATE inc)
target_link_libraries(app PRIVATE CUDA::cudart CUDA::cublas CUDA::cufft)
)");
  write("app.cu", kProgram);
  write("host.cpp", "#include <cuda_runtime.h>\nint devices() { int n = 0; cudaGetDeviceCount(&n); return n; }\n");
  expect_ok("cmake -S . -B build && cmake --build build");
  EXPECT_EQ(run("build/app").out, "hello world\n");
  EXPECT_EQ(log().size(), 1u) << "CMake's trial compiles must not be logged: " << log().dump(1);
}

TEST_F(Wrappers, TakePlainSourcesForHipUnderHipcc) {
  write("a.cpp", R"(
#include <hip/hip_runtime.h>
__global__ void k(int* p) { p[hipThreadIdx_x] = hipBlockDim_x; }
int main() { int *d, h[4]; if (hipMalloc(&d, 16) != hipSuccess) return 2; hipLaunchKernelGGL(k, dim3(1), dim3(4), 0, 0, d);
  hipMemcpy(h, d, 16, hipMemcpyDeviceToHost); return h[3] == 4 ? 0 : 1; }
)");
  expect_ok("hipcc -O2 --offload-arch=gfx90a a.cpp -o a && ./a");
  write("b.cpp",
        "#include <hip/hip_runtime.h>\n__global__ void k(int* p) {\n#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < "
        "800\n  *p = 1;\n#else\n  *p = 2;\n#endif\n}\n"
        "int main() { int *d, h; if (hipMalloc(&d, 4) != hipSuccess) return 2; k<<<1, 1>>>(d); hipMemcpy(&h, d, 4, "
        "hipMemcpyDeviceToHost); return h == 2 ? 0 : 1; }\n");
  expect_ok("hipcc b.cpp -o b && ./b");  // HIP names no architecture of NVIDIA's: the newest is used.
  EXPECT_THAT(run("amdclang++ -v --cuda-host-only -x hip -c a.cpp -o a.o").err,
              HasSubstr("#include <...> search starts here:"))
      << "CMake reads this";
}

TEST_F(Wrappers, ReportErrorsAsCompilersDo) {
  write("bad.cu", "\n__global__ void k() { undeclared(); }\n");
  ProcessOutcome outcome = run("nvcc -c bad.cu -o bad.o");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("bad.cu:2:"));
  EXPECT_THAT(run("nvcc -c gone.cu").err, HasSubstr("gone.cu"));
  EXPECT_THAT(run("nvcc -ptx bad.cu").err, HasSubstr("-ptx"));
  EXPECT_THAT(run("nvcc --no-such-flag -c bad.cu").err, HasSubstr("--no-such-flag"));
}

TEST_F(Wrappers, NameALibraryOrConstructThatTheCpuDeviceLacks) {
  const std::pair<const char*, const char*> kCases[] = {
      {"\n#include <cublas_v2.h>\n", "a.cu:2:10: error: the library cuBLAS is not supported"},
      {"#include <vector>\n#include <curand.h>\n",
       "a.cu:2:10: error: the host interface of the library cuRAND is not supported"},
      {"__global__ void c() {}\n__global__ void k() { c<<<1, 1>>>(); }\n",
       "error: a launch from device code (dynamic parallelism)"},
      {"texture<float, 2> t;\n", "a.cu:1:1: error: a texture reference"},
      {"#include <mma.h>\n", "a.cu:1:10: error: the interface of tensor cores (wmma)"},
      {"#include <cuda_fp8.h>\n", "a.cu:1:10: error: a number of 8 bits (cuda_fp8.h) is not supported"},
      {"#include <cooperative_groups.h>\n__global__ void k() { cooperative_groups::this_cluster().sync(); }\n",
       "a thread block cluster"},
  };
  for (const auto& [source, expected] : kCases) {
    write("a.cu", source);
    ProcessOutcome outcome = run("nvcc -c a.cu -o a.o");
    EXPECT_EQ(outcome.exit_code, 1) << source;
    EXPECT_THAT(outcome.err, HasSubstr(expected)) << source;
  }
  write("a.cu", "__global__ void c() {}\n__global__ void k() { c<<<1, 1>>>(); }\n");
  EXPECT_THAT(run("nvcc -rdc=true -c a.cu -o a.o").err,
              HasSubstr("a.cu:2:24: error: a launch from device code (dynamic parallelism)"));
  write("a.cu", "#include <cuda.h>\nint main() { CUmodule m; return cuModuleLoad(&m, \"k.ptx\"); }\n");
  EXPECT_THAT(run("nvcc a.cu -o a").err, HasSubstr("a.cu:2:33: error: the driver API (cu…) is not supported"));
  write("a.cpp", "int main() { hipModule_t m; return hipModuleLoad(&m, \"k.co\"); }\n");
  EXPECT_THAT(run("hipcc a.cpp -o a").err, HasSubstr("a.cpp:1:14: error: a module loaded at run time"));
  write("a.cpp", "#include <hip/hip_fp8.h>\n");
  EXPECT_THAT(
      run("hipcc a.cpp -o a").err,
      HasSubstr("a.cpp:1:10: error: a number of 8 bits (hip_fp8.h) is not supported by Kernelift's CPU device"));
  write("a.cpp", "#include <hiprand/hiprand.h>\n");
  EXPECT_THAT(run("hipcc a.cpp -o a").err,
              HasSubstr("a.cpp:1:10: error: the library hipRAND is not supported by Kernelift's CPU device; HIP "
                        "programs run on the CPU device alone"));
  write("a.cu", "__global__ void k() {}\nint main() { k<<<1, 1>>>(); return 0; }\n");
  EXPECT_EQ(run("nvcc a.cu -o a -lcuda -lnvToolsExt -lcudadevrt && ./a").exit_code, 0)
      << "libraries that are named and not used";
  write("a.cu", "extern \"C\" int cublasCreate_v2(void**);\nint main() { void* h; return cublasCreate_v2(&h); }\n");
  EXPECT_THAT(run("nvcc a.cu -o a -lcublas").err,
              HasSubstr("-lcublas: the library cuBLAS is not supported by Kernelift's CPU device"));
}

TEST_F(Wrappers, BuildAProgramWhoseOtherKernelsTheCpuDeviceCannotRun) {
  write("a.cu", R"(
#include <cstdio>
template <int N> __global__ void tensor(float* p) { asm volatile("mma.sync.m%1 %0;" : "+f"(p[N]) : "n"(N)); }
__global__ void plain(float* p) { *p = 1; }
int main(int argc, char**) {
  float* p;
  cudaMalloc(&p, 64);
  plain<<<1, 1>>>(p);
  if (argc > 1) tensor<1><<<1, 1>>>(p);
  if (argc > 2) tensor<2><<<1, 1>>>(p);
  std::puts(cudaGetErrorName(cudaDeviceSynchronize()));
  std::puts(cudaGetErrorName(cudaGetLastError()));
}
)");
  for (const char* build : {"nvcc a.cu -o a", "nvcc -rdc=true a.cu -o a"}) {
    ProcessOutcome built = run(build);
    EXPECT_TRUE(built.ok()) << built.err;
    EXPECT_THAT(
        built.err,
        HasSubstr(": warning: kernel tensor (2 instances) is left out, launching it returns cudaErrorNotSupported: "
                  "the CPU device does not support inline PTX \"mma.sync.m%1 %0\" (a.cu:3)\n"));
    EXPECT_EQ(run("./a").out, "cudaSuccess\ncudaSuccess\n");
    ProcessOutcome ran = run("./a with tensors");
    EXPECT_EQ(ran.out, "cudaSuccess\ncudaErrorNotSupported\n");
    EXPECT_THAT(ran.err, HasSubstr("kernelift: kernel void tensor<1>(float*) <<<(1,1,1), (1,1,1)>>>: the CPU device "
                                   "does not support inline PTX"));
  }
}

TEST_F(Wrappers, ReportTheirOwnCrash) {
  // Once the pipe is open at its other end, the source is being read.
  ProcessOutcome outcome = run("mkfifo slow.cu && { nvcc -c slow.cu & } && exec 3>slow.cu && kill -SEGV $! ; wait $!");
  EXPECT_THAT(
      outcome.err,
      HasSubstr("nvcc: error: Kernelift's compiler wrapper crashed while it compiled for the CPU device: slow.cu"));
}

TEST_F(Wrappers, ReadFlagsFromTheEnvironmentAsNvccDoes) {
  write("a.cu", "#include <cstdio>\nint main() { std::printf(\"%d %s\", V, NAME); }\n");
  expect_ok("NVCC_PREPEND_FLAGS='-DV=2 -DNAME=\\\"x\\\"' NVCC_APPEND_FLAGS='-UV -DV=3' nvcc a.cu -o a");
  EXPECT_EQ(run("./a").out, "3 x");
  EXPECT_THAT(log().dump(), AllOf(HasSubstr("-DV=2"), HasSubstr("-DV=3")));
}

TEST_F(Wrappers, PassQueriesOnToTheHostCompiler) {
  ProcessOutcome outcome = run("nvcc .c -Xcompiler '-dumpfullversion -dumpversion'");
  EXPECT_EQ(outcome.out, run("g++ -dumpfullversion -dumpversion").out);
  EXPECT_THAT(run("nvcc .c -Xcompiler --version").out, HasSubstr("g++"));
  EXPECT_TRUE(log().empty()) << log().dump(1);
}

TEST_F(Wrappers, WorkInAFolderOfAnyName) {
  config_.root = folder() / "a (b); 'ü' &c/toolkit";
  ASSERT_TRUE(create_toolkit(config_, executable_folder() / "kernelift-wrapper").ok());
  write("a.cu", kProgram);
  const std::string nvcc = "\"" + config_.root.string() + "/bin/nvcc\"";
  expect_ok(nvcc + R"( '-DMESSAGE="all right"' a.cu -o a -lcublas)");
  EXPECT_EQ(run("./a").out, "all right\n");
  config_.root = folder() / "a\"b";
  Status refused = create_toolkit(config_, executable_folder() / "kernelift-wrapper");
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("holds a \""));
}

TEST_F(Wrappers, NameASourceReachedThroughALinkAsTheCompileDatabaseDoes) {
  fs::create_directories(folder() / "real");
  fs::create_directory_symlink("real", folder() / "link");
  write("real/a.cu", kProgram);
  expect_ok("nvcc '-DMESSAGE=\"\"' -c link/a.cu -o a.o");
  auto object = read_text(folder() / "a.o");
  ASSERT_TRUE(object.ok());
  EXPECT_NE(object->find(fs::canonical(folder() / "real" / "a.cu").string()), object->npos);
}

TEST_F(Wrappers, HaveAPathThatNeedsNoQuotesThoughTheApplicationsDoes) {
  const char* before = std::getenv("XDG_CACHE_HOME");
  std::string kept = before ? before : "";
  setenv("XDG_CACHE_HOME", (folder() / "cache").c_str(), 1);
  EXPECT_EQ(toolkit_folder("/home/me/app/.kernelift"), "/home/me/app/.kernelift/toolkit-cpu");
  fs::path moved = toolkit_folder("/home/me/my app/.kernelift");
  EXPECT_EQ(moved.parent_path(), folder() / "cache" / "kernelift");
  EXPECT_TRUE(fs::is_directory(moved));
  EXPECT_NE(moved, toolkit_folder("/home/me/your app/.kernelift"));
  setenv("XDG_CACHE_HOME", "/no such place", 1);
  EXPECT_EQ(toolkit_folder("/home/me/my app/.kernelift"), "/home/me/my app/.kernelift/toolkit-cpu")
      << "there is no better folder";
  before ? setenv("XDG_CACHE_HOME", kept.c_str(), 1) : unsetenv("XDG_CACHE_HOME");
}

TEST_F(Wrappers, PutSourcesWithOneNameIntoALibraryAsTwoObjects) {
  std::filesystem::create_directories(folder() / "b");
  write("x.cu", "int first() { return 1; }\n");
  write("b/x.cu", "int second() { return 2; }\n");
  write("main.cpp", "int first(); int second();\nint main() { return first() + second() - 3; }\n");
  expect_ok("nvcc -lib x.cu b/x.cu -o libx.a && g++ main.cpp libx.a -o a && ./a");
}

TEST_F(Wrappers, RefuseAManagedVariablesAddressInADeviceInitialiser) {
  write("m.cu", "\n\n__managed__ int total;\n__device__ int* where = &total;\n__global__ void k() { *where = 1; }\n");
  ProcessOutcome outcome = run("nvcc -c m.cu -o m.o");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("__managed__ variable total in another variable's initialiser"));
}

TEST_F(Wrappers, PreprocessAndWriteDependencies) {
  write("inc.h", "#define INSIDE 41\n");
  write("a.cu", "#include \"inc.h\"\nint x = INSIDE;\n");
  EXPECT_THAT(run("nvcc -E a.cu").out, HasSubstr("int x = 41;"));
  EXPECT_THAT(run("nvcc -M a.cu").out, HasSubstr("inc.h"));
  expect_ok("nvcc -MD -MT target.o -MF a.d -c a.cu -o a.o");
  auto dependencies = read_text(folder() / "a.d");
  ASSERT_TRUE(dependencies.ok());
  EXPECT_THAT(*dependencies, HasSubstr("target.o:"));
  EXPECT_THAT(*dependencies, HasSubstr("inc.h"));
}

TEST_F(Wrappers, OnlyLogForOtherDevices) {
  config_.device = "log";
  ASSERT_TRUE(create_toolkit(config_, executable_folder() / "kernelift-wrapper").ok());
  fs::create_directories(folder() / "real");
  write("a.cu", "");
  write("real/nvcc", "#!/bin/sh\necho real \"$@\"\n");
  fs::permissions(folder() / "real/nvcc", fs::perms::owner_all);
  EXPECT_EQ(
      run("PATH=" + config_.root.string() + "/bin:" + (folder() / "real").string() + ":$PATH; nvcc -c a.cu -o a.o").out,
      "real -c a.cu -o a.o\n");
  EXPECT_EQ(log().size(), 1u);
  EXPECT_EQ(run("export NVCC_APPEND_FLAGS=-DV PATH=" + config_.root.string() + "/bin:" + (folder() / "real").string() +
                ":$PATH; nvcc -c a.cu -o a.o")
                .out,
            "real -c a.cu -o a.o\n")
      << "the real nvcc reads the variable itself";
  EXPECT_THAT(log().dump(), HasSubstr("-DV"));
}

}  // namespace
}  // namespace kernelift::wrappers
