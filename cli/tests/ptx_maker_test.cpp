// PTX for embedding, made by the real compiler and, if it is installed, NVIDIA's real assembler: it is the image that
// was measured, names no file of this machine, and requires no newer driver than necessary. No GPU is needed.
#include "cli/embedding/ptx_maker.h"

#include <gtest/gtest.h>

#include <cstring>

#include "core/base/file.h"
#include "core/compiler/nvjitlink.h"
#include "core/toolchain/cubin.h"
#include "reintegrate/embed/ptx_text.h"

namespace kernelift::cli {
namespace {

const char* const kKernel =
    "__constant__ float taps[4];\n"
    "__device__ const float table[2] = {1.5f, 2.5f};\n"
    "__global__ void scale(float* data, int n, float factor) {\n"
    "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "  if (i < n) data[i] *= factor * table[i & 1];\n"
    "}\n";

/// A MEP that has been tuned, and the PtxMaker for its candidates.
struct Tuned {
  explicit Tuned(const std::string& source) { EXPECT_TRUE(write_atomically(folder.path() / "kernel.cu", source).ok()); }
  static Mep mep() {
    Mep mep;
    mep.kernel_name = "scale", mep.kernel_mangled = "_Z5scalePfif", mep.compile_flags = {"-std=c++17"};
    return mep;
  }
  TemporaryFolder folder = std::move(*TemporaryFolder::create("kernelift-embedding"));
  PtxMaker maker{"scale-1.klrun", mep(), folder.path()};
};

class Embedding : public ::testing::Test {
 protected:
  // Shared by all cases, because starting its compiler is expensive.
  static void SetUpTestSuite() { tuned = std::make_unique<Tuned>(source()); }
  static void TearDownTestSuite() { tuned.reset(); }
  void SetUp() override {
    trial.id = 7;
    trial.candidate.source = source();
    Verdict verdict;
    verdict.device = "cuda: NVIDIA H200, sm_90, driver 580.1";
    verdict.timings = {{"0001", 1, 2, 1, 2, 1.9, 2.1, 20, false}};
    verdict.embedded = RaceFigures{6.3};
    trial.confirmed = trial.verdict = verdict;
  }
  static std::string source() { return std::strchr(kKernel, '\n') + 1; }
  Result<reintegrate::EmbeddedCode> make() { return tuned->maker(trial); }
  static inline std::unique_ptr<Tuned> tuned;
  tuner::RunTrial trial;
};

TEST_F(Embedding, MakesTheMeasuredImageWithALowPtxVersion) {
  auto code = make();
  ASSERT_TRUE(code.ok()) << code.error().message;
  EXPECT_EQ(code->entry, "_Z5scalePfif");
  EXPECT_EQ(reintegrate::ptx_target(code->ptx), "sm_90");
  EXPECT_EQ(code->ptx.find(tuned->folder.path().string()), std::string::npos) << code->ptx;
  EXPECT_EQ(code->ptx.find(".loc"), std::string::npos);
  EXPECT_TRUE(reintegrate::ptx_shared_variables(code->ptx).empty()) << code->ptx;
  EXPECT_EQ(
      code->why,
      "clang generates code 6.30 times as fast as the application's own; from the same source nvcc generates code "
      "2.00 times as fast.");
  // The assembler initialises the driver, after which no GPU runner can be forked: it must not be in this process.
  auto maps = read_text("/proc/self/maps");
  ASSERT_TRUE(maps.ok());
  EXPECT_NE(maps->find("libc"), maps->npos);
  EXPECT_EQ(maps->find("libnvJitLink"), maps->npos);
  if (open_cubin_compiler().ok()) {
    EXPECT_LE(reintegrate::ptx_version(code->ptx), 80) << "sm_90 needs no newer PTX: " << code->ptx.substr(0, 200);
    EXPECT_EQ(compile_cubin(code->ptx, "sm_90").outcome, Outcome::Ok);
  }
  // The run does not record the image, so the check is noted as impossible; a recorded image that differs is refused.
  ASSERT_FALSE(code->notes.empty());
  EXPECT_NE(code->notes.back().find("the run does not record which image that was"), std::string::npos)
      << code->notes.back();
  trial.confirmed->image.clang_identity = ImageIdentity{12345};
  auto other = make();
  ASSERT_FALSE(other.ok());
  EXPECT_NE(other.error().message.find("not the image that was measured"), std::string::npos);
}

TEST_F(Embedding, CompilesWithTheCandidatesRecipe) {
  auto plain = make();
  trial.candidate.recipe.fast_math = {"reassoc", "contract"}, trial.candidate.recipe.level = "O1";
  auto other = make();
  ASSERT_TRUE(plain.ok() && other.ok()) << other.error().message;
  EXPECT_NE(other->why.find("the gain is in how the kernel is compiled (O1"), std::string::npos) << other->why;
}

TEST_F(Embedding, WritesALimitOfRegistersIntoThePtxThatWithoutOptionsIsTheMeasuredCode) {
  if (!open_cubin_compiler().ok()) GTEST_SKIP() << "no nvJitLink";
  // Many values that live at once.
  std::string loads, stores;
  for (int i = 0; i < 100; ++i) {
    const std::string n = std::to_string(i);
    loads += "  float v" + n + " = ((volatile float*)data)[" + n + "];\n";
    stores += "  data[99 - " + n + "] = v" + n + ";\n";
  }
  auto source_of = [&](const std::string& bounds) {
    return "__global__ void " + bounds + "scale(float* data, int n, float factor) {\n" + loads + stores + "}\n";
  };
  Tuned many(source_of(""));
  trial.candidate.source = source_of("");
  auto free = many.maker(trial);
  ASSERT_TRUE(free.ok()) << free.error().message;
  const Cubin unlimited = compile_cubin(free->ptx, "sm_90");
  trial.candidate.recipe.unit_flags.most_registers = 32;
  // What the evaluator measures.
  const Cubin measured = compile_cubin(free->ptx, "sm_90", assembler_options(trial.candidate.recipe.unit_flags));
  auto limited = many.maker(trial);
  ASSERT_TRUE(limited.ok()) << limited.error().message;
  const Cubin made = compile_cubin(limited->ptx, "sm_90");
  ASSERT_EQ(made.outcome, Outcome::Ok) << made.detail;
  EXPECT_GT(unlimited.kernels.at("_Z5scalePfif").registers, 40u);
  EXPECT_EQ(made.kernels.at("_Z5scalePfif").registers, 32u);
  EXPECT_EQ(cubin_code(made.image, "scale(float*, int, float)"),
            cubin_code(measured.image, "scale(float*, int, float)"));

  // The assembler does not follow the option where a kernel has bounds of its own.
  trial.candidate.source = source_of("__launch_bounds__(128) ");
  Tuned bounded(trial.candidate.source);
  auto own = bounded.maker(trial);
  ASSERT_TRUE(own.ok()) << own.error().message;
  EXPECT_GT(compile_cubin(own->ptx, "sm_90").kernels.at("_Z5scalePfif").registers, 32u);

  trial.candidate.recipe.unit_flags.cache_loads = "cg";
  auto cached = many.maker(trial);
  ASSERT_FALSE(cached.ok());
  EXPECT_EQ(cached.error().message, "the driver assembles embedded code without -Xptxas=-dlcm=cg");
}

TEST_F(Embedding, KeepsConstantsThatTheHostFillsVisible) {
  trial.candidate.source = kKernel;
  trial.candidate.source.replace(trial.candidate.source.find("factor * table"), 14, "taps[i & 3] * table");
  Tuned filled(trial.candidate.source);
  auto code = filled.maker(trial);
  ASSERT_TRUE(code.ok()) << code.error().message;
  EXPECT_EQ(reintegrate::ptx_shared_variables(code->ptx),
            (std::vector<reintegrate::PtxVariable>{{"taps", true, true}}));
}

TEST_F(Embedding, RefusesCandidatesThatWereNotMeasuredOnAGpuOrDoNotCompile) {
  trial.confirmed->device = "cpu: some processor";
  auto code = make();
  ASSERT_FALSE(code.ok());
  EXPECT_NE(code.error().message.find("embedded code is for NVIDIA GPUs"), std::string::npos);
  trial.confirmed->device = "cuda: NVIDIA H200, sm_90, driver 580.1";
  trial.candidate.source += "nonsense";
  code = make();
  ASSERT_FALSE(code.ok());
  EXPECT_EQ(code.error().exit, Exit::Refused);
}

}  // namespace
}  // namespace kernelift::cli
