// The front end on each feature of the device language, and each of our headers in both passes.
#include "core/compiler/frontend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>

#include <algorithm>
#include <sstream>

#include "core/base/file.h"
#include "core/compiler/clang_job.h"
#include "core/compiler/paths.h"
#include "core/compiler/ptx.h"
#include "core/compiler/tests/device_of.h"
#include "core/tests/slot_folder.h"

namespace kernelift {
namespace {

using testing::HasSubstr;
using testing::Not;

/// Expects that this body compiles inside a kernel, that the IR is valid, and that it contains no inline PTX.
void expect_compiles(const std::string& body, const std::string& before = "") {
  auto device =
      compile(before + "\n__global__ void k(int* p, unsigned* u, long long* l, float* f, double* d, int n) {\n" + body +
              "\n}\n");
  ASSERT_TRUE(device->module) << device->error;
  EXPECT_FALSE(llvm::verifyModule(*device->module, &llvm::errs()));
  for (const llvm::Function& function : *device->module)
    for (const llvm::Instruction& instruction : llvm::instructions(function))
      if (auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction))
        EXPECT_FALSE(call->isInlineAsm()) << function.getName().str();
}

TEST(DeviceLanguage, Barriers) {
  expect_compiles(
      "__syncthreads(); p[0] = __syncthreads_count(n) + __syncthreads_and(n) + __syncthreads_or(n); __syncwarp(); "
      "__syncwarp(3); __threadfence(); __threadfence_block(); __threadfence_system(); __nanosleep(5);");
}
TEST(DeviceLanguage, ShufflesOfEveryType) {
  std::string body;
  for (const char* type :
       {"int", "unsigned", "long", "unsigned long", "long long", "unsigned long long", "float", "double"})
    body += "{ " + std::string(type) +
            " v = threadIdx.x; v = __shfl_sync(~0u, v, 1); v = __shfl_up_sync(~0u, v, 1, 16); "
            "v = __shfl_down_sync(~0u, v, 1); v = __shfl_xor_sync(~0u, v, 1); p[0] = (int)v; }\n";
  expect_compiles(body);
}
TEST(DeviceLanguage, VotesMatchesAndReductions) {
  expect_compiles(
      "int all; p[0] = __all_sync(~0u, n) + __any_sync(~0u, n) + __ballot_sync(~0u, n) + __activemask() + "
      "__match_any_sync(~0u, n) + __match_any_sync(~0u, d[0]) + __match_all_sync(~0u, f[0], &all) + "
      "__reduce_add_sync(~0u, n) + __reduce_max_sync(~0u, 3u) + __reduce_xor_sync(~0u, 3u);");
}
TEST(DeviceLanguage, AtomicsOfEveryTypeAndScope) {
  expect_compiles(
      "atomicAdd(p, 1); atomicAdd(u, 1u); atomicAdd((unsigned long long*)l, 1ull); atomicAdd(f, 1.f); atomicAdd(d, "
      "1.0); "
      "atomicSub(p, 1); atomicMin(l, 3ll); atomicMax(p, 2); atomicAnd(u, 1u); atomicOr(u, 1u); atomicXor(u, 1u); "
      "atomicExch(f, 1.f); atomicExch(p, 2); atomicInc(u, 7u); atomicDec(u, 7u); atomicCAS(p, 1, 2); "
      "atomicCAS((unsigned long long*)l, 1ull, 2ull); atomicCAS((unsigned short*)p, (unsigned short)1, (unsigned "
      "short)2); "
      "atomicAdd_block(p, 1); atomicAdd_system(d, 1.0); atomicCAS_block(p, 1, 2); atomicAdd((float2*)f, make_float2(1, "
      "2));");
}
const char* const kNvAtomics = R"(
  p[0] = __nv_atomic_load_n(p + 1, __NV_ATOMIC_RELAXED);
  __nv_atomic_load(f, f + 1, __NV_ATOMIC_ACQUIRE, __NV_THREAD_SCOPE_DEVICE);
  __nv_atomic_store_n(u, 3, __NV_ATOMIC_RELEASE, __NV_THREAD_SCOPE_BLOCK);
  __nv_atomic_store(d, d + 1, __NV_ATOMIC_SEQ_CST);
  l[1] = __nv_atomic_exchange_n(l, 5, __NV_ATOMIC_ACQ_REL, __NV_THREAD_SCOPE_DEVICE);
  __nv_atomic_exchange(f, f + 1, f + 2, __NV_ATOMIC_RELAXED);
  p[3] = __nv_atomic_compare_exchange_n(p, p + 1, 4, true, __NV_ATOMIC_RELAXED, __NV_ATOMIC_RELAXED);
  p[4] = __nv_atomic_compare_exchange(f, f + 1, f + 2, false, __NV_ATOMIC_ACQ_REL, __NV_ATOMIC_ACQUIRE, __NV_THREAD_SCOPE_DEVICE);
  p[5] = __nv_atomic_fetch_add(p, 1, __NV_ATOMIC_RELAXED) + __nv_atomic_fetch_sub(u, 1, __NV_ATOMIC_RELAXED);
  p[6] = __nv_atomic_fetch_min(l, 1, __NV_ATOMIC_RELAXED) + __nv_atomic_fetch_max((volatile unsigned*)u, 1, __NV_ATOMIC_RELAXED);
  p[7] = __nv_atomic_fetch_or(p, 1, __NV_ATOMIC_RELAXED) + __nv_atomic_fetch_and(p, 1, __NV_ATOMIC_RELAXED) + __nv_atomic_fetch_xor(p, 1, __NV_ATOMIC_RELAXED);
  __nv_atomic_add(f, 1, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_BLOCK);
  __nv_atomic_add(d, 1, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_SYSTEM);
  __nv_atomic_or(u, 1, __NV_ATOMIC_RELAXED);
  __nv_atomic_thread_fence(__NV_ATOMIC_SEQ_CST, __NV_THREAD_SCOPE_BLOCK);
)";
TEST(DeviceLanguage, NvccsAtomicBuiltins) { expect_compiles(kNvAtomics); }
TEST(DeviceLanguage, CachedLoadsAndStores) {
  expect_compiles(
      "p[0] = __ldg(p + 1) + __ldcg(p) + __ldca(p) + __ldcs(p) + __ldcv(p); float4 v = __ldg((float4*)f); "
      "__stcs((float4*)f + 1, v); "
      "__stcg(p, 1); __stwt(p, 2); __stwb(d, 1.0); double2 w = __ldcs((double2*)d); d[4] = w.x;");
}
TEST(DeviceLanguage, IntegerIntrinsics) {
  expect_compiles(
      "p[0] = __popc(n) + __popcll(l[0]) + __clz(n) + __clzll(l[0]) + __ffs(n) + __ffsll(l[0]) + __brev(n) + "
      "__mulhi(n, n) + "
      "__umulhi(n, n) + __mul24(n, n) + __umul24(n, n) + __byte_perm(n, n, 0x3210) + __funnelshift_l(n, n, 3) + "
      "__funnelshift_rc(n, n, 40) + __dp4a(n, n, n) + __sad(n, n, 1) + __hadd(n, n) + __rhadd(n, n) + "
      "__vadd4(n, n) + __vmaxu2(n, n) + __vabsdiffu4(n, n) + __vcmpgts4(n, n) + __vsadu4(n, n) + __vavgu4(n, n); "
      "l[0] = __mul64hi(l[0], l[1]) + __brevll(l[0]);");
}
TEST(DeviceLanguage, FloatIntrinsicsAndConversions) {
  expect_compiles(
      "f[0] = __fadd_rn(f[1], f[2]) + __fmul_rz(f[1], f[2]) + __fmaf_rn(f[0], f[1], f[2]) + __fdividef(f[0], f[1]) + "
      "__expf(f[0]) + "
      "__logf(f[0]) + __sinf(f[0]) + __cosf(f[0]) + __powf(f[0], f[1]) + __saturatef(f[0]) + __frsqrt_rn(f[0]) + "
      "__fsqrt_rn(f[0]) + "
      "__frcp_rn(f[0]) + __int_as_float(n) + __int2float_rn(n) + __exp10f(f[0]) + __log2f(f[0]) + __tanf(f[0]) + "
      "__fdiv_rn(f[0], f[1]); "
      "p[0] = __float2int_rn(f[0]) + __float_as_int(f[0]) + __float2int_rz(f[0]) + __double2int_rn(d[0]) + "
      "__double2hiint(d[0]); "
      "d[0] = __dadd_rn(d[0], d[1]) + __longlong_as_double(l[0]) + __hiloint2double(1, 2) + __fma_rn(d[0], d[1], "
      "d[2]); "
      "l[0] = __double_as_longlong(d[0]) + __double2ll_rn(d[0]); float s, c; __sincosf(f[0], &s, &c); f[1] = s + c;");
}
TEST(DeviceLanguage, Mathematics) {
  expect_compiles(
      "f[0] = sqrtf(f[1]) + rsqrtf(f[1]) + fmaf(f[0], f[1], f[2]) + powf(f[0], f[1]) + sinf(f[0]) + tanhf(f[0]) + "
      "erff(f[0]) + "
      "lgammaf(f[0]) + cbrtf(f[0]) + fmodf(f[0], f[1]) + hypotf(f[0], f[1]) + exp10f(f[0]) + sinpif(f[0]) + "
      "normcdff(f[0]) + rsqrt(f[0]) + "
      "std::sqrt(f[0]) + std::pow(f[0], 2.0f) + std::abs(f[0]) + abs(f[0]) + sin(f[0]) + exp(f[0]) + floorf(f[0]) + "
      "rintf(f[0]) + fabsf(f[0]); "
      "d[0] = sqrt(d[1]) + pow(d[0], 2) + exp(d[0]) + log1p(d[0]) + std::max(d[0], d[1]) + fmax(d[0], d[1]) + "
      "min(d[0], 1.0f) + atan2(d[0], d[1]); "
      "p[0] = isnan(f[0]) + isinf(d[0]) + std::isfinite(f[0]) + signbit(f[0]) + min(n, 3) + max(1u, 2u) + max(n, 3u) + "
      "min(l[0], 4ll) + std::min(n, 3) + abs(n);");
}
TEST(DeviceLanguage, MathematicsStaysLibdeviceCalls) {
  auto device = compile("__global__ void k(float* f, double* d) { f[0] = sinf(f[1]); d[0] = exp(d[1]); }");
  ASSERT_TRUE(device->module) << device->error;
  EXPECT_TRUE(device->module->getFunction("__nv_sinf"));
  EXPECT_TRUE(device->module->getFunction("__nv_exp"));
}
TEST(DeviceLanguage, FastMathUsesTheFunctionsThatNvccUses) {
  const std::string text =
      "__global__ void k(float* f, double* d) {\n  f[0] = sinf(f[1]) + cosf(f[1]) + tanf(f[1]) + expf(f[1]) + "
      "exp10f(f[1]) + logf(f[1]) + "
      "log2f(f[1]) + log10f(f[1]) + std::pow(f[1], f[2]) + __expf(f[2]); d[0] = exp(d[1]); }";
  for (bool fast : {true, false}) {
    auto device = compile(text, with([&](auto& o) {
                            if (fast) o.flags.push_back("-fgpu-approx-transcendentals");
                          }));
    ASSERT_TRUE(device->module) << device->error;
    for (const char* name : {"sinf", "cosf", "tanf", "expf", "exp10f", "logf", "log2f", "log10f", "powf"})
      EXPECT_TRUE(device->module->getFunction(std::string(fast ? "__nv_fast_" : "__nv_") + name)) << name;
    EXPECT_EQ(device->module->getFunction("__nv_expf") == nullptr, fast);
    EXPECT_TRUE(device->module->getFunction("__nv_exp"));
  }
}
TEST(DeviceLanguage, ApproximateDivisionIsOfFloatsAlone) {
  auto device = compile("__global__ void k(float* f, double* d) { f[0] /= f[1]; d[0] /= d[1]; }",
                        with([](auto& o) { o.flags.insert(o.flags.end(), {"-Xarch_device", "-freciprocal-math"}); }));
  ASSERT_TRUE(device->module) << device->error;
  int divisions = 0;
  for (auto& instruction : llvm::instructions(*device->module->getFunction("_Z1kPfPd")))
    if (instruction.getOpcode() == llvm::Instruction::FDiv) {
      ++divisions;
      EXPECT_EQ(instruction.hasAllowReciprocal(), instruction.getType()->isFloatTy());
    }
  EXPECT_EQ(divisions, 2);
}
TEST(DeviceLanguage, MemoryAndVariables) {
  expect_compiles(
      "extern __shared__ double dynamic[]; __shared__ float tile[32][33]; tile[threadIdx.y][threadIdx.x] = table[n]; "
      "dynamic[0] = counter; "
      "managed_value = 3; void* h = malloc(8); free(h); int* o = new int(3); delete o; p[0] = __isGlobal(p) + "
      "__isShared(tile); "
      "memcpy(p, u, 16); memset(p, 0, 4);",
      "__constant__ float table[4]; __device__ int counter; __managed__ int managed_value; static __device__ const "
      "float k2[] = {1, 2};");
}
TEST(DeviceLanguage, PrintAssertAndTrap) {
  expect_compiles(
      "printf(\"%d %f\\n\", n, f[0]); assert(n > 0); if (n < 0) __trap(); p[0] = (int)clock64() + (int)clock(); "
      "__builtin_assume(n > 0);",
      "#include <assert.h>\n#include <stdio.h>");
}
TEST(DeviceLanguage, TemplatesLambdasAndFunctionPointers) {
  expect_compiles("auto twice = [=] __device__(int v) { return v * n; }; p[0] = apply(twice, 3) + table[n & 1](n); ",
                  "template <class F> __device__ int apply(F f, int v) { return f(v); }\n"
                  "__device__ int one(int v) { return v; } __device__ int two(int v) { return 2 * v; }\n"
                  "typedef int (*Function)(int); __device__ Function table[2] = {one, two};\n"
                  "template <class T, int N> __global__ void __launch_bounds__(128, 2) generic(const __grid_constant__ "
                  "int c, T* t) { t[N] = c; }\n"
                  "template __global__ void generic<float, 3>(const int, float*);");
}
TEST(DeviceLanguage, HalfAndBfloat16) {
  expect_compiles(
      "half h = __float2half(f[0]); h = h * h + __hfma(h, h, half(1.0f)); half2 h2 = __half2half2(h); h2 = __hmul2(h2, "
      "h2); f[0] = __low2float(h2); "
      "atomicAdd((half*)p, h); h = __shfl_xor_sync(~0u, h, 1); if (h > half(0)) h = hexp(h); __nv_bfloat16 b = "
      "__float2bfloat16(f[1]); "
      "b = b + b; f[1] = __bfloat162float(b) + __half2float(h);",
      "#include <cuda_fp16.h>\n#include <cuda_bf16.h>");
}
TEST(DeviceLanguage, CooperativeGroups) {
  expect_compiles(
      "auto b = cg::this_thread_block(); auto t = cg::tiled_partition<8>(b); auto w = cg::tiled_partition<32>(b); "
      "b.sync(); cg::this_grid().sync(); "
      "p[b.thread_rank()] = cg::reduce(w, n, cg::plus<int>()) + t.shfl_down(n, 2) + t.ballot(1) + "
      "cg::coalesced_threads().size() + cg::inclusive_scan(t, n); t.sync();",
      "#include <cooperative_groups.h>\n#include <cooperative_groups/reduce.h>\n#include "
      "<cooperative_groups/scan.h>\nnamespace cg = cooperative_groups;");
}
TEST(DeviceLanguage, FetchesArePtxsOwnAndSurfaceReadsStayBehindTheWritesBeforeThem) {
  auto device = compile(
      "__global__ void k(cudaTextureObject_t t, cudaSurfaceObject_t s, float* f) {\n"
      "  f[0] = tex2D<float>(t, 1.f, 2.f) + surf1Dread<float>(s, 4); }");
  ASSERT_TRUE(device->module) << device->error;
  EXPECT_THAT(device->ir(), HasSubstr("asm \"tex.2d.v4.f32.f32"));
  EXPECT_THAT(device->ir(), HasSubstr("asm sideeffect \"suld.b.1d.b32.trap"));
}

