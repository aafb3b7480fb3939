// Claims about extractor/extract/runtime_source.h: a recorded launch whose kernel NVRTC compiled becomes a MEP of the
// text that the recording has.
#include "extractor/extract/runtime_source.h"

#include <gmock/gmock.h>

#include <cstring>

#include "core/base/file.h"
#include "core/model/kernel_key.h"
#include "core/model/mep.h"
#include "extractor/extract/extract.h"

namespace kernelift::extractor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

class RuntimeSource : public ::testing::Test {
 protected:
  TemporaryFolder scratch_ = std::move(*TemporaryFolder::create("kernelift-runtime-source"));
  fs::path state_ = scratch_.path() / ".kernelift";

  static RuntimeProgram program(std::string image, float factor = 2) {
    RuntimeProgram program;
    program.name = "scale.cu";
    program.source =
        "#include \"factor.h\"\nextern \"C\" __global__ void scale(float* p, int n) {\n"
        "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) p[i] *= FACTOR;\n}\n"
        "template <class T> __global__ void twice(T* p) { p[threadIdx.x] *= T(2); }\n";
    program.headers["factor.h"] = "#define FACTOR " + std::to_string(factor) + "f\n";
    program.options = {"-std=c++17", "--gpu-architecture=sm_90", "-default-device", "--pch-dir", "/tmp"};
    program.names = {{"twice<double>", "_Z5twiceIdEvPT_"}};
    program.image = std::move(image);
    program.caller = "/app/libphysics.so", program.command = {"python3", "run.py"};
    return program;
  }
  static std::string ptx(const std::string& kernel) { return ".version 8.0\n.visible .entry " + kernel + "(\n)\n{}\n"; }

  void capture(const std::string& mangled, const std::vector<RuntimeProgram>& programs) {
    fs::remove_all(state_ / "capture");
    auto writer = std::move(*CaptureWriter::create(state_ / "capture"));
    const int count = 64;
    std::vector<float> before(2 * count, 3), after(2 * count, 6);
    CapturedInstance instance;
    instance.id = "abcd-0000", instance.mangled = mangled, instance.kernel = canonical_key(mangled);
    instance.unit = "(memory)", instance.geometry = {{1, 1, 1}, {64, 1, 1}, 0, false};
    const uint64_t address = 0x200000000000;
    instance.arguments.resize(12), instance.microseconds = 5;
    std::memcpy(instance.arguments.data(), &address, 8), std::memcpy(instance.arguments.data() + 8, &count, 4);
    instance.parameters = {{0, 8}, {8, 4}};
    if (mangled != "scale") instance.arguments.resize(8), instance.parameters.pop_back();
    instance.regions = {{address, MemoryKind::Device, *writer->store(std::as_bytes(std::span(before))),
                         *writer->store(std::as_bytes(std::span(after))), Origin::of_argument(0)}};
    ASSERT_TRUE(writer->finish_instance(instance).ok());
    CaptureInfo info;
    info.device = "cpu";
    ASSERT_TRUE(writer->finish(info).ok());
    for (auto& one : programs) ASSERT_TRUE(one.write(state_ / "capture" / kProgramsFolder).ok());
  }
  Result<fs::path> extract(const std::string& kernel) {
    ExtractOptions options;
    options.kernel = kernel, options.state = state_, options.templates = MEP_TEMPLATES;
    return extract_mep(options);
  }
};

TEST_F(RuntimeSource, BecomesAMepWithoutAnyScanOfAnApplication) {
  capture("scale", {program(ptx("scale")), program(ptx("unrelated"), 3)});
  auto folder = extract("scale");
  ASSERT_TRUE(folder.ok()) << folder.error().message;
  auto mep = Mep::read(*folder);
  ASSERT_TRUE(mep.ok()) << mep.error().message;
  EXPECT_TRUE(mep->proven) << mep->proof_note;
  EXPECT_EQ(mep->instances.size(), 1u);
  EXPECT_EQ(fs::path(mep->app_root).parent_path(), state_ / "programs");
  auto origin = origin_of_program(mep->app_root);
  ASSERT_TRUE(origin);
  EXPECT_THAT(*origin, HasSubstr("'scale.cu' that python3 run.py had compiled by NVRTC"));
  EXPECT_THAT(*origin, HasSubstr("/app/libphysics.so"));
  EXPECT_FALSE(origin_of_program(scratch_.path()));
}

TEST_F(RuntimeSource, ATemplatesInstanceIsTheOneThatTheApplicationNamed) {
  capture("_Z5twiceIdEvPT_", {program(ptx("_Z5twiceIdEvPT_"))});
  auto folder = extract("twice");
  ASSERT_TRUE(folder.ok()) << folder.error().message;
  EXPECT_EQ(Mep::read(*folder)->kernel_mangled, "_Z5twiceIdEvPT_");
}

TEST_F(RuntimeSource, OfTwoDifferentTextsWithOneKernelNothingIsGuessed) {
  capture("scale", {program(ptx("scale"), 2), program(ptx("scale"), 3)});
  auto folder = extract("scale");
  ASSERT_FALSE(folder.ok());
  EXPECT_EQ(folder.error().exit, Exit::Refused);
  EXPECT_THAT(folder.error().message, HasSubstr("2 programs by NVRTC that define scale"));
}

TEST_F(RuntimeSource, WithoutItsTextTheKernelIsLeftAsBefore) {
  capture("scale", {});
  auto folder = extract("scale");
  ASSERT_FALSE(folder.ok());
  EXPECT_THAT(folder.error().message, HasSubstr("nothing has been scanned yet"));
}

TEST_F(RuntimeSource, AHeadersNameDoesNotLeadOutOfItsFolder) {
  RuntimeProgram hostile = program(ptx("scale"));
  hostile.headers["../../../escaped.h"] = "x";
  capture("scale", {hostile});
  EXPECT_FALSE(extract("scale").ok());
  EXPECT_FALSE(fs::exists(scratch_.path() / "escaped.h"));
}

TEST_F(RuntimeSource, KeepsTheOptionsThatNvccHas) {
  EXPECT_THAT(nvcc_options_of(program("")), ElementsAre("-std=c++17", "--gpu-architecture=sm_90"));
}

TEST(RuntimeProgram, IsReadAsItWasWritten) {
  auto scratch = std::move(*TemporaryFolder::create("kernelift-program"));
  RuntimeProgram program;
  program.name = "/somewhere/my kernel.cu.in", program.source = "__global__ void k() {}\n";
  program.options = {"-arch=sm_90"}, program.image = ".visible .entry _Z1kv(\n)", program.command = {"./app", ""};
  ASSERT_TRUE(program.write(scratch.path() / kProgramsFolder).ok());
  ASSERT_TRUE(program.write(scratch.path() / kProgramsFolder).ok()) << "a second compile of the same";
  auto programs = runtime_programs(scratch.path());
  ASSERT_EQ(programs.size(), 1u);
  EXPECT_EQ(programs[0].key(), program.key());
  EXPECT_EQ(programs[0].image, program.image);
  EXPECT_EQ(programs[0].command, program.command);
  EXPECT_THAT(kernels_of(programs[0]), ElementsAre("_Z1kv"));
  EXPECT_EQ(programs[0].file_name(), "mykernel.cu.cu");
}

}  // namespace
}  // namespace kernelift::extractor
