// Models of small kernels in the spellings that people write.
#include "core/compiler/model/model_builder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/compiler/model/tests/model_of.h"

namespace kernelift {
namespace {

using Access = KernelModel::Access;

std::vector<Access> of_kind(const KernelModel& model, Access::Kind kind) {
  std::vector<Access> chosen;
  for (auto& access : model.accesses)
    if (access.kind == kind) chosen.push_back(access);
  return chosen;
}

/// The values that an expression takes for threads 0 … 3 of block 2, with these parameters.
std::vector<int64_t> at_threads(const Expression& expression, Bindings values) {
  std::vector<int64_t> all;
  for (int64_t thread = 0; thread < 4; ++thread) {
    values["tid.x"] = thread, values["tid.y"] = thread, values["bid.x"] = 2, values["bid.y"] = 2;
    auto value = expression.evaluate(values);
    EXPECT_TRUE(value.ok()) << value.error().message;
    all.push_back(value.ok() ? *value : -999);
  }
  return all;
}

using Values = std::vector<int64_t>;

TEST(KernelModelOfSource, AnOffsetIsCountedInBytesFromTheArgument) {
  auto model =
      model_of("__global__ void k(float* x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; x[i + n] = 0; }");
  ASSERT_EQ(model.accesses.size(), 1u);
  EXPECT_EQ(model.objects[model.accesses[0].object].name, "arg.a0");
  EXPECT_EQ(model.accesses[0].bytes, 4u);
  EXPECT_EQ(at_threads(model.accesses[0].offset, {{"arg.a1", 5}}), (Values{1044, 1048, 1052, 1056}));
  EXPECT_TRUE(model.accesses[0].domain.is_constant(1));
}

TEST(KernelModelOfSource, ConstantsThatParametersAreComparedWithAreNoted) {
  const auto model = model_of(
      "__global__ void k(float* x, int n, int mode, bool relu, unsigned bits) {\n"
      "  int i = threadIdx.x; float v = x[i];\n"
      "  if (mode == 3) v = -v;\n"
      "  if (relu) v = v > 0 ? v : 0;\n"
      "  if (bits & 4) v *= 2;\n"
      "  if (i < n) x[i] = v;\n"
      "}\n");
  EXPECT_EQ(model.compared.integers.at("arg.a2"), std::set<int64_t>{3});
  EXPECT_TRUE(model.compared.integers.contains("arg.a3")) << "a flag";
  EXPECT_EQ(model.compared.integers.at("arg.a4"), (std::set<int64_t>{0, 4})) << "and the bit";
  EXPECT_FALSE(model.compared.integers.contains("arg.a1")) << "a size";
}

TEST(KernelModelOfSource, MembersNumbersAndPointersThatAreComparedAreNoted) {
  auto model = model_of(
      "struct Options { float scale; int mode; };\n"
      "__global__ void k(float* x, const float* bias, Options options, double alpha) {\n"
      "  float v = x[threadIdx.x];\n"
      "  if (bias) v += bias[threadIdx.x];\n"
      "  if (options.mode == 7) v = -v;\n"
      "  if (options.scale != 0.5f) v *= options.scale;\n"
      "  if (alpha > 2) v += 1;\n"
      "  x[threadIdx.x] = v;\n"
      "}\n");
  EXPECT_EQ(model.compared.pointers, std::set<size_t>{1});
  EXPECT_EQ(model.compared.integers.at("arg.a2.o4"), std::set<int64_t>{7});
  EXPECT_EQ(model.compared.numbers.at("arg.a2.o0"), std::set<double>{0.5});
  EXPECT_EQ(model.compared.numbers.at("arg.a3"), std::set<double>{2.0});
  auto read = kernel_model_from_json(to_json(model), "a test");
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->compared.numbers, model.compared.numbers);
  EXPECT_EQ(read->compared.pointers, model.compared.pointers);
}

TEST(KernelModelOfSource, AFlagIsAConditionOnItsParameter) {
  const auto model =
      model_of("__global__ void k(float* x, int n, bool all) { int i = threadIdx.x; if (all && i < n) x[i] = 1; }");
  ASSERT_EQ(model.accesses.size(), 1u);
  EXPECT_TRUE(model.terms.empty());
  EXPECT_EQ(*model.accesses[0].domain.evaluate({{"arg.a1", 5}, {"arg.a2", 1}, {"tid.x", 4}}), 1);
  EXPECT_EQ(*model.accesses[0].domain.evaluate({{"arg.a1", 5}, {"arg.a2", 0}, {"tid.x", 4}}), 0);
}

TEST(KernelModelOfSource, AnEarlyReturnIsTheConditionOfWhatFollows) {
  auto model = model_of(
      "__global__ void k(int* x, int n) { int i = blockIdx.x * 128 + threadIdx.x; if (i >= n) return; x[i] = 1; }");
  EXPECT_EQ(at_threads(model.accesses[0].domain, {{"arg.a1", 258}}), (Values{1, 1, 0, 0}));
}

TEST(KernelModelOfSource, ANegatedConjunctionIsUnderstood) {
  auto model = model_of(
      "__global__ void k(int* p, int w, int h) { int x = threadIdx.x, y = threadIdx.y;"
      " if (!(x < w && y < h)) return; p[y * w + x] = 1; }",
      {16, 16, 1});
  EXPECT_EQ(at_threads(model.accesses[0].domain, {{"arg.a1", 3}, {"arg.a2", 2}}), (Values{1, 1, 0, 0}));
}

TEST(KernelModelOfSource, ALoopIsACounterFromZeroWithItsBound) {
  auto model = model_of("__global__ void k(int* x, int n) { for (int j = 5; j < n; j += 3) x[j] = 1; }");
  auto& store = model.accesses.at(0);
  ASSERT_EQ(store.counters.size(), 1u);
  auto at = [&](int64_t k) { return Bindings{{store.counters[0], k}, {"arg.a1", 12}}; };
  EXPECT_EQ(*store.offset.evaluate(at(2)), 44);
  EXPECT_EQ(*store.domain.evaluate(at(2)), 1);
  EXPECT_EQ(*store.domain.evaluate(at(3)), 0);
}

TEST(KernelModelOfSource, AHalvingLoopHasItsValuesOneByOne) {
  auto model = model_of(
      "__global__ void k(int* x) { __shared__ int s[128]; for (int d = blockDim.x / 2; d > 0; d /= 2) {"
      " if (threadIdx.x < d) s[threadIdx.x] += s[threadIdx.x + d]; __syncthreads(); } x[0] = s[0]; }");
  EXPECT_TRUE(model.complete());
  EXPECT_EQ(model.barriers.size(), 7u);
  for (auto& barrier : model.barriers) EXPECT_TRUE(barrier.domain.is_constant(1));
}

TEST(KernelModelOfSource, AnIntegerSumIsReadBehindItsLoopAsItIsInTheEnd) {
  const auto model = model_of(
      "__global__ void k(const int* src, int* dst, int n) { int x = blockIdx.x * blockDim.x + threadIdx.x; if (x >= n) "
      "return; int s = 0, c = 0; for (int d = 0; d < 5; ++d) if (x + d < n) { s += src[x + d]; c += 1; } if (c > 2) "
      "dst[x] = s / c; }");
  const auto loads = std::ranges::count(model.accesses, Access::Kind::Load, &Access::kind);
  EXPECT_TRUE(loads == 1 || loads == 5) << loads << " loads";
  EXPECT_EQ(std::ranges::count(model.accesses, Access::Kind::Store, &Access::kind), 1);
}

TEST(KernelModelOfSource, ElementsOfAThreadsArrayThatNestedLoopsChooseAreValues) {
  const auto with = [](const std::string& last) {
    return model_of(
        "__global__ void k(float* x) { int at[2], by[2]; for (int u = 0; u < 2; ++u) at[u] = threadIdx.x * 10 + u;"
        " for (int v = 0; v < 2; ++v) by[v] = 100 * v;"
        " for (int u = 0; u < 2; ++u) for (int v = 0; v " +
        last + "; ++v) x[at[u] + by[v]] = 1; }");
  };
  const auto model = with("< 2");
  ASSERT_EQ(model.accesses.size(), 4u);
  EXPECT_TRUE(model.terms.empty());
  EXPECT_EQ(at_threads(model.accesses[3].offset, {}), (Values{404, 444, 484, 524}));
  EXPECT_FALSE(with("<= 2").complete() && with("<= 2").terms.empty()) << "an element beyond the array has no value";
}

TEST(KernelModelOfSource, AGridStrideLoopStepsByTheGrid) {
  auto model = model_of(
      "__global__ void k(int* x, int n) { for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n;"
      " i += blockDim.x * gridDim.x) x[i] = 1; }");
  auto& store = model.accesses.at(0);
  Bindings values{{"arg.a1", 1 << 20}, {"nctaid.x", 10}, {store.counters.at(0), 3}};
  EXPECT_EQ(at_threads(store.offset, values), (Values{16384, 16388, 16392, 16396}));
}

TEST(KernelModelOfSource, ALoopWithTwoBoundsStaysBelowBoth) {
  const auto model = model_of(
      "__global__ void k(int* x, int n, int m) { for (int i = threadIdx.x; i < n && i < m; i += blockDim.x)"
      " x[i] = n; }");
  ASSERT_EQ(model.accesses.size(), 1u);
  EXPECT_TRUE(model.terms.empty());
  const Bindings second{{"loop.k1", 1}, {"arg.a1", 131}, {"arg.a2", 130}};
  EXPECT_EQ(at_threads(model.accesses[0].domain, second), (Values{1, 1, 0, 0}));
}

TEST(KernelModelOfSource, WhatIsWrittenBeforeALoopsSecondTestIsWrittenOnceMore) {
  const auto model = model_of(
      "__global__ void k(int* x, int* out, int n, int m) { for (int i = 0; i < n; ++i) { x[i] = 0; if (i >= m)"
      " break; out[i] = 1; } }");
  ASSERT_EQ(model.accesses.size(), 2u);
  EXPECT_TRUE(model.terms.empty());
  auto written = [&](int64_t k) {
    return *model.accesses[0].domain.evaluate({{"loop.k1", k}, {"arg.a2", 9}, {"arg.a3", 3}}) != 0;
  };
  EXPECT_TRUE(written(0) && written(3));
  EXPECT_FALSE(written(4));
}

TEST(KernelModelOfSource, ALoadThroughTheReadOnlyCacheIsALoad) {
  const auto model =
      model_of("__global__ void k(const float* x, float* out, int n) { out[0] = __ldg(&x[threadIdx.x + n]); }");
  ASSERT_TRUE(model.complete());
  const auto loads = of_kind(model, Access::Kind::Load);
  ASSERT_EQ(loads.size(), 1u);
  EXPECT_EQ(model.objects[loads[0].object].name, "arg.a0");
  EXPECT_EQ(at_threads(loads[0].offset, {{"arg.a2", 5}}), (Values{20, 24, 28, 32}));
}

TEST(KernelModelOfSource, MembersOfAStructureByValueAreParameters) {
  auto model = model_of(
      "struct V { float* p; int w; __device__ float& at(int x, int y) const { return p[y * w + x]; } };"
      "__global__ void k(V v) { if (threadIdx.x < v.w) v.at(threadIdx.x, 1) = 0; }");
  ASSERT_EQ(model.accesses.size(), 1u);
  EXPECT_EQ(model.objects[model.accesses[0].object].name, "arg.a0.o0");
  EXPECT_EQ(at_threads(model.accesses[0].offset, {{"arg.a0.o8", 10}}), (Values{40, 44, 48, 52}));
}

TEST(KernelModelOfSource, AnAccessorThatPointsAtATensorsSizesLeavesThemParameters) {
  auto model = model_of(
      "struct Row { const float* data; const long* strides; __device__ Row(const float* d, const long* s)"
      " : data(d), strides(s) {} __device__ float operator[](long j) const { return data[strides[0] * j]; } };"
      "struct Matrix { const float* data; long sizes[2], strides[2];"
      " __device__ Row operator[](long i) const { return Row(data + strides[0] * i, strides + 1); } };"
      "__global__ void k(Matrix m, float* out) { float sum = 0;"
      " for (long j = 0; j < m.sizes[1]; ++j) sum += m[threadIdx.x][j]; out[threadIdx.x] = sum; }");
  ASSERT_TRUE(model.complete()) << to_text(model, {});
  const auto loads = of_kind(model, Access::Kind::Load);
  ASSERT_EQ(loads.size(), 1u);
  EXPECT_EQ(model.objects[loads[0].object].name, "arg.a0.o0");
  EXPECT_EQ(at_threads(loads[0].offset, {{"arg.a0.o24", 10}, {"arg.a0.o32", 2}, {"loop.k1", 3}}),
            (Values{24, 64, 104, 144}));
}

TEST(KernelModelOfSource, MembersAreShownAsTheSourceSpellsThem) {
  auto model = model_of(
      "struct Base { int rows; }; struct V : Base { struct { int x, y; } size; float* p; union { int n; float f; };"
      " private: int pitch[2]; public: __device__ int row() const { return pitch[1]; } };"
      "template <class T> __global__ void k(T v, int m) {"
      "  if (threadIdx.x < v.size.y) v.p[v.rows + v.row() + v.n + m] = 0; }"
      "template __global__ void k<V>(V, int);");
  const VariableNames names = with_members({{"arg.a0", "v"}, {"arg.a1", "m"}}, model.members);
  EXPECT_EQ(names.at("arg.a0.o0"), "v.rows");
  EXPECT_EQ(names.at("arg.a0.o8"), "v.size.y");
  EXPECT_EQ(names.at("arg.a0.o16"), "v.p");
  EXPECT_EQ(names.at("arg.a0.o24"), "v.n");
  EXPECT_EQ(names.at("arg.a0.o32"), "v.pitch[1]");
  const std::string text = to_text(model, names);
  EXPECT_NE(text.find("bytes of v.p + "), std::string::npos) << text;
  EXPECT_NE(text.find("v.size.y"), std::string::npos) << text;
  EXPECT_EQ(text.find("arg."), std::string::npos) << text;
}

TEST(KernelModelOfSource, MembersOfAnImplicitInstanceAreNamed) {
  auto model = model_of(
      "struct V { float* p; int w; }; template <class T> __global__ void k(T v) { v.p[v.w] = 0; }"
      "void launch(V v) { k<<<1, 1>>>(v); }");
  EXPECT_EQ(with_members({{"arg.a0", "v"}}, model.members).at("arg.a0.o8"), "v.w");
}

TEST(KernelModelOfSource, ATermsWordsAreThoseOfTheSource) {
  auto model = model_of(
      "struct P { float scale; }; __global__ void k(const float* x, P params, int* out) {"
      " __shared__ float tile[128]; tile[threadIdx.x] = x[threadIdx.x]; float own[4]; own[out[9] & 3] = x[1];"
      " if (x[threadIdx.x] * params.scale > 0.5f) out[1] = 1; if (sqrtf(tile[3]) < 2) out[2] = 2;"
      " if (own[out[3] & 3] > 1) out[4] = 1; }");
  const VariableNames names = with_members({{"arg.a0", "x"}, {"arg.a1", "params"}, {"arg.a2", "out"}}, model.members);
  std::set<std::string> words;
  for (auto& term : model.terms) words.insert(to_text(term.value, term.arguments, names));
  EXPECT_TRUE(words.contains("(an element of x * params.scale) > 0.5")) << to_text(model, names);
  EXPECT_TRUE(words.contains("sqrtf(an element of tile) < 2")) << to_text(model, names);
  EXPECT_TRUE(words.contains("a variable that each thread keeps in memory > 1")) << to_text(model, names);
}

TEST(KernelModelOfSource, HelpersMacrosAndReferencesToSharedArraysAreNoObstacle) {
  auto model = model_of(
      "#define RESTRICT __restrict__\n#define AT(i) out[(i)]\n"
      "__device__ __noinline__ void fill(float (&s)[128], const float* x, int i) { s[threadIdx.x] = x[i]; }\n"
      "__global__ void k(const float* RESTRICT x, float* RESTRICT out) { __shared__ float s[128];"
      " int i = threadIdx.x; fill(s, x, i); __syncthreads(); AT(i) = s[127 - i]; }");
  EXPECT_TRUE(model.complete());
  ASSERT_EQ(model.accesses.size(), 4u);
  auto store = of_kind(model, Access::Kind::Store);
  ASSERT_EQ(store.size(), 2u);
  EXPECT_EQ(model.objects[store[0].object].kind, KernelModel::Object::Kind::Shared);
  EXPECT_EQ(model.objects[store[0].object].shown, "s");
  EXPECT_EQ(*model.objects[store[0].object].bytes, 512u);
  EXPECT_EQ(model.objects[store[1].object].name, "arg.a1");
}

TEST(KernelModelOfSource, AnUnsignedComparisonWrapsAround) {
  auto model = model_of(
      "__global__ void k(int* x, int n) { int i = threadIdx.x; if ((unsigned)(i - 1) < (unsigned)n) x[i] = 1; }");
  EXPECT_EQ(at_threads(model.accesses[0].domain, {{"arg.a1", 2}}), (Values{0, 1, 1, 0}));
}

TEST(KernelModelOfSource, AnUnsignedNumberThatWrapsAroundIsWidenedAsIs) {
  auto model = model_of(
      "__global__ void k(int* x, unsigned long long n) { unsigned i = threadIdx.x;"
      " if ((unsigned long long)(i - 1u) < n) x[i] = 1; }");
  EXPECT_EQ(at_threads(model.accesses[0].domain, {{"arg.a1", 2}}), (Values{0, 1, 1, 0}));
}

TEST(KernelModelOfSource, AnUnsignedDivisionOfANegativeNumberIsOne) {
  auto model = model_of("__global__ void k(int* x) { unsigned i = threadIdx.x; x[(i - 2u) / 1073741824u] = 1; }");
  EXPECT_EQ(at_threads(model.accesses[0].offset, {}), (Values{12, 12, 0, 0}));
}

TEST(KernelModelOfSource, AConditionAsANumberIsOneOrMinusOne) {
  auto model = model_of("__global__ void k(int* x) { int i = threadIdx.x; x[i < 2 ? i : i - 1] = 1; }");
  EXPECT_EQ(at_threads(model.accesses[0].offset, {}), (Values{0, 4, 4, 8}));
  auto sum = model_of("__global__ void k(int* x) { int i = threadIdx.x; x[i + (i > 1)] = 1; }");
  EXPECT_EQ(at_threads(sum.accesses[0].offset, {}), (Values{0, 4, 12, 16}));
}

TEST(KernelModelOfSource, AByteAsAnIndexStaysBelow256) {
  auto model = model_of("__global__ void k(const unsigned char* x, int* out) { out[x[threadIdx.x]] = 1; }");
  auto store = of_kind(model, Access::Kind::Store);
  ASSERT_EQ(model.terms.size(), 1u);
  EXPECT_EQ(at_threads(store[0].offset, {{model.terms[0].name, -1}}), (Values{1020, 1020, 1020, 1020}));
}

TEST(KernelModelOfSource, ANarrowSumWrapsAroundOnceInTheEnd) {
  auto tiled = model_of(
      "__global__ void k(int* x) { x[((threadIdx.z * 8 + threadIdx.y) * 8 + threadIdx.x) % 64 + blockIdx.x * 64] = 1; "
      "}");
  EXPECT_EQ(tiled.accesses[0].offset.text(), "4 * ((tid.x + 8 * tid.y & 63) + 64 * bid.x)");
  auto byte = model_of("__global__ void k(int* x) { x[(unsigned char)(3 * threadIdx.x + 250)] = 1; }");
  EXPECT_EQ(at_threads(byte.accesses[0].offset, {}), (Values{1000, 1012, 0, 12}));
}

TEST(KernelModelOfSource, AParameterThatIsReadAsUnsignedIsAssumedNotNegative) {
  auto model = model_of("__global__ void k(int* x, unsigned n) { if (threadIdx.x < n) x[threadIdx.x] = 1; }");
  ASSERT_EQ(model.assumed.size(), 1u);
  EXPECT_EQ(model.assumed[0].text(), "arg.a1 >= 0");
}

TEST(KernelModelOfSource, AnElementOfAnIndexArrayIsATermThatRepeats) {
  auto model = model_of("__global__ void k(const int* index, float* out) { out[index[threadIdx.x]] = 0; }");
  ASSERT_EQ(model.terms.size(), 1u);
  EXPECT_TRUE(model.terms[0].repeats);
  EXPECT_EQ(to_text(model.terms[0].value, model.terms[0].arguments, {{"arg.a0", "index"}}), "an element of index");
}

TEST(KernelModelOfSource, AnElementThatTheKernelWritesDoesNotRepeat) {
  auto model =
      model_of("__global__ void k(int* index, float* out) { out[index[threadIdx.x]] = 0; index[threadIdx.x] = 1; }");
  ASSERT_EQ(model.terms.size(), 1u);
  EXPECT_FALSE(model.terms[0].repeats);
}

TEST(KernelModelOfSource, ALoopsBoundInMemoryThatIsNotWrittenIsOneTerm) {
  auto model = model_of(
      "__global__ void k(const int* begin, float* x) { int r = threadIdx.x;"
      " for (int j = begin[r]; j < begin[r + 1]; ++j) x[j] = 0; }");
  auto store = of_kind(model, Access::Kind::Store);
  for (auto& term : model.terms) EXPECT_TRUE(term.repeats) << term.name;
  EXPECT_EQ(of_kind(model, Access::Kind::Load).size(), 2u);
}

TEST(KernelModelOfSource, AVectorsAlignmentIsKnown) {
  auto model = model_of("__global__ void k(const float4* a, float4* b) { b[threadIdx.x] = a[threadIdx.x]; }");
  unsigned widest = 0;
  for (auto& access : model.accesses) widest = std::max(widest, access.alignment);
  EXPECT_EQ(widest, 16u);
}

TEST(KernelModelOfSource, WhatIsNotUnderstoodIsAGapWithItsLine) {
  auto assembly = model_of("__global__ void k(int* x) {\n  asm volatile(\"st.global.u32 [%0], 1;\" :: \"l\"(x));\n}");
  ASSERT_EQ(assembly.gaps.size(), 1u);
  EXPECT_EQ(assembly.gaps[0].line, 2u);
  EXPECT_EQ(assembly.gaps[0].what, "inline assembly");
  EXPECT_FALSE(model_of("__global__ void k(int** x) { x[0][threadIdx.x] = 1; }").complete());
  EXPECT_FALSE(model_of("__global__ void k(void (*f)(int)) { f(1); }").complete());
}

TEST(KernelModelOfSource, AnEndlessLoopAndUnreachableCodeEnd) {
  EXPECT_TRUE(model_of("__global__ void k(volatile int* x) { for (;;) x[threadIdx.x] = 1; }").complete());
  auto never = model_of("__global__ void k(int* x) { if (threadIdx.x > 2000) x[1] = 1; if (false) x[2] = 2; }");
  EXPECT_LE(never.accesses.size(), 1u);
}

TEST(KernelModelOfSource, ALoopThatIsLeftHalfwayIsATermAndNoCertainty) {
  auto model = model_of(
      "__global__ void k(const int* x, int* out, int n) { int i = 0;"
      " for (; i < n; ++i) if (x[i] == 7) break; out[threadIdx.x + i] = 1; }");
  bool open = false;
  for (auto& term : model.terms) open |= !term.repeats;
  EXPECT_TRUE(open);
}

TEST(KernelModelOfSource, ShufflesAndVotesAreBarriersThatOrderOnlyWhatGoesThroughThem) {
  auto model = model_of(
      "__global__ void k(const float* x, float* out) { float v = x[threadIdx.x], w = x[threadIdx.x + 1];\n"
      "v += __shfl_xor_sync(~0u, v, 1);\n"
      "__syncwarp(); __any_sync(~0u, w > 0); __syncthreads(); out[threadIdx.x] = v; }");
  std::vector<bool> orders;
  for (auto& barrier : model.barriers) orders.push_back(barrier.orders_memory);
  EXPECT_EQ(orders, (std::vector<bool>{false, true, false, true}));
  std::vector<std::set<size_t>> exchanges;
  for (auto& access : model.accesses) exchanges.push_back(access.exchanges);
  EXPECT_EQ(exchanges, (std::vector<std::set<size_t>>{{0}, {2}, {0}}));
}

TEST(KernelModelOfSource, PrintsAndWhatFencesLeaveUnorderedAreNamed) {
  auto of = [](const std::string& body) {
    return model_of("__global__ void k(float* x, int* flag, int n) { int i = threadIdx.x;\n" + body + " }").unmodelled;
  };
  auto any = [](const std::set<std::string>& all, const std::string& begin) {
    return std::ranges::any_of(all, [&](auto& one) { return one.starts_with(begin); });
  };
  EXPECT_TRUE(any(of("if (i == 3) printf(\"%d of %d\\n\", i, n);"), "print of %d of %d ("));
  EXPECT_EQ(of("if (i == 3) printf(\"%d\\n\", i);"), of("if (i == 3) printf(\"%d\\n\", i); x[i] = 1;"));
  EXPECT_NE(of("if (i == 3) printf(\"%d\\n\", i);"), of("if (i == 3) printf(\"%d\\n\", n);"));
  EXPECT_FALSE(any(of("x[i] = 1; __threadfence(); flag[i] = 1;"), "unfenced "));
  EXPECT_TRUE(any(of("x[i] = 1; flag[i] = 1; __threadfence();"), "unfenced arg.a0, arg.a1 by "));
  EXPECT_TRUE(
      any(of("for (int k = 0; k < n; ++k) { x[k] = 1; __threadfence(); flag[k] = 1; }"), "unfenced arg.a1, arg.a0 by "))
      << "the next iteration's";
  EXPECT_FALSE(any(of("x[i] = 1; flag[i] = 1;"), "unfenced ")) << "without a fence there is nothing to compare";
}

TEST(KernelModelOfSource, AModelSurvivesJson) {
  auto model = model_of(
      "__global__ void k(const int* x, float4* out, unsigned n) { __shared__ int s[8]; s[threadIdx.x & 7] = 1;"
      " __syncthreads(); if (threadIdx.x < n) out[x[threadIdx.x]] = make_float4(s[0], 0, 0, 0); }");
  auto json = to_json(model);
  auto back = kernel_model_from_json(json, "test");
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(to_json(*back), json);
  EXPECT_FALSE(kernel_model_from_json(Json::object(), "test").ok());
}

TEST(KernelModelOfSource, AChainOfValuesThatAreNoExpressionsHasATermForEach) {
  std::string steps;
  for (int step = 0; step < 16; ++step) steps += "v = __shfl_xor_sync(~0u, v, 1); ";
  auto model = model_of("__global__ void k(const int* x, float* out) { int v = x[threadIdx.x]; " + steps +
                        "if (v > 0) out[0] = 1; }");
  EXPECT_LT(model.terms.size(), 100u);
}

TEST(KernelModelOfSource, StepsThatUseTheOneBeforeSeveralTimesAreReadOnce) {
  // A bitonic sort within a warp: each step compares what the one before has left, and keeps one of two.
  std::string steps;
  for (int step = 0; step < 15; ++step) {
    const std::string bit = std::to_string(step % 5);
    steps += "{ int w = __shfl_xor_sync(~0u, v, 1 << " + bit + "); v = (v < w) == (threadIdx.x >> " + bit +
             " & 1) ? w : v; }\n";
  }
  auto model = model_of("__global__ void k(int* x) { int v = x[threadIdx.x];\n" + steps + "x[threadIdx.x] = v; }");
  EXPECT_EQ(model.accesses.size(), 2u);
  EXPECT_LT(model.terms.size(), 200u);
}

TEST(KernelModelOfSource, ConditionsOfEarlyReturnsAreNotRepeated) {
  auto model = model_of(R"(__global__ void k(float* x, int n, int m, int p) {
  for (int a = 0; a < p; ++a) {
    if (a < 1 || n < 1 || m < 1 || a >= n - 1 || n >= m - 1 || m >= p - 1) continue;
    x[a] = 1;
  }
})");
  ASSERT_EQ(model.accesses.size(), 1u);
  EXPECT_TRUE(model.terms.empty());
  EXPECT_LT(model.accesses[0].domain.size(), 60u) << model.accesses[0].domain.text();
}

