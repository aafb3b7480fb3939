// core/compiler/nvcc_image.h and its confinement, with the real nvcc if there is one.
#include "sandbox/compile/nvcc_jail.h"

#include <gmock/gmock.h>

#include "core/base/file.h"
#include "core/compiler/paths.h"
#include "core/model/kernel_key.h"
#include "core/toolchain/cubin.h"
#include "core/toolchain/device_arguments.h"
#include "sandbox/jail/landlock.h"

namespace kernelift::sandbox {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
namespace fs = std::filesystem;

std::vector<std::string> kept(const std::vector<std::string>& command) {
  std::vector<std::string> left_out;
  return device_arguments(command, left_out);
}

TEST(DeviceArguments, KeepOptionsThatChangeDeviceCodeAsSpelled) {
  EXPECT_THAT(
      kept({"nvcc", "-O3", "--use_fast_math", "-Xptxas", "-dlcm=ca", "-maxrregcount=64", "-std=c++17", "-DN=4", "-I",
            "include", "--generate-line-info", "-lineinfo", "-Xcompiler=-fopenmp", "-c", "a.cu", "-o", "a.o"}),
      ElementsAre("-O3", "--use_fast_math", "-Xptxas", "-dlcm=ca", "-maxrregcount=64", "-std=c++17", "-DN=4", "-I",
                  "include", "--generate-line-info", "-lineinfo", "-Xcompiler=-fopenmp"));
}

TEST(DeviceArguments, LeaveOutFilesLinkingAndArchitecturesAndNameThem) {
  std::vector<std::string> left_out;
  auto words =
      device_arguments({"ccache", "/usr/local/cuda/bin/nvcc", "-gencode", "arch=compute_80,code=sm_80", "-arch=sm_70",
                        "-t8", "-MD", "-MF", "a.d", "-lm", "-L/x", "-dlto", "-x", "cu", "a.cpp", "-o", "a.o"},
                       left_out);
  EXPECT_THAT(words, ElementsAre());
  EXPECT_THAT(left_out, Contains("-gencode arch=compute_80,code=sm_80"));
  EXPECT_THAT(left_out, Contains(HasSubstr("-dlto (changes device code")));
}

TEST(DeviceArguments, TranslateSeparateCompilationToRelocatableCode) {
  EXPECT_THAT(kept({"nvcc", "-dc", "a.cu"}), ElementsAre("-rdc=true"));
}

TEST(NvccCompiler, IsRefusedIfAnotherCompilerBuiltTheApplication) {
  NvccOptions options;
  options.command = {"clang++", "-x", "cuda", "-c", "a.cu"};
  auto compiler = NvccCompiler::find(options);
  ASSERT_FALSE(compiler.ok());
  EXPECT_EQ(compiler.error().exit, Exit::Refused);
}

class NvccImageTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto toolkit = cuda_toolkit();
    if (!toolkit || !fs::exists(*toolkit / "bin" / "nvcc")) GTEST_SKIP() << "nvcc is not installed";
  }
  NvccCompiler compiler(std::vector<std::string> command) {
    NvccOptions options;
    options.command = std::move(command), options.folder = scratch_.path();
    auto found = NvccCompiler::find(confined(options));
    EXPECT_TRUE(found.ok()) << found.error().message;
    return *found;
  }
  static std::vector<std::string> keys(const CompileReply& reply) {
    std::vector<std::string> keys;
    for (auto& kernel : reply.kernels) keys.push_back(canonical_key(kernel.name));
    return keys;
  }
  TemporaryFolder scratch_ = std::move(*TemporaryFolder::create("kernelift-nvcc-test"));
};

constexpr const char* kSource = R"(
namespace ns { namespace {
__constant__ float table[4];
template <class T, int N> __global__ void scale(T* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = FACTOR * table[i % N];
}
}}
static __global__ void plain(int* p) { *p = 1; }
)";

TEST_F(NvccImageTest, HoldsTheWantedInstanceAndStaticKernels) {
  auto nvcc = compiler({"nvcc", "-O3", "-DFACTOR=2.0f", "-c", "a.cu", "-o", "a.o"});
  auto reply = nvcc.compile(kSource, {"ns::scale<float, 4>"});
  ASSERT_EQ(reply.outcome, Outcome::Ok) << reply.detail;
  EXPECT_TRUE(reply.image.starts_with("\177ELF"));
  EXPECT_THAT(keys(reply), Contains("ns::(anonymous)::scale<float,4>(float*,int)"));
  EXPECT_THAT(keys(reply), Contains("plain(int*)"));
  EXPECT_THAT(nvcc.command_text(), HasSubstr("-O3 -DFACTOR=2.0f -arch=sm_90 -cubin -o kernel.cubin kernel.cu"));
  EXPECT_GT(cubin_code(reply.image, "plain(int*)").size(), 0u);
  EXPECT_TRUE(cubin_code(reply.image, "another(int*)").empty());
  // Truncated and damaged images do not crash the readers.
  for (size_t size = 0; size < reply.image.size(); size += 97)
    cubin_kernels(std::string_view(reply.image).substr(0, size));
  for (size_t at = 0; at < reply.image.size(); at += 131) {
    std::string damaged = reply.image;
    damaged[at] = static_cast<char>(damaged[at] ^ 0xff);
    cubin_kernels(damaged), cubin_code(damaged, "plain(int*)");
  }
}