/// For the oldest architecture that Makefiles name, which lacks some warp operations: cooperative groups compile all
/// the same.
TEST(Frontend, DefinesWhatNvccDefinesInTheDevicePass) {
  auto device = compile(
      "#include <cooperative_groups.h>\n#if __CUDA_ARCH__ != 600 || !defined(__NVCC__) || !defined(__CUDACC__) || "
      "__CUDACC_VER_MAJOR__ != 13\n"
      "#error wrong\n#endif\n",
      with([](auto& o) { o.arch = "sm_60"; }));
  EXPECT_TRUE(device->module) << device->error;
}
/// Applications define problem sizes so on the command line. T and U are names in nvcc's own headers too.
TEST(Frontend, LeavesOneLetterNamesToTheApplication) {
  std::vector<std::string> flags;
  for (char letter = 'A'; letter <= 'Z'; ++letter)
    if (letter != 'T' && letter != 'U') flags.push_back(std::string("-D") + letter + "=4");
  auto device = compile(
      "#include <cooperative_groups.h>\n#include <cuda_bf16.h>\n#include <hip/hip_runtime.h>\n#include "
      "<cuda_fp16.h>\n#include <cmath>\n"
      "__global__ void k(int* p) { p[0] = A + Z; }",
      with([&](auto& o) { o.flags = flags; }));
  EXPECT_TRUE(device->module) << device->error;
}
TEST(Frontend, GivesUnoptimisedIrThatPassesMayOptimise) {
  auto device =
      compile("__device__ int f(int a) { int b = a; return b + 1; }\n__global__ void k(int* p) { p[0] = f(p[1]); }");
  ASSERT_TRUE(device->module) << device->error;
  EXPECT_THAT(device->ir(), Not(HasSubstr("optnone")));
  EXPECT_THAT(device->ir(), HasSubstr("llvm.lifetime.start"));
  EXPECT_THAT(device->ir(), HasSubstr("!tbaa"));
  EXPECT_THAT(device->ir(), HasSubstr("DILocation"));
}
TEST(Frontend, ContractsMultiplyAddsUnlessTold) {
  const char* source = "__global__ void k(float* f) { f[0] = f[1] * f[2] + f[3]; }";
  EXPECT_THAT(compile(source)->ir(), HasSubstr("fmul contract"));
  EXPECT_THAT(compile(source, with([](auto& o) { o.flags = {"-ffp-contract=off"}; }))->ir(),
              Not(HasSubstr("fmul contract")));
  const char* separate =
      "#include <cuda_fp16.h>\n__global__ void k(__half2* h) { h[0] = __hadd2_rn(__hmul2_rn(h[1], h[2]), h[3]); }";
  EXPECT_THAT(compile(separate)->ir(),
              AllOf(HasSubstr("fmul half"), HasSubstr("fadd half"), Not(HasSubstr("= fmul contract half"))));
}
/// Otherwise the caller's relative paths would change their meaning.
TEST(Frontend, KeepsTheProcesssWorkingFolder) {
  SlotFolder folder;
  auto before = std::filesystem::current_path();
  EXPECT_TRUE(compile("__global__ void k() {}", with([&](auto& o) { o.folder = folder.path().string(); }))->module);
  EXPECT_EQ(std::filesystem::current_path(), before);
}
TEST(Frontend, ErrorsNameTheCallersFileAndLine) {
  auto device =
      compile("\n__global__ void k(float* f) { f[0] = nothing; }", with([](auto& o) { o.file_name = "src/app.cu"; }));
  ASSERT_FALSE(device->module);
  EXPECT_THAT(device->error, HasSubstr("src/app.cu:2:"));
}
TEST(Frontend, CompilesHipThroughTheThinHeader) {
  auto device = compile(
      "#include <hip/hip_runtime.h>\n__global__ void k(float* f) { f[hipThreadIdx_x] = __shfl_down(f[0], 1); }\n"
      "void go(float* f) { hipLaunchKernelGGL(k, dim3(1), dim3(2), 0, 0, f); hipMalloc(&f, 4); }",
      with([](auto& o) { o.language = "hip"; }));
  EXPECT_TRUE(device->module) << device->error;
}
TEST(Frontend, GivesHipsVectorsTheirArithmeticAndLeavesTheApplicationsOwn) {
  const char* source = R"(
#include <hip/hip_complex.h>
__device__ float4 operator*(float4 a, float b) { return make_float4(a.x * b, 0, 0, 0); }
__global__ void k(float4* f, uchar4* c, int3* i, double2* d, bool* b, hipFloatComplex* z) {
  f[0] = f[1] + f[2] * 2.0f - f[3] / 3;
  c[0] ^= c[1], c[1] = ~c[2];
  i[0] += 4, i[1] = 3 - i[2] % 5 << 2;
  d[0] = -d[1] * 2;
  b[0] = f[0] == f[1], b[1] = i[0] != i[1];
  z[0] = hipCmulf(hipCaddf(z[1], z[2]), make_hipFloatComplex(hipCabsf(z[3]), 0));
}
int host() { int n; return hipDeviceGetAttribute(&n, hipDeviceAttributeConcurrentManagedAccess, 0); }
)";
  for (const char* standard : {"-std=c++11", "-std=c++20"}) {
    auto device = compile(source, with([&](auto& o) { o.language = "hip", o.flags = {standard}; }));
    EXPECT_TRUE(device->module) << device->error;
  }
}
/// Parses all of CUB, which takes seconds.
TEST(FrontendWithToolkit, CompilesHipcubAndRocthrustByTheToolkitsLibraries) {
  if (!cuda_toolkit()) GTEST_SKIP() << "no CUDA toolkit";
  // Without an include of HIP's runtime: hipCUB and rocThrust include it.
  auto device = compile(
      "#include <hipcub/block/block_reduce.hpp>\n#include <thrust/functional.h>\n"
      "__global__ void k(int* p) { typedef hipcub::BlockReduce<int, 128> B; __shared__ typename B::TempStorage t;\n"
      "  p[0] = B(t).Reduce(p[threadIdx.x], thrust::maximum<int>());\n"
      "  p[1] = hipcub::Sum()(p[0], 1) + hipcub::Max()(p[0], 2) + hipcub::Min()(p[0], 3) + hipcub::Equality()(p[0], "
      "4); }\nvoid host(int* p) { (void)hipFree(p); }\n",
      with([](auto& o) { o.language = "hip", o.headers = HeaderSet::Toolkit, o.flags = {"-std=c++17"}; }));
  EXPECT_TRUE(device->module) << device->error;
}
TEST(Frontend, HasTheAccessesWithCacheHintsThatClangLacksBesideTheToolkitsHeaders) {
  if (!cuda_toolkit()) GTEST_SKIP() << "no CUDA toolkit";
  auto device = compile(
      "__global__ void k(float* p, float4* q, int* n) {\n"
      "  __stcs(p, __ldca(p + 1)); __stcg(q, q[1]); __stwb(n, __ldcs(n + 1)); __stwt(n + 2, __ldlu(n + 3));\n"
      "}\n",
      with([](auto& o) { o.headers = HeaderSet::Toolkit; }));
  EXPECT_TRUE(device->module) << device->error;
}
TEST(Frontend, WritesPtxWithTheToolkitsLibdevice) {
  if (!cuda_toolkit()) GTEST_SKIP() << "no CUDA toolkit";
  auto device = compile("__global__ void k(float* f) { f[threadIdx.x] = sinf(f[threadIdx.x]); }");
  ASSERT_TRUE(device->module) << device->error;
  ASSERT_TRUE(link_libdevice(*device->module).ok());
  ASSERT_TRUE(optimize_for_ptx(*device->module, "sm_90").ok());
  auto ptx = emit_ptx(*device->module, "sm_90");
  ASSERT_TRUE(ptx.ok());
  EXPECT_THAT(*ptx, HasSubstr(".entry _Z1kPf"));
  EXPECT_THAT(*ptx, Not(HasSubstr("__nv_sinf")));
}
TEST(Frontend, ComputesSquareRootsAsPreciselyAsNvcc) {
  if (!cuda_toolkit()) GTEST_SKIP() << "no CUDA toolkit";
  for (bool precise : {true, false}) {
    auto device = compile("__global__ void k(float* f) { f[threadIdx.x] = sqrtf(f[threadIdx.x]); }");
    ASSERT_TRUE(device->module) << device->error;
    ASSERT_TRUE(link_libdevice(*device->module, precise).ok());
    ASSERT_TRUE(optimize_for_ptx(*device->module, "sm_90").ok());
    auto ptx = emit_ptx(*device->module, "sm_90");
    ASSERT_TRUE(ptx.ok());
    EXPECT_THAT(*ptx, HasSubstr(precise ? "sqrt.rn.f32" : "sqrt.approx.f32"));
  }
}
TEST(Frontend, FusesAProductWithAllSumsThatUseItOrWithNone) {
  auto count = [](const std::string& body, const std::string& what) {
    auto device = compile(
        "__global__ void k(const float* f, float* g) { float x = f[0], y = f[1], z = f[2], w = f[3], t = x * y; " +
        body + " }");
    EXPECT_TRUE(device->module) << device->error;
    EXPECT_TRUE(device->module && optimize_for_ptx(*device->module, "sm_90").ok());
    std::string ptx = *emit_ptx(*device->module, "sm_90");
    int found = 0;
    for (size_t at = 0; (at = ptx.find(what, at)) != ptx.npos; ++at) ++found;
    return found;
  };
  EXPECT_EQ(count("g[0] = t; g[1] = t - z;", "fma.rn"), 0);
  EXPECT_EQ(count("g[0] = t; g[1] = t - z;", "mul.rn.f32"), 1) << "ptxas must not fuse it either";
  EXPECT_EQ(count("g[0] = t + w; g[1] = z - t;", "fma.rn"), 2);
  EXPECT_EQ(count("g[0] = 1 - t; g[1] = z * w - t;", "fma.rn"), 1) << "z * w is fused, with t as its addend";
  EXPECT_EQ(count("g[0] = t + z * w; g[1] = t - z * w;", "fma.rn"), 2);
}
TEST(Frontend, KeepsWhatStreamsPastTheCache) {
  auto device = compile(
      "__global__ void k(const float* a, float4* b, double* c, long long* d, short* e, const float* f) {\n"
      "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
      "  __stcs(c + i, (double)__ldcs(a + i)); __stcs(b + 2 * i, __ldcs(b + 2 * i + 1));\n"
      "  __stcs(d + i, __ldcs(d + i + 1)); __stcs(e + i, (short)f[i]);\n}");
  ASSERT_TRUE(device->module) << device->error;
  ASSERT_TRUE(optimize_for_ptx(*device->module, "sm_90").ok());
  auto ptx = emit_ptx(*device->module, "sm_90");
  ASSERT_TRUE(ptx.ok());
  for (const char* access : {"ld.global.cs.f32", "st.global.cs.f64", "ld.global.cs.v4.f32", "st.global.cs.v4.f32",
                             "ld.global.cs.b64", "st.global.cs.b64", "st.global.cs.b16"})
    EXPECT_THAT(*ptx, HasSubstr(access));
  EXPECT_THAT(*ptx, HasSubstr("ld.global.b32")) << "a plain load stays one";
}
void expect_atomic_builtins_as_ptx(HeaderSet headers) {
  std::string source =
      std::string("__global__ void k(int* p, unsigned* u, long long* l, float* f, double* d) {") + kNvAtomics + "}";
  auto device = compile(source, with([&](auto& o) { o.headers = headers, o.debug_lines = false; }));
  ASSERT_TRUE(device->module) << device->error;
  ASSERT_TRUE(optimize_for_ptx(*device->module, "sm_90").ok());
  auto ptx = emit_ptx(*device->module, "sm_90");
  ASSERT_TRUE(ptx.ok());
  EXPECT_THAT(*ptx, HasSubstr("atom.acq_rel.sys.global.cas.b32"));
  EXPECT_THAT(*ptx, HasSubstr("ld.acquire.sys.global.b32"));
  EXPECT_THAT(*ptx, testing::ContainsRegex("fence.acq_rel.sys;\n[^\n]*atom.global.exch.b64"));
  EXPECT_THAT(*ptx, Not(HasSubstr("call"))) << "a library call, or not inlined";
}
TEST(Frontend, WritesNvccsAtomicBuiltinsAsPtx) { expect_atomic_builtins_as_ptx(HeaderSet::Lean); }
TEST(FrontendWithToolkit, WritesNvccsAtomicBuiltinsAsPtx) {
  if (!cuda_toolkit()) GTEST_SKIP() << "no CUDA toolkit";
  expect_atomic_builtins_as_ptx(HeaderSet::Toolkit);
}
TEST(Frontend, FindsGccsOmpHeader) {
  bool has = std::filesystem::exists("/usr/lib/gcc/x86_64-linux-gnu/" + std::to_string(__GNUC__) + "/include/omp.h") ||
             std::filesystem::exists("/usr/lib/gcc/x86_64-linux-gnu/12/include/omp.h");
  if (!has) GTEST_SKIP() << "GCC's omp.h is not installed";
  auto device = compile(
      "#include <omp.h>\n#include <stddef.h>\n__global__ void k(size_t* p) { p[0] = 1; }\nint host() { return "
      "omp_get_max_threads(); }",
      with([](auto& o) { o.flags = {"-fopenmp"}; }));
  EXPECT_TRUE(device->module) << device->error;
}
TEST(FrontendWithToolkit, CompilesWithTheToolkitsHeaders) {
  if (!cuda_toolkit()) GTEST_SKIP() << "no CUDA toolkit";
  auto device = compile(
      "#include <cub/warp/warp_reduce.cuh>\n__global__ void k(float* f) { typedef cub::WarpReduce<float> R; __shared__ "
      "R::TempStorage t; f[0] = R(t).Sum(f[1]); }\n"
      "int host(float f) { return max(1, 2) + min(1u, 2u) + isfinite(f); }\n"
      "double seconds() { clock_t now = clock(); char b[4]; memset(b, 0, sizeof b); return now / "
      "double(CLOCKS_PER_SEC); "
      "}",
      with([](auto& o) {
        o.headers = HeaderSet::Toolkit;
        o.flags = {"-std=c++17"};
      }));
  EXPECT_TRUE(device->module) << device->error;
}

