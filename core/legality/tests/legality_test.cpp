#include "core/legality/legality.h"
#include <gtest/gtest.h>
#include <chrono>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include "core/compiler/frontend.h"
#include "core/compiler/model/model_builder.h"
namespace kernelift::legality {
KernelModel model(const std::string& source, Dim3 block) {
  llvm::LLVMContext context;
  auto ir = compile_to_device_ir(context, source, {});
  EXPECT_TRUE(ir.ok()) << ir.error().message;
  std::string name;
  for (auto& fn : *ir->module) if (!fn.isDeclaration() && fn.getCallingConv()==llvm::CallingConv::PTX_Kernel) name = fn.getName().str();
  return *build_kernel_model(*ir->module, name, block);
}
std::string show(const Answer& a) {
  const char* k[] = {"proven", "premise", "refuted", "not known"};
  return std::string(k[int(a.kind)]) + (a.premise ? " if " + a.premise->text() : "") + ": " + a.why;
}
TEST(X, Diff) {
  const char* s = R"(__global__ void diff(const float* x, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  const bool last = i == n - 1;
  if (last) out[i] = 0.0f; else out[i] = x[i + 1] - x[i];
})";
  Names names{{"arg.a0","x"},{"arg.a1","out"},{"arg.a2","n"}};
  auto grid = [](int b) { return std::array<std::optional<Expression>,3>{*Expression::parse("ceil_div(arg.a2, " + std::to_string(b) + ")"), *Expression::parse("1"), *Expression::parse("1")}; };
  auto o = model(s, {128,1,1}), c = model(s, {1024,1,1});
  std::puts(show(compare_memory({o, {{128,1,1}, grid(128)}}, {c, {{1024,1,1}, grid(1024)}}, names)).c_str());
  std::puts(show(compare_memory({o, {{128,1,1}, grid(128)}}, {o, {{128,1,1}, grid(128)}}, names)).c_str());
  auto d = model(s, {64,1,1});
  std::puts(show(compare_memory({o, {{128,1,1}, grid(128)}}, {d, {{64,1,1}, grid(64)}}, names)).c_str());
  const char* g = R"(__global__ void diff(const float* x, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = x[i] ;
})";
  auto p = model(g, {128,1,1}), q = model(g, {1024,1,1});
  std::puts(show(compare_memory({p, {{128,1,1}, grid(128)}}, {q, {{1024,1,1}, grid(1024)}}, names)).c_str());
  const char* st = R"(__global__ void diff(const float* x, float* out, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) out[i] = x[i] ;
})";
  auto t = model(st, {128,1,1}), u = model(st, {1024,1,1});
  std::puts(show(compare_memory({t, {{128,1,1}, {}}}, {u, {{1024,1,1}, {}}}, names)).c_str());
  std::puts(show(compare_memory({p, {{128,1,1}, grid(128)}}, {u, {{1024,1,1}, grid(4096)}}, names)).c_str());
}
TEST(X, More) {
  auto run = [](const char* what, const std::string& a, Dim3 ab, std::array<const char*,3> ag, const std::string& b, Dim3 bb, std::array<const char*,3> bg) {
    auto g = [](auto& t) { std::array<std::optional<Expression>,3> r; for (int i=0;i<3;++i) r[i] = *Expression::parse(t[i]); return r; };
    auto o = model(a, ab), c = model(b, bb);
    auto s = std::chrono::steady_clock::now();
    auto ans = compare_memory({o, {ab, g(ag)}}, {c, {bb, g(bg)}}, {});
    std::printf("%s: %s  [%.1f ms]\n", what, show(ans).c_str(), std::chrono::duration<double>(std::chrono::steady_clock::now()-s).count()*1e3);
    if (getenv("V")) std::puts(to_text(c).c_str());
  };
  std::string naive = R"(__global__ void mm(const float* a, const float* b, float* c, int n) {
  int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && j < n) { float s = 0; for (int k = 0; k < n; ++k) s += a[i * n + k] * b[k * n + j]; c[i * n + j] = s; }
})";
  std::string tiled = R"(__global__ void mm(const float* a, const float* b, float* c, int n) {
  __shared__ float ta[16][16], tb[16][16];
  int r = blockIdx.y * 16 + threadIdx.y, q = blockIdx.x * 16 + threadIdx.x;
  float s = 0;
  for (int t = 0; t < n; t += 16) {
    ta[threadIdx.y][threadIdx.x] = r < n && t + threadIdx.x < n ? a[r * n + t + threadIdx.x] : 0.0f;
    tb[threadIdx.y][threadIdx.x] = q < n && t + threadIdx.y < n ? b[(t + threadIdx.y) * n + q] : 0.0f;
    __syncthreads();
    for (int k = 0; k < 16; ++k) s += ta[threadIdx.y][k] * tb[k][threadIdx.x];
    __syncthreads();
  }
  if (r < n && q < n) c[r * n + q] = s;
})";
  std::string unguarded = tiled; unguarded.replace(unguarded.find("r < n && t + threadIdx.x < n ? a[r * n + t + threadIdx.x] : 0.0f"), 64, "a[r * n + t + threadIdx.x]");
  std::array<const char*,3> g16{"ceil_div(arg.a3, 16)","ceil_div(arg.a3, 16)","1"}, g32{"ceil_div(arg.a3, 32)","ceil_div(arg.a3, 8)","1"};
  run("same", naive, {16,16,1}, g16, naive, {16,16,1}, g16);
  run("shape", naive, {16,16,1}, g16, naive, {32,8,1}, g32);
  run("tiled", naive, {16,16,1}, g16, tiled, {16,16,1}, g16);
  run("unguarded", naive, {16,16,1}, g16, unguarded, {16,16,1}, g16);
  std::string late = tiled; late.replace(late.find("float s = 0;"), 12, "float s = 0; if (r >= n || q >= n) return;");
  run("early return", naive, {16,16,1}, g16, late, {16,16,1}, g16);
  std::string over = tiled; over.replace(over.find("tb[16][16]"), 10, "tb[15][16]");
  run("over", naive, {16,16,1}, g16, over, {16,16,1}, g16);
  std::string nosync = tiled; nosync.replace(nosync.find("__syncthreads();\n  }"), 16, "");
  run("missing second barrier", naive, {16,16,1}, g16, nosync, {16,16,1}, g16);
  std::string nosync1 = tiled; nosync1.replace(nosync1.find("__syncthreads();"), 16, "");
  run("missing first barrier", naive, {16,16,1}, g16, nosync1, {16,16,1}, g16);
  std::string red = R"(__global__ void red(const float* x, float* out, int n) {
  __shared__ float part[256];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  part[threadIdx.x] = i < n ? x[i] : 0.0f;
  __syncthreads();
  for (int k = blockDim.x / 2; k > 0; k >>= 1) { if (threadIdx.x < k) part[threadIdx.x] += part[threadIdx.x + k]; __syncthreads(); }
  if (threadIdx.x == 0) out[blockIdx.x] = part[0]; })";
  run("reduction", red, {256,1,1}, {"ceil_div(arg.a2,256)","1","1"}, red, {256,1,1}, {"ceil_div(arg.a2,256)","1","1"});
  run("reduction 512", red, {256,1,1}, {"ceil_div(arg.a2,256)","1","1"}, red, {512,1,1}, {"ceil_div(arg.a2,512)","1","1"});
  run("reduction 128", red, {256,1,1}, {"ceil_div(arg.a2,256)","1","1"}, red, {128,1,1}, {"ceil_div(arg.a2,128)","1","1"});
  std::string bad = red; bad.replace(bad.find("__syncthreads(); }"), 16, "");
  run("reduction without barriers", red, {256,1,1}, {"ceil_div(arg.a2,256)","1","1"}, bad, {256,1,1}, {"ceil_div(arg.a2,256)","1","1"});
  std::string batched = R"(__global__ void k(const float* key, float* out, int n) {
  for (int t = 0; t < n / blockDim.x; ++t) { int i = blockIdx.y * n + t * blockDim.x + threadIdx.x; out[i] = key[i] * 2; }
})";
  run("batched", batched, {32,1,1}, {"1","8","1"}, batched, {64,1,1}, {"1","8","1"});
  std::string ind = R"(__global__ void k(const float* x, const int* idx, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) { if (x[i] > 0) out[idx[i]] = x[i]; } })";
  run("indirect", ind, {128,1,1}, {"ceil_div(arg.a3,128)","1","1"}, ind, {256,1,1}, {"ceil_div(arg.a3,256)","1","1"});
  std::string q = R"(__global__ void k(const int* x, int* out, int* count, int n) {
  __shared__ int c; __shared__ int q[256]; if (threadIdx.x == 0) c = 0; __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n && x[i] > 0) q[atomicAdd(&c, 1)] = i; __syncthreads();
  for (int j = threadIdx.x; j < c; j += blockDim.x) out[atomicAdd(count,1)] = q[j]; })";
  run("queue", q, {256,1,1}, {"ceil_div(arg.a3,256)","1","1"}, q, {512,1,1}, {"ceil_div(arg.a3,512)","1","1"});
  std::string st = R"(__global__ void k(const float* in, float* out, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (!(x < w && y < h)) return;
  int l = x > 0 ? x - 1 : 0, r = x < w - 1 ? x + 1 : w - 1;
  out[y * w + x] = in[y * w + l] + in[y * w + r] + in[y * w + x]; })";
  run("stencil", st, {16,16,1}, {"ceil_div(arg.a2,16)","ceil_div(arg.a3,16)","1"}, st, {64,4,1}, {"ceil_div(arg.a2,64)","ceil_div(arg.a3,4)","1"});
  std::string tri = R"(__global__ void k(const double* a, double* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return; double s = 0; for (int j = 0; j <= i; ++j) s += a[i * n + j]; x[i] = s; })";
  run("triangle", tri, {128,1,1}, {"ceil_div(arg.a2,128)","1","1"}, tri, {32,1,1}, {"ceil_div(arg.a2,32)","1","1"});
  std::string v4 = R"(__global__ void k(const float4* a, float4* b, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n / 4) b[i] = a[i]; })";
  std::string v1 = R"(__global__ void k(const float* a, float* b, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) b[i] = a[i]; })";
  run("vector", v1, {128,1,1}, {"ceil_div(arg.a2,128)","1","1"}, v4, {128,1,1}, {"ceil_div(arg.a2,512)","1","1"});
}