TEST_F(NvccImageTest, CompilesASourceForTheArchitectureOfItsApplication) {
  Mep mep;
  mep.compile_command = {"nvcc", "-arch=sm_75", "-c", "a.cu"}, mep.architecture = "sm_75";
  auto nvcc = NvccCompiler::find(nvcc_options(mep, "sm_90"));
  ASSERT_TRUE(nvcc.ok());
  auto reply = nvcc->compile(
      "__global__ void k(int* p) {\n#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ != 750\n  *p = wrong;\n#endif\n}\n",
      {});
  EXPECT_EQ(reply.outcome, Outcome::Ok) << reply.detail;
  EXPECT_THAT(nvcc->command_text(), HasSubstr("nvcc -gencode=arch=compute_75,code=sm_90 -cubin"));
}

TEST_F(NvccImageTest, LinksRelocatableCodeSoThatItCanBeLoaded) {
  auto reply = compiler({"nvcc", "-rdc=true", "-DFACTOR=1", "-c", "a.cu"}).compile(kSource, {"ns::scale<float, 4>"});
  ASSERT_EQ(reply.outcome, Outcome::Ok) << reply.detail;
  constexpr char kExecutable = 2;  // ET_EXEC: linked; ET_REL would not load.
  EXPECT_EQ(reply.image.at(16), kExecutable);
}

TEST_F(NvccImageTest, ReturnsDiagnosticsOfTheKernelsOwnLines) {
  auto reply = compiler({"nvcc", "-c", "a.cu"}).compile("__global__ void k(int* p) { *p = wrong; }\n", {});
  EXPECT_EQ(reply.outcome, Outcome::CompileFailed);
  EXPECT_THAT(reply.detail, HasSubstr("kernel.cu(1): error: identifier \"wrong\" is undefined"));
  EXPECT_THAT(reply.detail, Not(HasSubstr("kernelift-nvcc")));
}

TEST_F(NvccImageTest, ReadsTheApplicationsHeadersAndNoOtherFiles) {
  ASSERT_TRUE(write_atomically(scratch_.path() / "include" / "factor.h", "#define FACTOR 3\n").ok());
  auto nvcc = compiler({"nvcc", "-Iinclude", "-c", "a.cu"});
  auto reply = nvcc.compile(std::string("#include \"factor.h\"\n") + kSource, {});
  EXPECT_EQ(reply.outcome, Outcome::Ok) << reply.detail;
  if (landlock_version() == 0) GTEST_SKIP() << "this kernel cannot hide files";
  TemporaryFolder other = std::move(*TemporaryFolder::create("kernelift-nvcc-secret"));
  ASSERT_TRUE(write_atomically(other.path() / "secret.h", "#define FACTOR 3\n").ok());
  reply = nvcc.compile("#include \"" + (other.path() / "secret.h").string() + "\"\n" + kSource, {});
  EXPECT_EQ(reply.outcome, Outcome::CompileFailed);
}

TEST_F(NvccImageTest, EndsACompileThatTakesTooLong) {
  NvccOptions options;
  options.command = {"nvcc", "-c", "a.cu"}, options.time_limit = std::chrono::milliseconds(50);
  auto nvcc = NvccCompiler::find(options);
  ASSERT_TRUE(nvcc.ok());
  auto reply = nvcc->compile(kSource, {});
  EXPECT_EQ(reply.outcome, Outcome::TimedOut);
  EXPECT_THAT(reply.detail, HasSubstr("nvcc ran past its limit"));
}

TEST_F(NvccImageTest, TranslatesFlagsOfClang) {
  NvccOptions options;
  options.flags = {"-std=c++14", "-D", "FACTOR=2", "-ffast-math", "-Wall"};
  auto nvcc = NvccCompiler::find(options);
  ASSERT_TRUE(nvcc.ok());
  EXPECT_THAT(nvcc->command_text(), HasSubstr("-std=c++14 -D FACTOR=2 -use_fast_math -arch"));
  EXPECT_EQ(nvcc->compile(kSource, {}).outcome, Outcome::Ok);
}

}  // namespace
}  // namespace kernelift::sandbox