/// True if a header begins by including cuda_runtime.h, itself or through another of our headers.
bool begins_with_the_runtime(const std::filesystem::path& header) {
  std::istringstream lines(*read_text(header));
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.starts_with("//") || line == "#pragma once") continue;
    if (!line.starts_with("#include ")) return false;
    std::string name = line.substr(10, line.find_first_of(">\"", 10) - 10);
    if (name == "cuda_runtime.h") return true;
    auto beside = line[9] == '"' ? header.parent_path() / name : lean_headers() / name;
    return std::filesystem::exists(beside) && begins_with_the_runtime(beside);
  }
  return false;
}

/// Sources that include the headers of ours that an application may include, each header twice: one source for each
/// header with content of its own, and one source for all headers that only include another. With each source: true if
/// cuda_runtime.h may be included before it.
std::vector<std::pair<std::string, bool>> header_sources() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(lean_headers())) {
    std::string name = entry.path().lexically_relative(lean_headers()).string();
    // bits/ holds headers that only the C++ library's own headers include; curand_kernel.h includes the toolkit's.
    bool inside = name.starts_with("kernelift/") || name.starts_with("bits/") || name == "curand_kernel.h";
    if (entry.is_regular_file() && entry.path().extension() == ".h" && !inside) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  std::vector<std::pair<std::string, bool>> sources(1);
  for (const std::string& name : names) {
    constexpr int kForwarderLines = 3;
    std::string text = *read_text(lean_headers() / name), include = "#include <" + name + ">\n";
    if (std::count(text.begin(), text.end(), '\n') <= kForwarderLines) sources[0].first += include;
    else sources.emplace_back(include + include, begins_with_the_runtime(lean_headers() / name));
  }
  return sources;
}

