// Constants of which the application's sizes may have to be multiples.
#include <gtest/gtest.h>

#include "extractor/scan/scan.h"
#include "extractor/source/tests/test_app.h"

namespace kernelift::extractor {
namespace {

using kernelift::extractor::apps::knob;
using kernelift::extractor::apps::TestApp;

/// How K may be changed in a kernel with this body: "divides" (to divisors only), "free" or "no knob". The kernel is
/// launched with blocks of `block` threads.
std::string chunk(const std::string& body, const std::string& before = "", const std::string& block = "B") {
  TestApp app;
  app.unit("a.cu", "#define K 8\n#define B 128\n" + before +
                       "__global__ void k(float* x, const float* a, int n, int m) {\n  " + body +
                       "\n}\nvoid run(int n, float* x) { k<<<(n + " + block + " - 1) / " + block + ", " + block +
                       ">>>(x, x, n, n); }\n");
  auto index = app.scan();
  auto* found = knob(index, "K");
  return !found ? "no knob" : found->divides_only ? "divides" : "free";
}

const char* const kRow = "int i = blockIdx.x * B + threadIdx.x;\n  float sum = 0;\n  if (i >= n) return;\n  ";

TEST(ChunkSizes, MayOnlyBecomeDivisorsIfElementsAreNotBoundsChecked) {
  for (auto* body :
       {"for (int k = 0; k < m; k += K)\n    for (int u = 0; u < K; ++u) sum += a[i * m + k + u];\n  x[i] = sum;",
        "for (int b = 0; b < m / K; ++b)\n    for (int u = 0; u < K; ++u) sum += a[i * m + b * K + u];\n  x[i] = sum;",
        "const int parts = m / K;\n  for (int b = 0; b < parts; ++b) sum += a[b];\n  x[i] = sum;"})
    EXPECT_EQ(chunk(kRow + std::string(body)), "divides") << body;
  EXPECT_EQ(chunk("int first = (blockIdx.x * B + threadIdx.x) * K;\n  if (first >= n) return;\n  for (int u = 0; u < "
                  "K; ++u) x[first + u] = a[first + u];"),
            "divides");
  EXPECT_EQ(
      chunk("__shared__ float tile[K];\n  int i = blockIdx.x * K + threadIdx.x;\n  float sum = 0;\n  for (int t = 0; t "
            "< n / K; ++t) {\n    tile[threadIdx.x] = a[t * K + threadIdx.x];\n    __syncthreads();\n"
            "    for (int u = 0; u < K; ++u) sum += tile[u];\n    __syncthreads();\n  }\n  if (i < n) x[i] = sum;",
            "", "K"),
      "divides");
  EXPECT_EQ(
      chunk("__shared__ float tile[K];\n  int i = blockIdx.x * K + threadIdx.x;\n  float sum = 0;\n  for (int t = 0; t "
            "< (n + K - 1) / K; ++t) {\n    tile[threadIdx.x] = a[t * K + threadIdx.x];\n    __syncthreads();\n"
            "    for (int u = 0; u < K; ++u) sum += tile[u];\n    __syncthreads();\n  }\n  if (i < n) x[i] = sum;",
            "", "K"),
      "divides")
      << "the loads are not bounds-checked";
}

TEST(ChunkSizes, AreFreeIfEachElementIsBoundsChecked) {
  for (auto* body : {"for (int k = 0; k < m; k += K)\n    for (int u = 0; u < K; ++u) if (k + u < m) sum += a[i * m + "
                     "k + u];\n  x[i] = sum;",
                     "for (int k = 0; k < m; k += K)\n    for (int u = 0; u < K && k + u < m; ++u) sum += a[i * m + k "
                     "+ u];\n  x[i] = sum;",
                     "for (int b = 0; b < (m + K - 1) / K; ++b)\n    for (int u = 0; u < K; ++u) {\n      const int at "
                     "= b * K + u;\n      if (at < m) sum += a[i * m + at];\n    }\n  x[i] = sum;",
                     "for (int k = 0; k < m; k += K) {\n    const int end = min(k + K, m);\n    for (int j = k; j < "
                     "end; ++j) sum += a[j];\n  }\n  x[i] = sum;"})
    EXPECT_EQ(chunk(kRow + std::string(body)), "free") << body;
  EXPECT_EQ(chunk("int first = (blockIdx.x * B + threadIdx.x) * K;\n  for (int u = 0; u < K; ++u) if (first + u < n) "
                  "x[first + u] = a[first + u];"),
            "free");
  EXPECT_EQ(chunk("int i = blockIdx.x * K + threadIdx.x;\n  if (i < n) x[i] = a[i];", "", "K"), "free");
  EXPECT_EQ(chunk("for (int i = blockIdx.x * K + threadIdx.x; i < n; i += K * gridDim.x) x[i] = a[i];", "", "K"),
            "free");
  EXPECT_EQ(chunk("__shared__ float tile[K][K + 1];\n  int i = blockIdx.x * K + threadIdx.x;\n  float sum = 0;\n  for "
                  "(int t = 0; t < (n + K - 1) / K; ++t) {\n    int at = t * K + threadIdx.x;\n    "
                  "tile[0][threadIdx.x] = at < n ? a[at] : 0;\n"
                  "    __syncthreads();\n    for (int u = 0; u < K; ++u) sum += tile[0][u];\n    __syncthreads();\n  "
                  "}\n  if (i < n) x[i] = sum;",
                  "", "K"),
            "free");
  const std::string product =
      "__shared__ float as[K][K], bs[K][K];\n  int row = blockIdx.y * K + threadIdx.y, col = blockIdx.x * K + "
      "threadIdx.x;\n  float sum = 0;\n  for (int t = 0; t < (n + K - 1) / K; ++t) {\n"
      "    as[threadIdx.y][threadIdx.x] = row < n && t * K + threadIdx.x < n ? a[row * n + t * K + threadIdx.x] : 0;\n"
      "    bs[threadIdx.y][threadIdx.x] = col < n && t * K + threadIdx.y < n ? a[(t * K + threadIdx.y) * n + col] : "
      "0;\n"
      "    __syncthreads();\n    for (int u = 0; u < K; ++u) sum += as[threadIdx.y][u] * bs[u][threadIdx.x];\n    "
      "__syncthreads();\n  }\n  if (row < n && col < n) x[row * n + col] = sum;";
  EXPECT_EQ(chunk(product, "", "K"), "free") << "a row index times the row length is no chunk";
  EXPECT_EQ(chunk("const int part = 2 * K;\n  int i = blockIdx.x * B + threadIdx.x;\n  if (i >= n) return;\n  for (int "
                  "b = 0; b < m; ++b) x[i] += a[b * part];"),
            "divides")
      << "the elements of a part are not bounds-checked";
}

}  // namespace
}  // namespace kernelift::extractor
