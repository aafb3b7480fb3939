// Launches through functions of the application that launch the kernel which they are given.
#include "extractor/scan/launchers.h"

#include <gtest/gtest.h>

#include "core/tests/expression_literal.h"
#include "extractor/scan/scan.h"
#include "extractor/source/tests/test_app.h"

namespace kernelift::extractor {
namespace {

using kernelift::extractor::apps::TestApp;

TEST(Launchers, ACallOfAFunctionThatLaunchesItsKernelIsALaunch) {
  TestApp app;
  app.unit("a.cu", R"(
namespace std { template <class T> T&& forward(T& x) { return static_cast<T&&>(x); } }
constexpr int kBlock = 128;
__global__ void k(float* x, const float* y, int n) { if (threadIdx.x < n) x[threadIdx.x] = y[threadIdx.x]; }
template <int R> __global__ void r(float* x, int n) { if (threadIdx.x < n) x[threadIdx.x] = R; }
template <class Kernel, class... Arguments>
void launch(Kernel kernel, dim3 grid, dim3 block, cudaStream_t stream, Arguments... arguments) {
  kernel<<<grid, block, 0, stream>>>(arguments...);
}
template <class Kernel, class... Arguments> void for_each(const Kernel& kernel, int n, Arguments&&... arguments) {
  const int blocks = (n + kBlock - 1) / kBlock;
  kernel<<<blocks, kBlock>>>(std::forward<Arguments>(arguments)..., n);
}
void plain(void (*kernel)(float*, const float*, int), float* x, int n) { kernel<<<n / 64, 64>>>(x, x, n); }
template <class K> void numbers(K kernel, int grid, int block, float* x, int n) { kernel<<<grid, block>>>(x, n); }
void e(int n, float* x) { numbers(r<2>, n / 32, 32, x, n); }
void a(int n, float* x, const float* y) { launch(k, dim3((n + kBlock - 1) / kBlock), dim3(kBlock), 0, x, y, n); }
void b(int w, int h, float* x) { for_each(r<4>, w * h, x); }
void c(int m, float* x) { plain(k, x, m); plain(&k, x, 2 * m); }
)");
  auto index = app.scan();
  std::vector<const LaunchSite*> calls;
  for (auto& site : index.launches)
    if (!site.launcher.empty()) calls.push_back(&site);
  ASSERT_EQ(calls.size(), 5u);
  auto &e = *calls[0], &a = *calls[1], &b = *calls[2], &c = *calls[3], &d = *calls[4];
  EXPECT_EQ(app.text(e.grid_range) + " " + app.text(e.block_range), "n / 32 32");
  EXPECT_EQ(e.grid[0], "n / 32"_e);
  EXPECT_EQ(e.block_form, "number");
  EXPECT_EQ(a.launcher, "launch");
  EXPECT_EQ(app.text(a.range), "launch(k, dim3((n + kBlock - 1) / kBlock), dim3(kBlock), 0, x, y, n)");
  EXPECT_EQ(app.text(a.kernel_range) + " " + app.text(a.block_range), "k dim3(kBlock)");
  EXPECT_EQ(a.grid[0], "(n + kBlock - 1) / kBlock"_e);
  EXPECT_EQ(a.block[0], "kBlock"_e);
  EXPECT_EQ(a.shared, "0"_e);
  EXPECT_EQ(a.argument_text, (std::vector<std::string>{"x", "y", "n"}));
  EXPECT_EQ(b.grid[0], "(w * h + kBlock - 1) / kBlock"_e);
  EXPECT_EQ(b.grid_range.begin, b.grid_range.end) << "its geometry is not written at the call";
  EXPECT_EQ(b.argument_text, (std::vector<std::string>{"x", "w * h"}));
  EXPECT_EQ(c.grid[0], "m / 64"_e);
  EXPECT_EQ(d.grid[0], "2 * m / 64"_e);
  EXPECT_EQ(c.one_memory, (std::vector<std::pair<size_t, size_t>>{{0, 1}}));
  EXPECT_TRUE(index.pointers.empty());
  EXPECT_EQ(a.kernels, c.kernels);
  EXPECT_NE(a.kernels, b.kernels);
}

TEST(Launchers, AFunctionThatDoesMoreWithItsKernelIsNotFollowed) {
  TestApp app;
  app.unit("a.cu", R"(
__global__ void k(float* x, int n) { if (threadIdx.x < n) x[threadIdx.x] = 1; }
void keep(void (*kernel)(float*, int));
template <class Kernel> void twice(Kernel kernel, float* x, int n) {
  kernel<<<n / 64, 64>>>(x, n);
  kernel<<<n / 32, 32>>>(x, n);
}
template <class Kernel> void kept(Kernel kernel, float* x, int n) { keep(kernel); kernel<<<n / 64, 64>>>(x, n); }
template <class Kernel> void changed(Kernel kernel, float* x, int n) { n *= 2; kernel<<<n / 64, 64>>>(x, n); }
void narrow(void (*kernel)(float*, int), float* x, unsigned char n) { kernel<<<n / 64 + 1, 64>>>(x, n); }
void b(float* x, int n) { narrow(k, x, n); }
struct Base { virtual void run(void (*kernel)(float*, int), float* x) { kernel<<<2, 64>>>(x, 128); } };
void a(float* x, int n, Base& base) { twice(k, x, n); kept(k, x, n); changed(k, x, n); base.run(k, x); }
)");
  auto index = app.scan();
  for (auto& site : index.launches) {
    if (site.launcher == "narrow") {
      EXPECT_FALSE(site.grid[0]) << "what the kernel gets is n % 256";
      EXPECT_EQ(site.argument_text, (std::vector<std::string>{"x", ""}));
      continue;
    }
    EXPECT_EQ(site.launcher, "") << app.text(site.range);
  }
  EXPECT_EQ(index.pointers.size(), 4u);
}

}  // namespace
}  // namespace kernelift::extractor