TEST(KernelModelOfSource, ANumberThatIsKnownNotToBeNegativeIsNoChoiceOfTwo) {
  auto model = model_of(R"(__global__ void k(const float* x, float* out, int n) {
  int i = blockIdx.y * blockDim.y + threadIdx.y;
  #pragma unroll 1
  for (int k = 0; k < 2; ++k) {
    int j = (blockIdx.x * 2 + k) * blockDim.x + threadIdx.x;
    if (i >= 1 && i < n - 1 && j >= 1 && j < n - 1 && j < 128) out[i * 128 + j] = x[i * 128 + j] + x[i * 128 + (j - 1)];
  }
})");
  ASSERT_EQ(model.accesses.size(), 3u);
  for (auto& access : model.accesses)
    EXPECT_EQ(access.offset.text().find('?'), std::string::npos) << access.offset.text();
}

/// The value by which a kernel of `n` and 64-bit `first` and `key` decides whether it stores.
int64_t decided(const std::string& condition, int64_t first, int64_t key) {
  auto model = model_of("__global__ void k(int* out, const long long* keys, unsigned long long first) { if (" +
                        condition + ") out[0] = 1; }");
  for (auto& access : of_kind(model, Access::Kind::Store)) {
    Bindings values{{"arg.a2", first}};
    for (auto& term : model.terms) values[term.name] = key;
    auto value = access.domain.evaluate(values);
    EXPECT_TRUE(value.ok()) << access.domain.text();
    return value.ok() ? *value : -1;
  }
  ADD_FAILURE() << "no store";
  return -1;
}

