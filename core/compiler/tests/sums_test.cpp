// Kernels' sums split into partial sums or rounded at random, and run: as accurate as before, and rounded differently.
#include "core/compiler/sums.h"

#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/TargetSelect.h>

#include <cmath>
#include <vector>

namespace kernelift {
namespace {

constexpr int64_t kCount = 1003;

std::vector<float> values() {
  std::vector<float> x(kCount);
  unsigned state = 7;
  for (auto& value : x) state = state * 1664525u + 1013904223u, value = 0.1f + float(state >> 8) / float(1 << 24);
  return x;
}

struct Outcome {
  int sums = 0;
  float result = 0;
};

/// Runs `float f(const float* x, int64_t n)` of `ir` with its sums split.
Outcome run(const std::string& ir, PartialSums partial_sums, int64_t n = kCount) {
  llvm::InitializeNativeTarget(), llvm::InitializeNativeTargetAsmPrinter();
  auto context = std::make_unique<llvm::LLVMContext>();
  llvm::SMDiagnostic error;
  auto module = llvm::parseAssemblyString(ir, error, *context);
  if (!module) return ADD_FAILURE() << error.getMessage().str() << " in line " << error.getLineNo(), Outcome{};
  Outcome outcome;
  outcome.sums = split_sums(*module->getFunction("f"), partial_sums);
  EXPECT_FALSE(llvm::verifyModule(*module, &llvm::errs()));
  auto jit = llvm::cantFail(llvm::orc::LLJITBuilder().create());
  llvm::cantFail(jit->addIRModule(llvm::orc::ThreadSafeModule(std::move(module), std::move(context))));
  auto f = llvm::cantFail(jit->lookup("f")).toPtr<float(const float*, int64_t)>();
  std::vector<float> x = values();
  outcome.result = f(x.data(), n);
  return outcome;
}

/// A loop over x whose body computes %next from %sum and %v; the function returns `ends`.
std::string loop(const std::string& body, const std::string& ends = "%next", const std::string& more = "") {
  return "declare float @llvm.fma.f32(float, float, float)\ndeclare float @llvm.sqrt.f32(float)\n"
         "define float @f(ptr %x, i64 %n) {\nentry:\n  br label %loop\nloop:\n  %i = phi i64 [ 0, %entry ], [ %j, "
         "%latch ]\n"
         "  %sum = phi float [ 0.5, %entry ], [ %next, %latch ]\n" +
         more + "  %p = getelementptr float, ptr %x, i64 %i\n  %v = load float, ptr %p\n" + body +
         "  br label %latch\nlatch:\n  %j = add i64 %i, 1\n  %c = icmp slt i64 %j, %n\n"
         "  br i1 %c, label %loop, label %end\nend:\n  ret float " +
         ends + "\n}\n";
}

void expect_other_rounding(const std::string& ir, PartialSums partial_sums = PartialSums::Innermost) {
  Outcome whole = run(ir, PartialSums::None), parts = run(ir, partial_sums);
  EXPECT_EQ(parts.sums, 1) << ir;
  EXPECT_NE(parts.result, whole.result) << ir;
  EXPECT_NEAR(parts.result, whole.result, 1e-4 * std::fabs(whole.result)) << ir;
  // Fewer iterations than partial sums.
  EXPECT_NEAR(run(ir, partial_sums, 3).result, run(ir, PartialSums::None, 3).result, 1e-5) << ir;
}

TEST(SplitSums, SplitsAdditionsSubtractionsAndFusedMultiplyAdds) {
  expect_other_rounding(loop("  %next = fadd float %v, %sum\n"));
  expect_other_rounding(loop("  %next = fsub float %sum, %v\n"));
  expect_other_rounding(loop("  %next = call float @llvm.fma.f32(float %v, float %v, float %sum)\n"));
  expect_other_rounding(loop("  %one = fadd float %sum, %v\n  %next = fadd float %one, %v\n"));
}

TEST(SplitSums, SplitsSumsInLoopsWithCalls) {
  expect_other_rounding(loop("  %root = call float @llvm.sqrt.f32(float %v)\n  %next = fadd float %sum, %root\n"));
}

TEST(SplitSums, FollowsASumThroughConditions) {
  expect_other_rounding(
      loop("  %big = fcmp ogt float %v, 0.5\n  %more = fadd float %sum, %v\n"
           "  %next = select i1 %big, float %more, float %sum\n"));
  expect_other_rounding(
      loop("  %big = fcmp ogt float %v, 0.5\n  br i1 %big, label %then, label %join\nthen:\n"
           "  %more = fadd float %sum, %v\n  br label %join\njoin:\n"
           "  %next = phi float [ %sum, %loop ], [ %more, %then ]\n"));
}

TEST(SplitSums, AddsThePartialSumsAtAnExitInTheMiddleOfTheLoop) {
  std::string ir = loop(
      "  %next = fadd float %sum, %v\n  %far = icmp eq i64 %i, 700\n"
      "  br i1 %far, label %early, label %latch\nearly:\n  ret float %sum\nunused:\n");
  expect_other_rounding(ir);
}

TEST(SplitSums, SplitsANestByItsOutermostOrItsInnermostLoop) {
  std::string ir =
      "define float @f(ptr %x, i64 %n) {\nentry:\n  br label %rows\nrows:\n  %r = phi i64 [ 0, %entry ], [ %r1, %next "
      "]\n"
      "  %all = phi float [ 0.0, %entry ], [ %s1, %next ]\n  br label %row\nrow:\n  %i = phi i64 [ 0, %rows ], [ %i1, "
      "%row ]\n"
      "  %s = phi float [ %all, %rows ], [ %s1, %row ]\n  %k = mul i64 %r, 17\n  %at = add i64 %k, %i\n"
      "  %p = getelementptr float, ptr %x, i64 %at\n  %v = load float, ptr %p\n  %s1 = fadd float %s, %v\n  %i1 = add "
      "i64 %i, 1\n"
      "  %c = icmp slt i64 %i1, 17\n  br i1 %c, label %row, label %next\nnext:\n  %r1 = add i64 %r, 1\n  %q = sdiv i64 "
      "%n, 17\n"
      "  %d = icmp slt i64 %r1, %q\n  br i1 %d, label %rows, label %end\nend:\n  ret float %s1\n}\n";
  expect_other_rounding(ir, PartialSums::Outermost);
  expect_other_rounding(ir, PartialSums::Innermost);
  EXPECT_NE(run(ir, PartialSums::Outermost).result, run(ir, PartialSums::Innermost).result);
}

TEST(SplitSums, LeavesVariablesThatAreNoSumsUnchanged) {
  const std::string no_sums[] = {
      loop("  %next = fmul float %sum, %v\n"),
      loop("  %next = fadd float %sum, %sum\n"),
      loop("  %next = fsub float %v, %sum\n"),
      loop("  %next = call float @llvm.fma.f32(float %sum, float %v, float %v)\n"),
      loop("  %half = fmul float %sum, 0.5\n  %next = fadd float %sum, %half\n"),
      // Used in the loop otherwise, selected from another value, and used an iteration later.
      loop("  %more = fadd float %sum, %v\n  %full = fcmp ogt float %more, 9.0\n  %next = select i1 %full, float %sum, "
           "float %more\n"),
      loop("  %big = fcmp ogt float %v, 0.5\n  %more = fadd float %sum, %v\n  %next = select i1 %big, float %more, "
           "float 0.0\n"),
      loop("  %next = fadd float %sum, %v\n", "%late", "  %late = phi float [ 0.0, %entry ], [ %sum, %latch ]\n"),
  };
  for (auto& ir : no_sums) {
    Outcome parts = run(ir, PartialSums::Innermost);
    EXPECT_EQ(parts.sums, 0) << ir;
    EXPECT_EQ(parts.result, run(ir, PartialSums::None).result) << ir;
  }
}

/// Runs `T f(const T* x, int64_t n)` of `ir` with its additions rounded at random; with seed 0, to nearest.
template <class T>
double at_random(const std::string& ir, uint64_t seed, int additions, const std::vector<T>& x) {
  llvm::InitializeNativeTarget(), llvm::InitializeNativeTargetAsmPrinter();
  auto context = std::make_unique<llvm::LLVMContext>();
  llvm::SMDiagnostic error;
  auto module = llvm::parseAssemblyString(ir, error, *context);
  if (!module) return ADD_FAILURE() << error.getMessage().str() << " in line " << error.getLineNo(), 0;
  if (seed > 0) EXPECT_EQ(round_sums_at_random(*module->getFunction("f"), seed), additions);
  EXPECT_FALSE(llvm::verifyModule(*module, &llvm::errs()));
  auto jit = llvm::cantFail(llvm::orc::LLJITBuilder().create());
  llvm::cantFail(jit->addIRModule(llvm::orc::ThreadSafeModule(std::move(module), std::move(context))));
  return llvm::cantFail(jit->lookup("f")).toPtr<T(const T*, int64_t)>()(x.data(), static_cast<int64_t>(x.size()));
}

/// A function that adds the elements of x atomically in memory.
std::string atomic_sum(const std::string& type, const std::string& operation = "fadd") {
  return "define " + type + " @f(ptr %x, i64 %n) {\nentry:\n  %into = alloca " + type + "\n  store " + type +
         " 0.0, ptr %into\n  br label %loop\nloop:\n  %i = phi i64 [ 0, %entry ], [ %j, %loop ]\n  %p = "
         "getelementptr " +
         type + ", ptr %x, i64 %i\n  %v = load " + type + ", ptr %p\n  %old = atomicrmw " + operation + " ptr %into, " +
         type +
         " %v monotonic\n  %j = add i64 %i, 1\n  %c = icmp slt i64 %j, %n\n  br i1 %c, label %loop, label %end\nend:\n "
         " %sum = load " +
         type + ", ptr %into\n  ret " + type + " %sum\n}\n";
}

/// A function that adds the elements of x to a place in memory, or to one that `index` makes of %i.
std::string sum_in_place(const std::string& index = "  %q = getelementptr float, ptr %into, i64 0\n") {
  return "define float @f(ptr %x, i64 %n) {\nentry:\n  %into = alloca float, i64 8\n  store float 0.0, ptr %into\n"
         "  br label %loop\nloop:\n  %i = phi i64 [ 0, %entry ], [ %j, %loop ]\n  %p = getelementptr float, ptr %x, "
         "i64 %i\n  %v = load float, ptr %p\n" +
         index +
         "  %old = load float, ptr %q\n  %new = fadd float %old, %v\n  store float %new, ptr %q\n  %j = add i64 %i, "
         "1\n  %c = icmp slt i64 %j, %n\n  br i1 %c, label %loop, label %end\nend:\n  %sum = load float, ptr %into\n"
         "  ret float %sum\n}\n";
}

TEST(RandomSums, AreRightOnAverageWhereRoundingToNearestIsFarOff) {
  std::vector<float> same(100000, 0.1f);
  const double terms = double(0.1f) * double(same.size());
  for (auto& [ir, exact] :
       {std::pair{atomic_sum("float"), terms},
        {sum_in_place(), terms},
        {loop("  %next = fadd float %v, %sum\n"), terms + 0.5},
        {loop("  %next = call float @llvm.fma.f32(float %v, float 1.0, float %sum)\n"), terms + 0.5}}) {
    double nearest = at_random(ir, 0, 0, same), mean = 0;
    for (uint64_t seed : {1, 2, 3}) mean += at_random(ir, seed, 1, same) / 3;
    EXPECT_GT(std::fabs(nearest - exact), 5e-5 * exact);
    EXPECT_LT(std::fabs(mean - exact), 0.1 * std::fabs(nearest - exact)) << ir;
    EXPECT_NE(at_random(ir, 1, 1, same), at_random(ir, 2, 1, same));
    EXPECT_EQ(at_random(ir, 1, 1, same), at_random(ir, 1, 1, same)) << "only numbers and seed decide the direction";
  }
  double down = at_random(atomic_sum("float", "fsub"), 1, 1, same);
  EXPECT_NEAR(down, -terms, 5e-5 * terms);
}

TEST(RandomSums, OfDoublesAreRightOnAverageToo) {
  std::vector<double> same(100000, 0.1);
  std::string ir = atomic_sum("double");
  long double exact = 0;
  for (double value : same) exact += value;
  double nearest = at_random(ir, 0, 0, same);
  long double mean = 0;
  for (uint64_t seed : {1, 2, 3}) mean += at_random(ir, seed, 1, same) / 3.0L;
  EXPECT_GT(std::fabs(static_cast<double>(nearest - exact)), 1e-13 * static_cast<double>(exact));
  EXPECT_LT(std::fabs(static_cast<double>(mean - exact)), 0.1 * std::fabs(static_cast<double>(nearest - exact)));
}

TEST(RandomSums, KeepExactSumsInfinitiesAndNans) {
  EXPECT_EQ(at_random(atomic_sum("float"), 1, 1, std::vector<float>(1000, 2.0f)), 2000);
  EXPECT_EQ(at_random(atomic_sum("double"), 1, 1, std::vector<double>(1000, 2.0)), 2000);
  for (double odd : {HUGE_VAL, -HUGE_VAL}) {
    EXPECT_EQ(at_random(atomic_sum("float"), 1, 1, std::vector<float>{1, float(odd), 0.1f}), odd);
    EXPECT_EQ(at_random(atomic_sum("double"), 1, 1, std::vector<double>{1, odd, 0.1}), odd);
  }
  EXPECT_TRUE(std::isnan(at_random(atomic_sum("float"), 1, 1, std::vector<float>{1, NAN, 0.1f})));
  EXPECT_TRUE(std::isnan(at_random(atomic_sum("double"), 1, 1, std::vector<double>{1, NAN, 0.1})));
}

TEST(RandomSums, CountNoOperationThatIsNoSum) {
  at_random(loop("  %w = fadd float %v, 0.5\n  %next = fmul float %w, %sum\n"), 1, 0, std::vector<float>(10, 1.0f));
  at_random(atomic_sum("float", "fmax"), 1, 0, std::vector<float>(10, 1.0f));
  const char* kOtherPlaces = "  %k = and i64 %i, 7\n  %q = getelementptr float, ptr %into, i64 %k\n";
  at_random(sum_in_place(kOtherPlaces), 1, 0, std::vector<float>(10, 1.0f));
}

}  // namespace
}  // namespace kernelift
