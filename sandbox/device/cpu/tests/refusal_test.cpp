// What the CPU device cannot do is refused by name and place; damaged images are refused too.
#include <fstream>

#include "sandbox/device/cpu/block_context.h"
#include "sandbox/device/cpu/lower/context_layout.h"
#include "sandbox/device/cpu/lower/host/emit.h"
#include "sandbox/device/cpu/lower/ptx/ptx_text.h"
#include "sandbox/device/cpu/tests/device_test.h"

#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/DataLayout.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/Support/SourceMgr.h>

namespace kernelift::cpu {
namespace {

std::string refusal(const std::string& source) {
  auto lowered = lower_text(source);
  if (lowered.ok()) return "";
  EXPECT_EQ(lowered.error().exit, Exit::Refused) << lowered.error().message;
  return lowered.error().message;
}

TEST(Refused, UnknownAssemblyWithItsTextAndPlace) {
  const std::string message =
      refusal("__global__ void k(float* p) {\n  asm volatile(\"wmma.frobnicate.f32 %0;\" :: \"f\"(*p));\n}");
  EXPECT_NE(message.find("wmma.frobnicate.f32"), std::string::npos) << message;
  EXPECT_NE(message.find("test.cu:2"), std::string::npos) << message;
}

TEST(Refused, AnUnknownInstructionIsNamedOnceAndWithoutItsNeighbours) {
  const std::string message = refusal(
      "__global__ void k(float* p) { float x; asm(\"{ .reg .f32 t; mov.f32 t, %1; mma.sync %0, t; }\" : \"=f\"(x) : "
      "\"f\"(*p)); *p = x; }");
  EXPECT_EQ(message, "the CPU device does not support inline PTX \"mma.sync %0, t\" (test.cu:1)");
}

TEST(Refused, ARegisterThatIsAnotherInEachScope) {
  auto twice = [](const std::string& second) {
    return refusal(
        "__global__ void k(unsigned* p) { unsigned x; asm(\"{ { .reg .u64 t; mul.wide.u32 t, %1, 2; cvt.u32.u64 %0, t; "
        "} { .reg " +
        second + " t; add.u32 %0, %0, 1; } }\" : \"=r\"(x) : \"r\"(*p)); *p = x; }");
  };
  EXPECT_NE(twice(".u32").find("the register t, which is .u64 in one scope and .u32 in another"), std::string::npos)
      << twice(".u32");
  EXPECT_EQ(twice(".u64"), "");
}

TEST(Refused, CodeThatTheHostsLibrariesCannotFinishIsToldByTheMissingNameWhenItIsMade) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic diagnostic;
  auto module = llvm::parseAssemblyString(
      "declare double @sin(double)\ndeclare double @nobody_has_this(double)\n"
      "define double @f(double %x) {\n %y = call double @sin(double %x)\n"
      " %z = call double @nobody_has_this(double %y)\n ret double %z\n}\n",
      diagnostic, context);
  ASSERT_TRUE(module) << diagnostic.getMessage().str();
  auto machine = host_machine("native", 1);
  ASSERT_TRUE(machine.ok()) << machine.error().message;
  module->setTargetTriple((*machine)->getTargetTriple()), module->setDataLayout((*machine)->createDataLayout());
  std::map<std::string, uint64_t> sizes;
  auto made = emit_shared_object(*module, **machine, sizes);
  ASSERT_FALSE(made.ok());
  EXPECT_NE(made.error().message.find("undefined symbol: nobody_has_this"), std::string::npos) << made.error().message;
}

TEST(Refused, ModifiersThatChangeWhatArithmeticComputes) {
  for (const char* text : {"max.relu.s32 %0, %1, %1;", "abs.frobnicate.s32 %0, %1;"})
    EXPECT_NE(refusal("__global__ void k(int* p) { int x; asm(\"" + std::string(text) +
                      "\" : \"=r\"(x) : \"r\"(*p)); *p = x; }")
                  .find(text, 0, 8),
              std::string::npos)
        << text;
}

TEST(Refused, AssemblyWithBranches) {
  EXPECT_NE(refusal("__global__ void k() { asm volatile(\"{ L: bra L; }\"); }").find("label"), std::string::npos);
}

TEST(Refused, UnknownIntrinsicByName) {
  const std::string message = refusal("__global__ void k(int* p) {\n\n  *p = __nvvm_read_ptx_sreg_pm0();\n}");
  EXPECT_NE(message.find("llvm.nvvm.read.ptx.sreg.pm0 (test.cu:3)"), std::string::npos) << message;
}

TEST(Refused, FunctionsThatNobodyDefines) {
  const std::string message =
      refusal("__device__ int elsewhere(int);\n__global__ void k(int* p) { *p = elsewhere(1); }");
  EXPECT_NE(message.find("elsewhere(int) (called at test.cu:2)"), std::string::npos) << message;
}

TEST(Refused, VariablesThatNobodyDefines) {
  EXPECT_NE(refusal("extern __device__ int far_away;\n__global__ void k(int* p) { *p = far_away; }").find("far_away"),
            std::string::npos);
}

TEST(Refused, LibdeviceFunctionsThatDoNotExist) {
  const std::string message = refusal(
      "extern \"C\" __device__ float __nv_nosuch(float);\n__global__ void k(float* p) { *p = __nv_nosuch(1); }");
  EXPECT_NE(message.find("__nv_nosuch (test.cu:2)"), std::string::npos) << message;
}

TEST(Refused, NothingInCodeThatNoKernelReaches) {
  EXPECT_EQ(refusal("__device__ int elsewhere(int);\n__device__ int unused(int x) { return elsewhere(x); }\n__global__ "
                    "void k(int* p) { *p = 1; }"),
            "");
}

constexpr const char* kMixed = R"(
__device__ __noinline__ float tensor(float x) { asm volatile("mma.sync.frobnicate.f32 %0, %0;" : "+f"(x)); return x; }
__device__ __noinline__ float twice(float x) { return 2 * x; }
__device__ float (*table[])(float) = {twice, tensor};
extern "C" __device__ float __nv_nosuch(float);
__global__ void plain(float* p) { *p = twice(*p); }
__global__ void direct(float* p) { *p = tensor(*p); }
__global__ void pointed(float* p) { *p = table[0](*p); }
__global__ void counter(float* p) { *p = __nvvm_read_ptx_sreg_pm0(); }
__global__ void library(float* p) { *p = __nv_nosuch(*p); }
)";

