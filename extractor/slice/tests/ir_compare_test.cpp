// The comparator must reject every change of the program: each case makes one such change.
#include "core/compiler/ir_compare.h"

#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/SourceMgr.h>

#include "extractor/slice/ir_closure.h"

namespace kernelift::extractor {
namespace {

const char* const kKernel = R"(
%struct.Cell = type { float, i32 }
@table = internal addrspace(4) constant [2 x float] [float 1.0, float 2.0]
@state = addrspace(4) externally_initialized global i32 7
define internal float @twice(float %x) { %r = fmul contract float %x, 2.0
  ret float %r }
define internal float @thrice(float %x) { %r = fmul contract float %x, 3.0
  ret float %r }
declare float @__nv_sqrtf(float)
define ptx_kernel void @k(ptr %p, i32 %n) #0 {
entry:
  %cell = getelementptr inbounds %struct.Cell, ptr %p, i32 %n, i32 0
  %x = load float, ptr %cell, align 4
  %y = call float @twice(float %x)
  %t = load float, ptr addrspace(4) @table, align 4
  %s = load i32, ptr addrspace(4) @state, align 4
  %d = fsub contract float %y, %t
  %q = call float @__nv_sqrtf(float %d)
  %c = icmp slt i32 %s, %n
  br i1 %c, label %then, label %done, !llvm.loop !0
then:
  store float %q, ptr %cell, align 4
  br label %done
done:
  ret void
}
attributes #0 = { "nvvm.maxntid"="128" }
!0 = distinct !{!0, !1}
!1 = !{!"llvm.loop.unroll.count", i32 4}
)";

/// Empty if the kernels are equal, "?" if the text does not parse.
std::string difference(std::string from, const std::string& what, const std::string& instead) {
  std::string changed = from;
  if (!what.empty()) {
    size_t at = changed.find(what);
    if (at == std::string::npos) return "?";
    changed.replace(at, what.size(), instead);
  }
  llvm::LLVMContext context;
  llvm::SMDiagnostic wrong;
  auto left = llvm::parseAssemblyString(from, wrong, context),
       right = llvm::parseAssemblyString(changed, wrong, context);
  if (!left || !right || llvm::verifyModule(*right)) return "?";
  return first_difference(*left->getFunction("k"), *right->getFunction("k")).value_or("");
}

struct Change {
  const char* name;
  const char* what;
  const char* instead;
};
class Rejects : public ::testing::TestWithParam<Change> {};

TEST_P(Rejects, TheChange) {
  std::string found = difference(kKernel, GetParam().what, GetParam().instead);
  EXPECT_NE(found, "");
  EXPECT_NE(found, "?") << "the test's own text is wrong";
}

INSTANTIATE_TEST_SUITE_P(
    Comparator, Rejects,
    ::testing::Values(
        Change{"ChangedConstant", "float %x, 2.0", "float %x, 4.0"},
        Change{"SwappedOperands", "fsub contract float %y, %t", "fsub contract float %t, %y"},
        Change{"DroppedFastMathFlag", "fsub contract float", "fsub float"},
        Change{"AddedFastMathFlag", "fsub contract float", "fsub contract reassoc float"},
        Change{"ConstTableInitialiser", "float 1.0, float 2.0]", "float 1.0, float 2.5]"},
        Change{"VariableInitialiser", "global i32 7", "global i32 8"},
        Change{"AnotherVariable", "ptr addrspace(4) @state, align 4\n  %d", "ptr addrspace(4) @table, align 4\n  %d"},
        Change{"LaunchBounds", "\"nvvm.maxntid\"=\"128\"", "\"nvvm.maxntid\"=\"256\""},
        Change{"NoLaunchBounds", "\"nvvm.maxntid\"=\"128\"", "nounwind"},
        Change{"AnotherCallee", "call float @twice", "call float @thrice"},
        Change{"AnotherLibraryFunction", "%q = call float @__nv_sqrtf(float %d)", "%q = call float @twice(float %d)"},
        Change{"Predicate", "icmp slt", "icmp ult"}, Change{"Inbounds", "getelementptr inbounds", "getelementptr"},
        Change{"ElementType", "{ float, i32 }", "{ float, i64 }"},
        Change{"Alignment", "store float %q, ptr %cell, align 4", "store float %q, ptr %cell, align 2"},
        Change{"Volatile", "%x = load float", "%x = load volatile float"},
        Change{"CallingConvention", "define ptx_kernel", "define"},
        Change{"UnrollCount", "unroll.count\", i32 4", "unroll.count\", i32 8"},
        Change{"BranchTargets", "label %then, label %done", "label %done, label %then"},
        Change{"ParameterAttribute", "ptr %p, i32 %n) #0", "ptr noalias %p, i32 %n) #0"}),
    [](auto& info) { return std::string(info.param.name); });

