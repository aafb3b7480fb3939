// Recorded values of module variables reach every compiler's image: clang and nvcc spell the same variable differently,
// and clang must not fold an initial value that the host replaces. Real compilers; images are looked at, not run.
#include <gmock/gmock.h>

#include "core/compiler/nvcc_image.h"
#include "core/model/kernel_key.h"
#include "sandbox/compile/compile_pool.h"
#include "sandbox/device/cuda/image_variables.h"
#include "sandbox/evaluate/runner/memory/loaded_code.h"

namespace kernelift::sandbox {
namespace {

constexpr const char* kSource = R"(
static __constant__ float table[16];
__constant__ int plain = 3;
static __device__ float calls;
namespace { __device__ int hidden[2] = {1, 2}; }
namespace ns {
static __constant__ double factor = 2;
template <int N> __device__ int used = 0;
}
__constant__ const int folded[2] = {5, 7};
__global__ void k(float* x) {
  if (threadIdx.x == 0) calls += 1, atomicAdd(&ns::used<4>, hidden[1]);
  x[threadIdx.x] = table[threadIdx.x & 15] * float(ns::factor) + plain + folded[1];
}
)";

struct Wanted {
  const char* clang;
  uint64_t size;
};
constexpr Wanted kVariables[] = {{"_ZL5table", 64},      {"plain", 4},
                                 {"_ZL5calls", 4},       {"_ZN12_GLOBAL__N_16hiddenE", 8},
                                 {"_ZN2nsL6factorE", 8}, {"_ZN2ns4usedILi4EEE", 4}};

void expect_all_found(const std::string& image) {
  auto listed = variables_of_image(image);
  ASSERT_TRUE(listed.ok()) << listed.error().message;
  std::vector<DeviceVariable> variables;
  std::string names;
  for (auto& variable : *listed) {
    variables.push_back({variable.name, 0x1000 + 0x100 * variables.size(), variable.size});
    names += variable.name + " ";
  }
  for (auto& wanted : kVariables) {
    auto* found = find_variable(variables, wanted.clang, "", canonical_key(wanted.clang));
    ASSERT_NE(found, nullptr) << wanted.clang << " among " << names;
    EXPECT_EQ(found->size, wanted.size) << wanted.clang;
  }
}

TEST(ModuleVariables, AreInClangsImageHoweverTheyAreLinked) {
  for (CompileTarget target : {CompileTarget::Ptx, CompileTarget::Cubin}) {
    CompilePoolOptions options;
    options.workers = 1, options.few = true, options.target = target, options.frontend.arch = "sm_90";
    auto pool = CompilePool::start(options);
    ASSERT_TRUE(pool.ok()) << pool.error().message;
    CompileReply reply = (*pool)->compile_own(kSource);
    ASSERT_TRUE(reply.ok()) << reply.detail;
    expect_all_found(reply.image);
  }
}

TEST(VariablesOfNvcc, AreFoundInItsImageByTheirKeys) {
  auto nvcc = NvccCompiler::find({});
  if (!nvcc.ok()) GTEST_SKIP() << nvcc.error().message;
  CompileReply reply = nvcc->compile(kSource, {"k"});
  ASSERT_TRUE(reply.ok()) << reply.detail;
  expect_all_found(reply.image);
}

TEST(ModuleVariables, OfOneKeyAreToldApartByTheirRecordedNameOrNotAtAll) {
  std::vector<DeviceVariable> variables = {{"_ZN32_INTERNAL_0badcafe_4_a_cu_tableE5tableE", 0x100, 4},
                                           {"_ZN32_INTERNAL_0badbeef_4_b_cu_tableE5tableE", 0x200, 4}};
  std::string key = canonical_key(variables[0].name);
  ASSERT_EQ(key, canonical_key(variables[1].name));
  EXPECT_EQ(find_variable(variables, "_ZL5table", "", key), nullptr);
  auto* found = find_variable(variables, "_ZL5table", variables[1].name, key);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->address, 0x200u);
}

}  // namespace
}  // namespace kernelift::sandbox