TEST(KernelModelOfSource, FewerBitsOfAWiderElementAreThoseBits) {
  const int64_t wide = (int64_t(5) << 40) + (int64_t(1) << 31) + 7;
  for (auto& [condition, holds] : std::map<std::string, int64_t>{{"(int)keys[0] < 0", 1},
                                                                 {"(unsigned)keys[0] == 0x80000007u", 1},
                                                                 {"(keys[0] & 0xffffffff) == 0x80000007", 1},
                                                                 {"(keys[0] & 0xffffffffffll) == 0x80000007", 1},
                                                                 {"(keys[0] & 0xfffffffff0ll) == 0x80000000", 1},
                                                                 {"keys[0] << 24 >> 24 == 0x80000007", 1},
                                                                 {"keys[0] << 32 >> 34 < 0", 1},
                                                                 {"(int)(keys[0] + 9) == (int)0x80000010", 1},
                                                                 {"keys[0] == 0x80000007", 0}})
    EXPECT_EQ(decided(condition, 0, wide), holds) << condition;
}

TEST(KernelModelOfSource, AParameterThatIsMultipliedAndThenComparedIsTakenToBeSmall) {
  auto model = [](const std::string& condition) {
    return model_of("__global__ void k(int* out, unsigned long long first, unsigned long long n) { if (" + condition +
                    ") out[0] = 1; }");
  };
  auto assumed = [](const KernelModel& model, const std::string& text) {
    return std::ranges::any_of(model.assumed, [&](auto& one) { return one.text() == text; });
  };
  EXPECT_TRUE(assumed(model("first * 1000003 % 1000 < n"), "arg.a1 <= " + std::to_string((1ll << 60) / 1000003)));
  EXPECT_TRUE(assumed(model("(first + 7) * 6 < n"), "arg.a1 <= " + std::to_string((1ll << 60) / 6)));
  EXPECT_TRUE(assumed(model("(first << 5) / 7 < n"), "arg.a1 <= " + std::to_string((1ll << 60) / 32)));
  for (auto* plain : {"first / 4 < n", "first % 1000 * 223 < n", "blockIdx.x * 6ull < n", "first * n < 9"})
    for (auto& one : model(plain).assumed) EXPECT_TRUE(one.text().ends_with(">= 0")) << plain << ": " << one.text();
}