// One instruction of each kind that keeps something outside its operands.
const char* const kKinds = R"(
declare i32 @personality(...)
declare i32 @called(i32)
declare void @assumed(i1)
define i32 @k(ptr %p, i32 %n, <4 x i32> %v, {i32, [2 x i32]} %r) personality ptr @personality {
entry:
  %room = alloca i32, align 4
  %element = getelementptr i32, ptr %p, i32 %n
  %loaded = load atomic i32, ptr %element acquire, align 4
  store atomic i32 %n, ptr %element release, align 4
  %added = atomicrmw add ptr %p, i32 %n monotonic
  %swapped = cmpxchg weak ptr %p, i32 %n, i32 0 acq_rel monotonic
  fence acquire
  %part = extractvalue {i32, [2 x i32]} %r, 1, 0
  %put = insertvalue {i32, [2 x i32]} %r, i32 %n, 1, 1
  %mixed = shufflevector <4 x i32> %v, <4 x i32> %v, <2 x i32> <i32 0, i32 5>
  %less = icmp slt i32 %part, %n
  call void @assumed(i1 %less) [ "one"(i32 %n, i32 %part), "two"(i32 %n) ]
  %tail = tail call i32 @called(i32 %n)
  switch i32 %n, label %other [ i32 1, label %first
                                i32 2, label %second ]
first:
  br label %join
second:
  br label %join
join:
  %which = phi i32 [ 10, %first ], [ 20, %second ]
  ret i32 %which
other:
  %given = invoke i32 @called(i32 %n) to label %fine unwind label %thrown
fine:
  ret i32 %given
thrown:
  %caught = landingpad {ptr, i32} cleanup
          catch ptr null
  resume {ptr, i32} %caught
})";

class RejectsBesideOperands : public ::testing::TestWithParam<Change> {};

TEST_P(RejectsBesideOperands, TheChange) {
  ASSERT_EQ(difference(kKinds, "", ""), "");
  std::string found = difference(kKinds, GetParam().what, GetParam().instead);
  EXPECT_NE(found, "");
  EXPECT_NE(found, "?") << "the test's own text is wrong";
}

INSTANTIATE_TEST_SUITE_P(
    Comparator, RejectsBesideOperands,
    ::testing::Values(
        Change{"CaseOfASwitch", "i32 1, label %first", "i32 3, label %first"},
        Change{"BlockOfACase", "i32 1, label %first", "i32 1, label %second"},
        Change{"CleanupOfALandingPad", "{ptr, i32} cleanup", "{ptr, i32}"},
        Change{"BlocksOfAPhi", "[ 10, %first ], [ 20, %second ]", "[ 10, %second ], [ 20, %first ]"},
        Change{"TypeOfAnAlloca", "alloca i32", "alloca float"}, Change{"InAlloca", "alloca i32", "alloca inalloca i32"},
        Change{"ElementOfAGep", "getelementptr i32", "getelementptr i64"},
        Change{"OrderOfALoad", "%element acquire", "%element seq_cst"},
        Change{"OrderOfAStore", "%element release", "%element seq_cst"},
        Change{"OperationOfAnAtomic", "atomicrmw add", "atomicrmw sub"},
        Change{"OrderOfAnAtomic", "%n monotonic", "%n acquire"}, Change{"WeakExchange", "cmpxchg weak", "cmpxchg"},
        Change{"OrderOfAFailedExchange", "acq_rel monotonic", "acq_rel acquire"},
        Change{"OrderOfAFence", "fence acquire", "fence release"}, Change{"IndexOfAnExtract", "%r, 1, 0", "%r, 1, 1"},
        Change{"IndexOfAnInsert", "%n, 1, 1", "%n, 1, 0"}, Change{"MaskOfAShuffle", "<i32 0, i32 5>", "<i32 0, i32 6>"},
        Change{"Predicate", "icmp slt", "icmp sgt"}, Change{"TagOfABundle", "\"one\"", "\"three\""},
        Change{"InputsOfABundle", "[ \"one\"(i32 %n, i32 %part), \"two\"(i32 %n) ]",
               "[ \"one\"(i32 %n), \"two\"(i32 %part, i32 %n) ]"},
        Change{"TailCall", "%tail = tail call", "%tail = call"}),
    [](auto& info) { return std::string(info.param.name); });