/// Nearly all of the time goes into cuda_runtime.h, which is therefore precompiled for headers that begin by including
/// it.
TEST(LeanHeaders, EachCompilesAloneInBothPasses) {
  auto sources = header_sources();
  ASSERT_GT(sources.size(), 10u);
  auto folder = TemporaryFolder::create("kernelift-headers");
  ASSERT_TRUE(folder.ok());
  const std::string precompiled = folder->path() / "runtime.pch";
  const VirtualFile runtime{"/runtime.cu", "#include <cuda_runtime.h>\n"};
  for (const char* pass : {"--cuda-device-only", "--cuda-host-only"}) {
    std::vector<std::string> driver = frontend_arguments({});
    std::replace(driver.begin(), driver.end(), std::string("--cuda-device-only"), std::string(pass));
    // Without the forced header: a header must bring what it needs.
    auto forced = std::find(driver.begin(), driver.end(), "cuda_runtime.h");
    driver.erase(forced - 1, forced + 1);
    // The older standard is enough, and takes half the time, because <cmath> includes more in C++17.
    driver.insert(driver.end(), {"-std=c++14", "-fsyntax-only", "/header.cu"});
    auto jobs = clang_jobs(driver);
    ASSERT_TRUE(jobs.ok());
    const std::vector<std::string>& alone = jobs->front();
    std::vector<std::string> making = alone, after = alone;
    std::replace(making.begin(), making.end(), std::string("-fsyntax-only"), std::string("-emit-pch"));
    making.insert(making.begin(), {"-o", precompiled});
    making.back() = runtime.path;
    after.insert(after.begin(), {"-include-pch", precompiled, "-fno-validate-pch"});
    auto made = run_clang_job(making, {runtime});
    ASSERT_TRUE(made.ok()) << made.error().message;
    for (const auto& [source, begins] : sources) {
      auto compiled = run_clang_job(begins ? after : alone, {{"/header.cu", source}, runtime});
      EXPECT_TRUE(compiled.ok()) << source << ' ' << pass << '\n' << (compiled.ok() ? "" : compiled.error().message);
    }
  }
}