TEST(KernelModelOfSource, ALongConstantsProductIsNoMultiple) {
  auto model = model_of(
      "__global__ void k(int* out, unsigned long long first) { out[first * 6364136223846793005ull % 1000] = 1; }");
  ASSERT_EQ(model.accesses.size(), 1u);
  EXPECT_FALSE(model.accesses[0].offset.variables().contains("arg.a1")) << model.accesses[0].offset.text();
  for (auto& term : model.terms) EXPECT_TRUE(term.repeats);
}

TEST(KernelModelOfSource, ACounterThatNoTestKeepsFromRisingMayOverflow) {
  auto model = [](const std::string& loop) {
    return model_of("__global__ void k(char* out, int n, long long last) { for (" + loop +
                    ") { if (j > last) break; out[j] = 1; } }");
  };
  EXPECT_TRUE(model("int j = threadIdx.x; j < n; j += 128").narrow.empty());
  EXPECT_TRUE(model("int j = n; j >= 0; j -= 128").narrow.empty());
  EXPECT_FALSE(model("int j = threadIdx.x; j >= n; j += 128").narrow.empty());
  EXPECT_FALSE(model("int j = threadIdx.x; j < n; j -= 128").narrow.empty());
  EXPECT_FALSE(model("int j = threadIdx.x; j < n || out[j]; j += 128").narrow.empty());
}

