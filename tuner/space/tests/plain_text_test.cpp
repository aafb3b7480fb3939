// Tests of writing every memory access of a kernel's text as an array element.
#include "tuner/space/plain_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tuner/space/tests/broken_text.h"

namespace kernelift::tuner {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string of(const std::string& body) {
  return plain_text("__global__ void k(float* out, const float* __restrict__ row, int n) {\n" + body + "\n}\n");
}

TEST(PlainText, WritesEveryAccessAsAnElement) {
  EXPECT_THAT(of("s += __ldg(row + k + threadIdx.x);"), HasSubstr("s += row[k + threadIdx.x];"));
  EXPECT_THAT(of("s += __ldg(&row[k]);"), HasSubstr("s += row[k];"));
  EXPECT_THAT(of("s += *(row + k) * 2;"), HasSubstr("s += row[k] * 2;"));
  EXPECT_THAT(of("*out = a * b;"), HasSubstr("out[0] = a * b;"));
  EXPECT_THAT(of("s += a * *row;"), HasSubstr("a * row[0];"));
  EXPECT_THAT(of("float4 v = reinterpret_cast<const float4*>(row)[k + t];"), HasSubstr("float4 v = row[k + t];"));
  EXPECT_THAT(of("float4 v = ((const float4 *)row)[k];"), HasSubstr("float4 v = row[k];"));
  EXPECT_THAT(of("float4 v = *reinterpret_cast<const float4*>(&row[4 * k]);"), HasSubstr("float4 v = row[4 * k];"));
  EXPECT_THAT(of("s += (row + n)[k];"), HasSubstr("s += row[(n) + (k)];"));
  EXPECT_THAT(of("__stcs(out + i, s);"), HasSubstr("__stcs(&out[i], s);"));
  EXPECT_THAT(of("Particle* p = all + i;\n  p->x = 1;"), HasSubstr("all[i].x = 1;"));
  EXPECT_THAT(of("float s = f(a * b, (a) * (b));\n  s = (n * t) + 3;"),
              HasSubstr("float s = f(a * b, (a) * (b));\n  s = (n * t) + 3;"))
      << "products stay products";
}

TEST(PlainText, ReplacesPointersByTheirBase) {
  EXPECT_THAT(of("const float* p = row + threadIdx.x;\n  s += p[k];"), HasSubstr("s += row[(threadIdx.x) + (k)];"));
  EXPECT_THAT(of("float* p = &out[n * i];\n  float* q = p + t;\n  q[k] = 1;"),
              HasSubstr("out[(n * i) + ((t) + (k))] = 1;"));
  EXPECT_THAT(of("__shared__ float tile[64];\n  float* s = tile;\n  s[t] = 1;"),
              testing::AllOf(HasSubstr("tile[t] = 1;"), HasSubstr("s = 0;")))
      << "the pointer's definition does not count as an access";
  EXPECT_THAT(of("const float* p = row + t;\n  for (;;) { s += *p; p += n; }"), HasSubstr("s += row[(t) + (0 + p)];"))
      << "the pointer is advanced";
  EXPECT_THAT(of("const float* p = n ? row : out;\n  s += p[t];"), HasSubstr("s += p[t];"))
      << "the pointer may have either base";
  EXPECT_THAT(of("const float* p = row;\n  p = out;\n  s += p[t];"), HasSubstr("s += p[t];"));
}

TEST(PlainText, ExpandsMacrosForIndices) {
  EXPECT_THAT(plain_text("#define tid threadIdx.x\n#define ME (blockIdx.x * blockDim.x + tid)\n__global__ void "
                         "k(float* a) { a[ME] = tid; }"),
              HasSubstr("a[(blockIdx.x * blockDim.x + threadIdx.x)] = threadIdx.x;"));
  EXPECT_THAT(plain_text("#define N 4 // blockDim.x\n__global__ void k(float* a) { a[N] = 0; }"),
              HasSubstr("a[N] = 0;"));
}

TEST(PlainText, StaysSmallForBrokenText) {
  const std::string whole =
      "#define T threadIdx.x\n__global__ void k(float* a, const float* b, int n) {\n  const float* p = b + T; float* q "
      "= &a[n];\n  *q = *(p + 1) + __ldg(b + n); q[0] = ((float4*)p)[n].x; p->x = 2; f(a + n, p); p++; q = p + 1; p = "
      "q + 1;\n}\n";
  for_broken_texts(whole, [](auto& text) { EXPECT_LT(plain_text(text).size(), 1'000'000u); });
}

}  // namespace
}  // namespace kernelift::tuner