TEST(LeftOut, AreTheKernelsThatReachSomethingUnsupportedAndNoOthers) {
  LowerOptions options;
  options.leave_out_refused = true;
  const TestImage image = build(kMixed, options);
  float value = 21;
  EXPECT_TRUE(image.run("plain", grid(1, 1), &value).ok());
  EXPECT_EQ(value, 42);
  const std::pair<const char*, const char*> kReasons[] = {
      {"direct", "inline PTX \"mma.sync.frobnicate.f32 %0, %0\" (test.cu:2)"},
      {"pointed", "inline PTX \"mma.sync.frobnicate.f32 %0, %0\" (test.cu:2)"},
      {"counter", "the intrinsic llvm.nvvm.read.ptx.sreg.pm0 (test.cu:9)"},
      {"library", "no function __nv_nosuch (test.cu:10)"}};
  for (const auto& [kernel, reason] : kReasons) {
    EXPECT_EQ(image.mode(kernel), "refused");
    const LaunchOutcome outcome = image.run(kernel, grid(1, 1), &value);
    EXPECT_EQ(outcome.fault, LaunchFault::Unsupported) << kernel;
    EXPECT_NE(outcome.detail.find(reason), std::string::npos) << outcome.detail;
  }
  EXPECT_EQ(value, 42);
}

TEST(LeftOut, IsEveryInstructionOfATypeThatItDoesNotTakeAndNothingElseComesOfIt) {
  const char* const kForms[] = {"add.T %0, %1, %2",
                                "sub.sat.T %0, %1, %2",
                                "mul.lo.T %0, %1, %2",
                                "mul.wide.T %0, %1, %2",
                                "mad.lo.T %0, %1, %2, %1",
                                "fma.rz.T %0, %1, %2, %1",
                                "div.rn.T %0, %1, %2",
                                "rem.T %0, %1, %2",
                                "min.NaN.T %0, %1, %2",
                                "and.T %0, %1, %2",
                                "shl.T %0, %1, %2",
                                "shr.T %0, %1, %2",
                                "not.T %0, %1",
                                "neg.T %0, %1",
                                "abs.T %0, %1",
                                "popc.T %0, %1",
                                "clz.T %0, %1",
                                "brev.T %0, %1",
                                "bmsk.clamp.T %0, %1, %2",
                                "bfe.T %0, %1, %2, %1",
                                "sad.T %0, %1, %2, %1",
                                "lop3.T %0, %1, %2, %1, 0x3c",
                                "shf.l.wrap.T %0, %1, %2, %1",
                                "dp4a.T.T %0, %1, %2, %1",
                                "setp.lt.T %0, %1, %2",
                                "setp.hi.T %0, %1, %2",
                                "selp.T %0, %1, %2, %1",
                                "cvt.rn.f16.T %0, %1",
                                "cvt.bf16.T %0, %1",
                                "cvt.rzi.s32.T %0, %1",
                                "cvt.T.s32 %0, %1",
                                "ld.global.T %0, [%3]",
                                "ld.acquire.gpu.T %0, [%3+4]",
                                "ld.global.v2.T {%0, %0}, [%3]",
                                "st.global.T [%3], %1",
                                "st.v4.T [%3], {%1, %1, %1}",
                                "atom.add.T %0, [%3], %1",
                                "atom.and.T %0, [%3], %1",
                                "atom.cas.T %0, [%3], %1, %2",
                                "atom.min.T %0, [%3], %1",
                                "redux.sync.add.T %0, %1, %2",
                                "match.any.sync.T %0, %1, %2",
                                "ex2.approx.T %0, %1",
                                "sqrt.rn.T %0, %1",
                                "copysign.T %0, %1, %2",
                                "mov.T %0, {%1, %2, %1}",
                                "mov.T %0, WARP_SZ",
                                "mov.T {%0, %0}, %1",
                                "@%1 add.T %0, %1, %2",
                                "mov.T %0, {",
                                "mov.T %0, %%clock"};
  std::string source;
  int kernels = 0;
  for (const char* type : {"pred", "s32", "b128", "f16x2", "bf16", "f64", "nonsense"})
    for (const std::string form : kForms) {
      std::string statement = form;
      for (size_t at; (at = statement.find(".T")) != std::string::npos;)
        statement.replace(at, 2, std::string(".") + type);
      source += "__global__ void k" + std::to_string(kernels++) + "_(int* p) { int x = 0; asm volatile(\"" + statement +
                ";\" : \"+r\"(x) : \"r\"(p[1]), \"r\"(p[2]), \"l\"(p)); p[0] = x; }\n";
    }
  LowerOptions options;
  options.leave_out_refused = true, options.host_level = 1, options.vectorize = false;
  auto lowered = lower_text(source, options);
  ASSERT_TRUE(lowered.ok()) << lowered.error().message;
  int refused = 0;
  for (const LoweredKernel& kernel : lowered->kernels) refused += kernel.mode == "refused";
  EXPECT_GT(refused, kernels / 4);
  EXPECT_LT(refused, kernels * 3 / 4);
}