TEST(Comparator, IgnoresNamesOfLocalsInternalFunctionsAndStructs) {
  EXPECT_EQ(difference(kKernel, "", ""), "");
  std::string renamed = kKernel;
  for (auto [from, to] :
       {std::pair{"%cell", "%other"}, {"@twice", "@zwei"}, {"@table", "@tafel"}, {"%struct.Cell", "%struct.Zelle"}})
    for (size_t at = renamed.find(from); at != std::string::npos; at = renamed.find(from, at + 1))
      renamed.replace(at, strlen(from), to);
  llvm::LLVMContext context;
  llvm::SMDiagnostic wrong;
  auto left = llvm::parseAssemblyString(kKernel, wrong, context),
       right = llvm::parseAssemblyString(renamed, wrong, context);
  ASSERT_TRUE(left && right);
  EXPECT_EQ(first_difference(*left->getFunction("k"), *right->getFunction("k")).value_or(""), "");
}

TEST(Comparator, RejectsExchangedTablesThatTheHostFills) {
  const char* text = R"(
@a = addrspace(4) externally_initialized global float 0.0
@b = addrspace(4) externally_initialized global float 0.0
define ptx_kernel void @k(ptr %p) { %x = load float, ptr addrspace(4) @a
  store float %x, ptr %p
  ret void })";
  EXPECT_NE(difference(text, "ptr addrspace(4) @a", "ptr addrspace(4) @b"), "");
}

TEST(IrClosure, MakesVariablesThatTheHostCanFillExternalAndKeepsTheSourcesConstants) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic wrong;
  auto module = llvm::parseAssemblyString(R"(
@filled = internal addrspace(4) constant float 0.0
@.str = private unnamed_addr addrspace(4) constant [2 x i8] c"a\00"
@fixed = internal addrspace(4) constant float 1.0
@tile = internal addrspace(3) global float undef
@unused = internal addrspace(1) global float 0.0
@llvm.compiler.used = appending global [1 x ptr] [ptr addrspacecast (ptr addrspace(1) @unused to ptr)], section "llvm.metadata"
define ptx_kernel void @k(ptr %p) { %x = load float, ptr addrspace(4) @filled
  %y = load float, ptr addrspace(4) @fixed
  store float %x, ptr addrspace(3) @tile
  %c = load i8, ptr addrspace(4) @.str
  store i8 %c, ptr %p
  store float %y, ptr %p
  ret void }
define ptx_kernel void @other() { ret void })",
                                          wrong, context);
  ASSERT_TRUE(module);
  ASSERT_TRUE(cut_to_kernel(*module, "k", {"fixed"}).ok());
  EXPECT_TRUE(module->getGlobalVariable("filled")->isExternallyInitialized());
  EXPECT_FALSE(module->getGlobalVariable("filled")->hasLocalLinkage());
  EXPECT_FALSE(module->getGlobalVariable("fixed", true)->isExternallyInitialized());
  EXPECT_FALSE(module->getGlobalVariable(".str", true)->isExternallyInitialized());
  EXPECT_TRUE(module->getGlobalVariable("tile", true)->hasLocalLinkage());
  EXPECT_FALSE(module->getGlobalVariable("unused", true));
  EXPECT_FALSE(module->getFunction("other"));
  EXPECT_FALSE(cut_to_kernel(*module, "gone").ok());
}

}  // namespace
}  // namespace kernelift::extractor