std::string whole(const std::string& source, Dim3 block = {128, 1, 1}) { return model_of(source, block).whole_code; }

const std::string kShifted = R"(
struct Pair { float a, b; };
__constant__ float weights[2] = {1, 2};
__global__ void k(const float* x, Pair* out, int n) {
  __shared__ float row[128];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  row[threadIdx.x] = x[i] * weights[1];
  asm volatile("membar.cta;");
  out[i].b = row[threadIdx.x] - x[0];
})";

std::string changed(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, text.npos) << from;
  return at == text.npos ? text : text.replace(at, from.size(), to);
}

TEST(WholeCode, IsTheSameOfOtherNamesLinesHintsAndBounds) {
  const std::string code = whole(kShifted);
  ASSERT_NE(code, "");
  for (auto& text :
       {changed(kShifted, "__global__", "\n\n__global__ __launch_bounds__(128, 4)"),
        changed(kShifted, "const float* x, Pair* out", "const float* __restrict__ x, Pair* __restrict__ out"),
        changed(changed(kShifted, "int i =", "const int at ="), "if (i >= n) return;",
                "int i = at; if (!(i < n)) return;")})
    EXPECT_EQ(whole(text), code) << text;
  const std::string loop = "__global__ void k(float* x, int n) {\n for (int i = 0; i < n; ++i) x[i] = 0; }";
  EXPECT_EQ(whole(changed(loop, "for", "_Pragma(\"unroll 4\") for")), whole(loop));
}