TEST(LeftOut, IsNothingWhereTheModuleAsAWholeIsWrong) {
  LowerOptions options;
  options.leave_out_refused = true;
  EXPECT_FALSE(
      lower_text("__device__ int elsewhere(int);\n__global__ void k(int* p) { *p = elsewhere(1); }", options).ok());
}

TEST(Image, DamagedBytesAreRefusedNotCrashedOn) {
  const TestImage image = build("__global__ void k(int* p) { *p = 1; }");
  const std::vector<char>& elf = image.lowered.elf;
  for (size_t length : {size_t(0), size_t(3), size_t(16), size_t(64), size_t(200)})
    EXPECT_FALSE(LoadedImage::load(std::span(elf).first(length), "cut").ok()) << length;
  std::vector<char> other = elf;
  for (size_t i = 0; i + 8 <= other.size(); ++i)
    if (std::memcmp(other.data() + i, "KLIMAGE1", 8) == 0) other[i + 3] = 'X';
  auto loaded = LoadedImage::load(other, "magic");
  ASSERT_FALSE(loaded.ok());
  EXPECT_NE(loaded.error().message.find("not a CPU image"), std::string::npos);
}

TEST(PtxText, SurvivesAnyMutilation) {
  const std::string text =
      "{ .reg .pred p; .reg .b32 t<4>; setp.ne.s32 p, $1, 0; @p mov.b64 {t0, t1}, $2; // c\n @!p ld.global.v2.f32 "
      "{$0,t2}, [$3+16]; }";
  ASSERT_TRUE(parse_ptx(text).ok());
  uint32_t random = 12345;
  for (int round = 0; round < 20000; ++round) {
    std::string broken = text.substr(0, round % 3 ? text.size() : round / 3 % text.size());
    for (int i = 0; i < 3 && !broken.empty(); ++i) {
      random = random * 1664525 + 1013904223;
      broken[(random >> 8) % broken.size()] = "{}[];@!.,:$ \n/*x0"[random >> 3 & 15];
    }
    auto parsed = parse_ptx(broken);
    if (!parsed.ok()) {
      ASSERT_FALSE(parsed.error().message.empty());
    }
  }
}

TEST(ContextLayout, IsTheSameForLlvmAndForC) {
  llvm::LLVMContext context;
  const llvm::DataLayout layout("e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128");
  const auto* thread = layout.getStructLayout(thread_type(context));
  const auto* block = layout.getStructLayout(block_type(context));
  EXPECT_EQ(thread->getSizeInBytes(), sizeof(kl_thread));
  EXPECT_EQ(thread->getElementOffset(ThreadField::linear), offsetof(kl_thread, linear));
  EXPECT_EQ(block->getSizeInBytes(), sizeof(kl_block));
  EXPECT_EQ(block->getElementOffset(BlockField::nctaid_x), offsetof(kl_block, nctaid_x));
  EXPECT_EQ(block->getElementOffset(BlockField::processor), offsetof(kl_block, processor));
  EXPECT_EQ(block->getElementOffset(BlockField::dynamic_shared), offsetof(kl_block, dynamic_shared));
  EXPECT_EQ(block->getElementOffset(BlockField::frame_stride), offsetof(kl_block, frame_stride));
  EXPECT_EQ(block->getElementOffset(BlockField::current), offsetof(kl_block, current));
  EXPECT_EQ(block->getElementOffset(BlockField::shared_shadow), offsetof(kl_block, shared_shadow));
}

}  // namespace
}  // namespace kernelift::cpu
