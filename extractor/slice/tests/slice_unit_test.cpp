// The compile that a slice is cut from, if the kernel's file is compiled several times.
#include <algorithm>

#include "extractor/slice/slice.h"
#include "extractor/source/tests/test_app.h"

namespace kernelift::extractor {
namespace {

using kernelift::extractor::apps::TestApp;

TEST(SliceUnit, TakesAKernelFromTheCompileOfItsFileThatHasIt) {
  TestApp app;
  app.unit("a.cu", R"(
__global__ void k(REAL* x) { x[threadIdx.x] *= REAL(2); }
void go(REAL* x) { k<<<1, 32>>>(x); }
)",
           {"-DREAL=float"});
  app.again("a.cu", "b.o", {"-DREAL=double"});
  auto index = app.scan();
  for (auto& [key, flag] :
       std::map<std::string, std::string>{{"k(float*)", "-DREAL=float"}, {"k(double*)", "-DREAL=double"}}) {
    auto kernel = std::ranges::find(index.kernels, key, &ScannedKernel::key);
    ASSERT_NE(kernel, index.kernels.end()) << key;
    auto slice = slice_kernel(index, *kernel);
    ASSERT_TRUE(slice.ok()) << slice.error().message;
    EXPECT_TRUE(slice->proof.proven) << slice->proof.note;
    EXPECT_EQ(std::ranges::count(slice->unit.command, flag), 1) << key;
    EXPECT_EQ(std::ranges::count(slice->compile_flags, flag), 1) << key;
  }
}

TEST(SliceUnit, WarnsIfAnotherCompileOfItsFileHasTheKernelToo) {
  auto doubt = [](const std::vector<std::string>& other) {
    TestApp app;
    app.unit("a.cu", "__global__ void k(int* x) { x[0] = ORDER; }\nvoid go(int* x) { k<<<1, 32>>>(x); }\n",
             {"-DORDER=4", "-O1"})
        .again("a.cu", "b.o", other);
    auto index = app.scan();
    EXPECT_FALSE(index.kernels.empty());
    auto slice = slice_kernel(index, index.kernels[0]);
    EXPECT_TRUE(slice.ok()) << slice.error().message;
    return slice.ok() ? slice->doubt : "";
  };
  EXPECT_NE(doubt({"-DORDER=8"}).find("under the same name: with -DORDER=8 (not -DORDER=4)"), std::string::npos)
      << doubt({"-DORDER=8"});
  EXPECT_EQ(doubt({"-DORDER=4", "-O3"}), "") << "the device code is the same";
}

TEST(SliceUnit, HasTheHeadersThatTheCommandIncludesInItsTextAndNotInItsFlags) {
  TestApp app;
  app.header("pre.h", "#pragma once\n#define SCALE 3.0f\n");
  app.unit("a.cu", R"(
__global__ void k(float* x) { x[threadIdx.x] *= SCALE; }
void go(float* x) { k<<<1, 32>>>(x); }
)",
           {"-include", "pre.h", "-DOTHER=1"});
  auto index = app.scan();
  ASSERT_EQ(index.kernels.size(), 1u);
  auto slice = slice_kernel(index, index.kernels[0]);
  ASSERT_TRUE(slice.ok()) << slice.error().message;
  EXPECT_TRUE(slice->proof.proven) << slice->proof.note;
  EXPECT_NE(slice->text.find("#define SCALE 3.0f"), std::string::npos) << slice->text;
  EXPECT_EQ(std::ranges::count(slice->compile_flags, "-include") + std::ranges::count(slice->compile_flags, "pre.h"),
            0);
  EXPECT_EQ(std::ranges::count(slice->compile_flags, "-DOTHER=1"), 1);
}

}  // namespace
}  // namespace kernelift::extractor