TEST(Frontend, CompilesInAFolderReachedThroughASymbolicLink) {
  auto folder = TemporaryFolder::create("kernelift-frontend");
  ASSERT_TRUE(folder.ok());
  const auto here = std::filesystem::current_path(), link = folder->path() / "link";
  std::filesystem::create_directory(folder->path() / "real");
  std::filesystem::create_directory_symlink("real", link);
  const char* before = std::getenv("PWD");
  const std::string kept = before ? before : here.string();
  std::filesystem::current_path(link);
  setenv("PWD", link.c_str(), 1);  // As a shell does; LLVM uses it.
  auto device = compile("__global__ void k(int* p) { *p = 1; }\n");
  std::filesystem::current_path(here);
  setenv("PWD", kept.c_str(), 1);
  EXPECT_TRUE(device->module) << device->error;
}

TEST(LeanHeaders, KeepTheSpecialFunctionsOfHostCodeInBothPasses) {
  std::string source =
      "#include <cmath>\n__global__ void k(float* x) { x[0] = sqrtf(x[0]); }\n"
      "double f(double (*g)(unsigned, double)) { return std::riemann_zeta(2.0) + std::beta(1.0f, 2) + std::hermitef(3, "
      "1.5f)\n"
      "  + g(1, 2) + std::ellint_3(1, 2.0, 3.0f); }\ndouble h() { return f(std::sph_bessel<double>); }\n";
  for (const char* pass : {"--cuda-device-only", "--cuda-host-only"}) {
    std::vector<std::string> driver = frontend_arguments({});
    std::replace(driver.begin(), driver.end(), std::string("--cuda-device-only"), std::string(pass));
    driver.insert(driver.end(), {"-fsyntax-only", "/special.cu"});
    auto jobs = clang_jobs(driver);
    ASSERT_TRUE(jobs.ok());
    auto compiled = run_clang_job(jobs->front(), {{"/special.cu", source}});
    EXPECT_TRUE(compiled.ok()) << pass << '\n' << (compiled.ok() ? "" : compiled.error().message);
  }
}

TEST(LeanHeaders, OfferTheRuntimeApiToPlainHostSources) {
  std::string source =
      "#include <cuda_runtime.h>\n#include <cuda_fp16.h>\nstatic_assert(sizeof(cudaDeviceProp) == 1008, \"\");\n"
      "static_assert(cudaErrorAssert == 710 && cudaErrorIllegalAddress == 700 && "
      "cudaDevAttrMaxSharedMemoryPerBlockOptin == 97, \"\");\n"
      "static_assert(alignof(float4) == 16 && alignof(double4) == 16 && sizeof(float3) == 12, \"\");\n"
      "int main() { float* p; cudaStream_t s; cudaStreamCreate(&s); return cudaMalloc(&p, 4) + "
      "(int)(float)__half(1.0f); }\n";
  auto jobs = clang_jobs({"-x", "c++", "-isystem", lean_headers().string(), "-fsyntax-only", "/plain.cpp"});
  ASSERT_TRUE(jobs.ok());
  auto compiled = run_clang_job(jobs->front(), {{"/plain.cpp", source}});
  EXPECT_TRUE(compiled.ok()) << (compiled.ok() ? "" : compiled.error().message);
}

}  // namespace
}  // namespace kernelift
