// The structures that a scan finds in kernels' arguments and module variables: real parses of small applications.
#include "extractor/scan/record_finder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "extractor/source/tests/test_app.h"

namespace kernelift::extractor {
namespace {

using kernelift::extractor::apps::only;
using kernelift::extractor::apps::TestApp;

/// One line per structure, such as "View<double> 16 byte: 0 double".
std::string records_of(const std::string& text) {
  TestApp app;
  app.unit("a.cu", text, {"-std=c++14"});
  std::string words;
  auto index = app.scan();
  for (auto& record : only(index, "k").records) {
    words += record.name + " " + std::to_string(record.size) + " " + record.element + ":";
    for (auto& pointer : record.pointers)
      words += " " + std::to_string(pointer.offset) + " " + pointer.pointee +
               (&pointer == &record.pointers.back() ? "" : ",");
    words += record.open ? " open\n" : "\n";
  }
  return words;
}

TEST(Records, ListOffsetAndTypeOfEveryPointerInAParameter) {
  TestApp app;
  app.unit("a.cu", R"(
namespace app {
enum Kind : unsigned char { A };
struct Params { int n; float* a; const float4* b; const int* idx[2]; Kind* kinds; double& sum; };
}
__global__ void k(const app::Params p, const double* plain) { p.a[0] = 1; }
void run(app::Params p) { k<<<1, 1>>>(p, nullptr); }
)");
  auto index = app.scan();
  auto& kernel = only(index, "k");
  ASSERT_EQ(kernel.parameters.size(), 2u);
  EXPECT_EQ(kernel.parameters[0].record, "app::Params");
  EXPECT_EQ(kernel.parameters[1].record, "");
  auto* record = kernel.record("app::Params");
  ASSERT_TRUE(record);
  EXPECT_EQ(record->size, 56u);
  EXPECT_FALSE(record->open);
  std::string pointers;
  for (auto& one : record->pointers) pointers += std::to_string(one.offset) + " " + one.pointee + "\n";
  EXPECT_EQ(pointers, "8 float\n16 struct float4\n24 int\n32 int\n40 unsigned char\n48 double\n");
}

TEST(Records, IncludeTemplatesBasesMembersAndStructuresBehindPointers) {
  EXPECT_EQ(records_of(R"(
template <class T> struct View { T* data; int n; __device__ T& operator[](int i) { return data[i]; } };
struct Node { float value; Node* next; };
struct Empty {};
struct Base { const View<int>* views; };
struct Params : Empty, Base { View<double> out; Node* nodes[2]; struct Hidden* hidden; };
__global__ void k(Params p, View<float> v) { p.out[0] = p.views[0].data[0]; v[0] = 1; }
void run(Params p, View<float> v) { k<<<1, 1>>>(p, v); }
)"),
            "Params 48 byte: 0 struct View<int>, 8 double, 24 struct Node, 32 struct Node, 40 struct Hidden\n"
            "View<float> 16 byte: 0 float\n"
            "View<int> 16 byte: 0 int\n"
            "Node 16 {float@0,unsigned long@8}16: 8 struct Node\n");
}

TEST(Records, OfLambdasListTheirCaptures) {
  std::string words = records_of(R"(
template <class F> __global__ void k(int n, F f) { f(n); }
void run(double* out, const int* idx, float scale) { k<<<1, 1>>>(7, [=] __device__(int i) { out[idx[i]] = scale; }); }
)");
  EXPECT_TRUE(words.starts_with("(lambda at ")) << words;
  EXPECT_TRUE(words.ends_with(" 24 {unsigned long@0,unsigned long@8,float@16}24: 0 double, 8 int\n")) << words;
}

TEST(Records, OfLambdasForHostAndDeviceSayTheirSize) {
  TestApp app;
  app.unit("a.cu", R"(
template <class F> __global__ void k(int n, F f) { f(n); }
void run(double* out, float scale) {
  k<<<1, 1>>>(7, [=] __device__(int i) { out[i] = scale; });
  k<<<1, 1>>>(7, [=] __host__ __device__(int i) { out[i] = scale + scale; });
}
)");
  std::vector<uint64_t> bytes;
  for (auto& kernel : app.scan().kernels) bytes.push_back(kernel.parameters[1].lambda_bytes);
  EXPECT_THAT(bytes, ::testing::UnorderedElementsAre(0, 16));
}

TEST(Records, IncludeThoseOfModuleVariables) {
  TestApp app;
  app.unit("a.cu", R"(
namespace app {
template <class T> struct View { T* data; };
__constant__ View<float> views[2];
__device__ double* table;
__device__ int numbers[4];
__device__ View<int> elsewhere;
}
__device__ float first(int i) { return app::views[i].data[0]; }
__global__ void k(int n) { __shared__ float* p; p = &app::views[0].data[1]; app::table[n] = *p + first(n) + app::numbers[n]; }
void run() { k<<<1, 1>>>(1); }
)");
  auto index = app.scan();
  auto& kernel = only(index, "k");
  ASSERT_EQ(kernel.variables.size(), 2u);
  EXPECT_EQ(kernel.variables[0].key + " " + kernel.variables[0].type, "app::table double *");
  EXPECT_EQ(kernel.variables[1].key + " " + kernel.variables[1].type, "app::views struct app::View<float>");
  ASSERT_EQ(kernel.records.size(), 1u);
  EXPECT_EQ(kernel.records[0].name, "app::View<float>");
}

TEST(Records, OfUnionsAndBytesHaveNoElementTypes) {
  EXPECT_EQ(records_of(R"(
struct Either { union { float* f; int* i; double d; }; int kind; void* any; char* text; void (*call)(int); char room[16]; };
struct Virtual { virtual void f(); float* p; };
__global__ void k(Either e, Virtual* v) { e.f[0] = 1; v->p[0] = 1; }
void run(Either e) { k<<<1, 1>>>(e, nullptr); }
)"),
            "Either 56 byte: 0 void, 16 void, 24 char, 32 void\n"
            "Virtual 16 byte: 8 float open\n");
}

TEST(Records, HaveATypedLayoutIfTheyContainFloats) {
  EXPECT_EQ(records_of(R"(
struct Particle { float x, y; int id; double mass; };
struct Pair { float a, b; };
struct Tagged { union { float f; int i; } what; float weight; Particle* next; };
struct Counts { int n; long m; };
struct Flags { unsigned a : 3, b : 7; float w; };
struct alignas(16) Three { float x, y, z; };
template <class T> struct Complex { T re, im; };
struct Many { float table[1000]; float* p; };
__global__ void k(Particle* p, Pair* q, Tagged* t, Counts* c, Flags* f, Three* three, Complex<double>* z, Many* m) { z->re = 0; m->p[0] = f->w; }
void run() { k<<<1, 1>>>(0, 0, 0, 0, 0, 0, 0, 0); }
)"),
            "Particle 24 {float@0,float@4,int@8,double@16}24:\n"
            "Pair 8 float:\n"
            "Tagged 16 {unsigned char@0,unsigned char@1,unsigned char@2,unsigned char@3,float@4,unsigned long@8}16: 8 "
            "struct Particle\n"
            "Counts 16 byte:\n"
            "Flags 8 {unsigned char@0,unsigned char@1,float@4}8:\n"
            "Three 16 {float@0,float@4,float@8}16:\n"
            "Complex<double> 16 double:\n"
            "Many 4008 byte: 4000 float\n");
}

}  // namespace
}  // namespace kernelift::extractor