TEST(WholeCode, IsAnotherOfWhateverMakesADifference) {
  const std::string code = whole(kShifted);
  for (auto& text :
       {changed(kShifted, "- x[0]", "- x[1]"), changed(kShifted, "row[threadIdx.x] - x[0]", "x[0] - row[threadIdx.x]"),
        changed(kShifted, "i >= n", "i > n"), changed(kShifted, "{1, 2}", "{1, 3}"),
        changed(kShifted, "[128]", "[160]"), changed(kShifted, "{ float a, b; }", "{ float a, c, b; }"),
        changed(kShifted, "membar.cta", "membar.gl"), changed(kShifted, "const float* x", "const volatile float* x"),
        changed(kShifted, "int n", "unsigned n"), changed(kShifted, "__global__", "__global__ __launch_bounds__(64)")})
    EXPECT_NE(whole(text), code) << text;
  EXPECT_NE(whole(kShifted, {64, 1, 1}), code);
}

TEST(WholeCode, IsNotKnownWhereAFunctionIsNotPartOfIt) {
  EXPECT_EQ(whole("__device__ int f(int n) { return n < 2 ? n : f(n - 1) + f(n - 2); }\n"
                  "__global__ void k(int* x) { x[0] = f(x[1]); }"),
            "");
}

}  // namespace
}  // namespace kernelift
