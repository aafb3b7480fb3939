// The memory that callers and the launching function itself pass to a launch, in scans of small applications.
#include <gtest/gtest.h>

#include "extractor/scan/scan.h"
#include "extractor/source/tests/test_app.h"

namespace kernelift::extractor {
namespace {

using kernelift::extractor::apps::TestApp;

TEST(CallFinder, FollowsCallersThatPassTheSameMemoryTwice) {
  // Each text calls a function S(to, from, n) of another unit, which launches k(to + n, from).
  const std::pair<const char*, bool> callers[] = {
      {"void run(float* a, float* b) { S(a, b, 1); }", false},
      {"void run(float* a, float* b) { S(a, b, 1); S(a, a, 1); }", true},
      {"void run(float* a, float* b, bool in_place) { S(in_place ? b : a, &b[7], 1); }", true},
      {"void twice(float* x, float* y) { S(x, y, 1); } void run(float* a) { twice(a, a + 7); }", true},
      {"struct Grid { float *u, *v; }; void run(Grid& g) { S(g.u, g.v, 1); }", false},
      {"struct Grid { float *u, *v; }; void step(Grid& g, Grid& h) { S(g.u, h.u, 1); } void run(Grid& g) { step(g, g); "
       "}",
       true},
      {"template <class T> void any(T* x, T* y) { S(x, y, 1); } void run(float* a) { any(a, a); }", true},
      {"float* buffer; void step(float* to) { S(to, buffer, 1); } void run() { step(buffer); }", true},
      {"void run(float* a, float* b, int k) { S(k % 2 ? a : b, k % 2 ? b : a, 1); }", false},
      {"void run(float* a, float* b, int k) { S(k % 2 ? a : b, k % 3 ? b : a, 1); }", true},
      {"void run(float* a, float* b, int k) { S(k++ % 2 ? a : b, k++ % 2 ? b : a, 1); }", true},
      {"void step(float* x, float* y, int k) { S(k ? x : y, k ? y : x, 1); } void run(float* a, float* b, int k) { "
       "step(k ? a : b, k ? b : a, 1); }",
       false},
      {"void step(float* x, float* y, int k) { S(k ? x : y, y, 1); } void run(float* a, float* b, int k) { "
       "step(a, k ? b : a, 0); }",
       true},
      {"void run(float* x) { float* y = x; S(x, y, 1); }", true},
      {"void run(float* x, float* z) { float *y = x, *w = z; S(w, y, 1); }", false},
      {"void run(float* x, float* z, bool c) { float *a = z, *b = x; if (c) a = b; S(a, b, 1); }", true},
      {"void run(float* x, float* z, bool c) { if (c) { z = x; } S(x, z, 1); }", true},
      {"struct Two { float *to, *from; }; void run(float* x, float* z, bool c) { Two t = {c ? x : z, x}; S(t.to, "
       "t.from, "
       "1); }",
       true},
      {"struct Two { float *to, *from; }; void run(float* x, float* z) { Two t = {x, z}; S(t.to, t.from, 1); }", false},
      {"void run(float* x, float* z) { float *a = x, *b = z; for (int i = 0; i < 9; ++i) { S(a, b, 1); float* t = a; "
       "a = b; b = t; } }",
       false},
      {"void run(float* x, float* z) { float *a = x, *b = z, *t; while (*a < 9) { S(a, b, 1); t = a; a = b; b = t; } }",
       false},
      {"void run(float* x, float* z, int k) { float *a, *b; if (k % 2) { a = x; b = z; } else { a = z; b = x; } S(a, "
       "b, "
       "1); }",
       false},
      {"void run(float* x, float* z, int k) { float *a = x, *b = z; while (k--) { S(a, b, 1); a = a + k; b += k; } }",
       false},
      {"struct F { float* d; void add(const F& o) { S(d, o.d, 1); } }; void run(F& a, F& b) { a.add(b); b.add(a); }",
       false},
      {"struct F { float* d; void add(const F& o) { S(d, o.d, 1); } }; void run(F& a, F& b) { a.add(b); a.add(a); }",
       true},
      {"struct F { float* d; void add(const F& o) { S(this->d, o.d, 1); } void twice() { add(*this); } };", true},
      {"struct F { float* d; void operator+=(const F& o) { S(d, o.d, 1); } }; void run(F& a, F& b) { a += b; }", false},
      {"struct F { float* d; void operator+=(const F& o) { S(d, o.d, 1); } }; void run(F& a) { a += a; }", true},
      {"struct F { float *d, *e; void step() { S(d, e, 1); } }; void run(F& a) { a.step(); }", false},
      {"struct F { float* d; }; void run(F* f, int i, int j) { S(f[i].d, f[j].d, 1); }", true},
      {"struct F { float* d; }; void run(F* f) { S(f[0].d, f[1].d, 1); }", false},
      {"struct F { float* d; }; void run(F& a, F& b, bool in_place) { F& out = in_place ? a : b; S(out.d, a.d, 1); }",
       true},
      {"struct F { float* d; }; void run(F& a, F& b) { F& out = b; S(out.d, a.d, 1); }", false},
      {"struct G { float* u; float* level(int) const { return u; } }; void run(G& g, int i, int j) { S(g.level(i), "
       "g.level(j), 1); }",
       true},
      {"struct G { float* u; float* level(int) const { return u; } }; void run(G& g, int i) { S(g.level(i), g.level(i "
       "+ 1), 1); }",
       false},
      {"struct F { float* d; }; float* of(F& f) { return f.d; } void go(F& a, F& b) { S(of(a), of(b), 1); } void "
       "run(F& "
       "x) { go(x, x); }",
       true},
      {"struct F { float* d; }; float* of(F& f) { return f.d; } void go(F& a, F& b) { S(of(a), of(b), 1); } void "
       "run(F& "
       "x, F& y) { go(x, y); }",
       false},
      {"float* make(float*); void run(float* x) { float* y = make(x); S(x, y, 1); }", false},
      {"void S(int, int); void run(int a) { S(a, a); }", false}};  // Another function of the same name.
  std::string header,
      launching =
          "#include \"smooth.h\"\n__global__ void k(float* to, const float* from) { to[threadIdx.x] = "
          "from[threadIdx.x]; }\n",
      calling = "#include \"smooth.h\"\n";
  for (size_t i = 0; i < std::size(callers); ++i) {
    std::string name = "smooth_" + std::to_string(i), text = callers[i].first;
    header += "void " + name + "(float* to, const float* from, int n);\n";
    launching +=
        "void " + name + "(float* to, const float* from, int n) { k<<<1, 32>>>(to + n, (const float*)from); }\n";
    for (size_t at; (at = text.find("S(")) != text.npos;) text.replace(at, 1, name);
    calling += "namespace n" + std::to_string(i) + " { " + text + " }\n";
  }
  TestApp app;
  app.header("smooth.h", header).unit("smooth.cu", launching).unit("main.cu", calling);
  auto index = app.scan();
  ASSERT_EQ(index.launches.size(), std::size(callers));
  for (size_t i = 0; i < std::size(callers); ++i)
    EXPECT_EQ(index.launches[i].one_memory.size(), callers[i].second ? 1u : 0u) << callers[i].first;
  EXPECT_EQ(index.launches[1].one_memory[0], (std::pair<size_t, size_t>{0, 1}));
}

}  // namespace
}  // namespace kernelift::extractor
