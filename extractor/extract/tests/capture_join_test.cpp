// Claims about extractor/extract/capture_join.h.
#include "extractor/extract/capture_join.h"

#include <gtest/gtest.h>

#include "core/base/file.h"
#include "core/compiler/nvcc_image.h"
#include "core/compiler/paths.h"

namespace kernelift::extractor {
namespace {

TEST(FileMark, IsWhatNvccHidesInNamesThatAreLocalToAFile) {
  EXPECT_EQ(file_mark("_ZN34_GLOBAL__N__f24e1562_8_cases_cu_ck2akEPi"), "cases_cu");
  EXPECT_EQ(file_mark("_ZN32_INTERNAL_f24e1562_8_cases_cu_ck2ns3snvE"), "cases_cu");
  EXPECT_EQ(file_mark("__nv_static_23__f24e1562_8_cases_cu_ck__Z2skPi"), "cases_cu");
  EXPECT_EQ(file_mark("_Z2skPi"), "");
  EXPECT_TRUE(is_mark_of("a_unit_cu", "/app/src/a-unit.cu"));
  EXPECT_FALSE(is_mark_of("a_unit_cu", "/app/src/b-unit.cu"));
  for (std::string whole = "__nv_static_23__f24e1562_8_cases_cu_ck__Z2skPi"; !whole.empty(); whole.pop_back())
    file_mark(whole);
  file_mark("_INTERNAL_00000000_99999999999999999999_x");
}

TEST(SameLayout, TellsParametersOfOneKeyApart) {
  ScannedParameter pointer{"p", "T *", "float", false, ""}, number{"n", "int", "", false, "int"},
      object{"s", "S", "", false, ""};
  EXPECT_TRUE(same_layout({{0, 8}, {8, 4}}, {pointer, number}));
  EXPECT_FALSE(same_layout({{0, 8}, {8, 8}}, {pointer, number}));
  EXPECT_FALSE(same_layout({{0, 8}}, {pointer, number}));
  EXPECT_TRUE(same_layout({{0, 100}}, {object})) << "its size is not known";
}

class CaptureJoinTest : public ::testing::Test {
 protected:
  /// Two files with a kernel k(int*) each; b.cu has another one besides.
  CaptureJoinTest() {
    for (auto [tu, key] : {std::pair("/app/a.cu", "k(int*)"), {"/app/b.cu", "k(int*)"}}) {
      ScannedKernel kernel;
      kernel.definition.file = tu, kernel.tu = tu, kernel.key = key,
      kernel.parameters = {{"p", "int *", "int", false, ""}};
      index_.kernels.push_back(kernel);
    }
    auto writer = CaptureWriter::create(scratch_.path() / "capture");
    EXPECT_TRUE((*writer)->finish({}).ok());
    capture_ = *Capture::open(scratch_.path() / "capture");
  }
  std::vector<std::string> files(const std::string& mangled, const std::string& unit) {
    CapturedInstance instance;
    instance.kernel = "k(int*)", instance.mangled = mangled, instance.unit = unit, instance.parameters = {{0, 8}},
    instance.arguments.resize(8);
    std::vector<std::string> files;
    CaptureJoin join(index_, *capture_);
    for (auto& kernel : index_.kernels) {
      auto answer = join.joins(instance, kernel);
      if (answer != CaptureJoin::Answer::No) files.push_back(kernel.tu);
      doubt_ = answer == CaptureJoin::Answer::Doubt;
    }
    return files;
  }
  TemporaryFolder scratch_ = std::move(*TemporaryFolder::create("kernelift-join"));
  ScanIndex index_;
  std::optional<Capture> capture_;
  bool doubt_ = false;
};

TEST_F(CaptureJoinTest, GoesByTheFileThatTheRecorderKnew) {
  EXPECT_EQ(files("_Z1kPi", "/app/b.cu"), std::vector<std::string>{"/app/b.cu"});
  EXPECT_TRUE(files("_Z1kPi", "/app/c.cu").empty());
}
TEST_F(CaptureJoinTest, TakesAHeadersKernelThatRanInAnotherUnitThanItIsListedFor) {
  for (auto file : {"/app/a.cu", "/app/b.cu", "/app/c.cu"}) index_.units.push_back({}), index_.units.back().file = file;
  index_.kernels[0].definition.file = "/app/k.h";
  EXPECT_EQ(files("_Z1kPi", "/app/c.cu"), std::vector<std::string>{"/app/a.cu"});
  EXPECT_EQ(files("__nv_static_15__f24e1562_4_c_cu_k__Z1kPi", ""), std::vector<std::string>{"/app/a.cu"});
  EXPECT_EQ(files("_Z1kPi", "/app/b.cu"), std::vector<std::string>{"/app/b.cu"})
      << "which has a kernel of that name itself";
  EXPECT_TRUE(files("_Z1kPi", "/app/unknown.cu").empty());
}
TEST_F(CaptureJoinTest, GoesByTheFileThatNvccWroteIntoTheName) {
  EXPECT_EQ(files("__nv_static_15__f24e1562_4_b_cu_k__Z1kPi", ""), std::vector<std::string>{"/app/b.cu"});
}
TEST_F(CaptureJoinTest, DoubtsWhereNothingTellsNamesakesApart) {
  EXPECT_EQ(files("_Z1kPi", "").size(), 2u);
  EXPECT_TRUE(doubt_);
  index_.kernels[1].definition = index_.kernels[0].definition;
  EXPECT_EQ(files("_Z1kPi", "").size(), 2u);
  EXPECT_FALSE(doubt_) << "one header's kernel in two units";
}
class CaptureJoinWithNvcc : public CaptureJoinTest {};

TEST_F(CaptureJoinWithNvcc, GoesByTheMachineCodeAtLast) {
  auto toolkit = cuda_toolkit();
  if (!toolkit || !std::filesystem::exists(*toolkit / "bin" / "nvcc")) GTEST_SKIP() << "nvcc is not installed";
  const char* bodies[] = {"*p += 1", "*p *= 3"};
  for (int i = 0; i < 2; ++i) {
    std::string file = scratch_.path() / (i ? "b.cu" : "a.cu");
    ASSERT_TRUE(write_atomically(file, std::string("#include \"beside.h\"\nstatic __global__ void step(int* p) { ") +
                                           bodies[i] + "; }\nvoid run(int* p) { step<<<1, 1>>>(p); }\n")
                    .ok());
    index_.kernels[size_t(i)].tu = index_.kernels[size_t(i)].definition.file = file;
    index_.kernels[size_t(i)].key = "step(int*)";
    index_.units.push_back({file, scratch_.path(), {"nvcc", "-O3", "-c", file}, {}, "lean"});
  }
  ASSERT_TRUE(write_atomically(scratch_.path() / "beside.h", std::string_view("#pragma once\n")).ok());
  NvccOptions options;
  options.target = {"sm_80", "sm_80"};
  auto image = NvccCompiler::find(options)->compile("static __global__ void step(int* p) { *p *= 3; }\n", {}).image;
  CapturedInstance instance;
  instance.id = "i", instance.kernel = "step(int*)", instance.mangled = "_Z4stepPi", instance.parameters = {{0, 8}},
  instance.arguments.resize(8);
  instance.settings.known = true, instance.settings.binary_version = 80;
  auto writer = *CaptureWriter::create(scratch_.path() / "coded");
  instance.code = *writer->store(std::as_bytes(std::span(image)));
  ASSERT_TRUE(writer->finish_instance(instance).ok());
  ASSERT_TRUE(writer->finish({}).ok());
  auto capture = Capture::open(scratch_.path() / "coded");
  ASSERT_TRUE(capture.ok());
  ASSERT_EQ(capture->instances().size(), 1u) << ::testing::PrintToString(capture->damage());
  CaptureJoin join(index_, *capture);
  EXPECT_EQ(join.joins(capture->instances().at(0), index_.kernels[0]), CaptureJoin::Answer::No);
  EXPECT_EQ(join.joins(capture->instances().at(0), index_.kernels[1]), CaptureJoin::Answer::Yes);
}
TEST_F(CaptureJoinTest, GoesByTheLayoutOfParameters) {
  index_.kernels[0].parameters.push_back({"n", "int", "", false, "int"});
  EXPECT_EQ(files("_Z1kPi", ""), std::vector<std::string>{"/app/b.cu"});
}

}  // namespace
}  // namespace kernelift::extractor