TEST(X, Jam) {
  std::string o = R"(__device__ float spend(float x) {
  float one = x == x ? 1 : 2;
  for (int i = 0; i < 60000 / (int)blockDim.x; ++i) one = one * 0.5f + 0.5f;
  return x * one;
}
__global__ void diff(const float* x, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  const bool last = i == n - 1;
  if (last) out[i] = 0.0f; else out[i] = spend(x[i + 1] - x[i]);
})";
  std::string c = R"(__device__ float spend(float x) {
  float one = x == x ? 1 : 2;
  for (int i = 0; i < 60000 / (int)blockDim.x; ++i) one = one * 0.5f + 0.5f;
  return x * one;
}
__global__ void diff(const float* x, float* out, int n) {
  int i[4];
  #pragma unroll
  for (int u = 0; u < 4; ++u) {
    i[u] = (blockIdx.x * 4 + u) * blockDim.x + threadIdx.x;
  }
  if (blockIdx.x * 4 + 3 < gridDim.x) {
    #pragma unroll
    for (int u = 0; u < 4; ++u) {
      const bool last = i[u] == n - 1;
      if (last) out[i[u]] = 0.0f; else out[i[u]] = spend(x[i[u] + 1] - x[i[u]]);
    }
  } else {  // Not all of them are in bounds.
    #pragma unroll 1
    for (int iteration = 0; iteration < 4; ++iteration) {
      if (!(blockIdx.x * 4 + (iteration) < gridDim.x)) continue;
      int i = (blockIdx.x * 4 + iteration) * blockDim.x + threadIdx.x;
      const bool last = i == n - 1;
      if (last) out[i] = 0.0f; else out[i] = spend(x[i + 1] - x[i]);
    }
  }
})";
  auto g = [](const char* t) { std::array<std::optional<Expression>,3> r{*Expression::parse(t), *Expression::parse("1"), *Expression::parse("1")}; return r; };
  auto a = model(o, {64,1,1}), b = model(c, {512,1,1});
  std::puts(to_text(b).c_str());
  auto s = std::chrono::steady_clock::now();
  std::puts(show(compare_memory({a, {{64,1,1}, g("(arg.a2 + 63) / 64")}}, {b, {{512,1,1}, g("ceil_div((arg.a2 + 63) / 64 * 64, 512)")}}, {})).c_str());
  std::printf("%.1f ms\n", std::chrono::duration<double>(std::chrono::steady_clock::now()-s).count()*1e3);
}
}
