// A MEP's program on another GPU than it was recorded on: it runs, or names the bytes, the feature or the address that
// forbid it. The GPU is told by fake_cudart.cpp, built into the program in the CUDA runtime's place.
#include <gmock/gmock.h>
#include <sys/personality.h>

#include "core/base/file.h"
#include "core/base/process.h"
#include "core/model/texture.h"
#include "mep-templates/mep_writer.h"

namespace kernelift::templates {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
namespace fs = std::filesystem;

class AnotherGpuTest : public ::testing::Test {
 protected:
  /// One program for all tests; each of its instances needs something.
  static void SetUpTestSuite() {
    auto nvcc = find_program("nvcc");
    if (!nvcc && fs::exists("/usr/local/cuda/bin/nvcc")) nvcc = "/usr/local/cuda/bin/nvcc";
    if (!nvcc) return;
    scratch_ = new TemporaryFolder(std::move(*TemporaryFolder::create("kernelift-another-gpu")));
    MepProgram program;
    program.kernel_text = "__global__ void keep(float* p) {}\n";
    Mep& mep = program.mep;
    mep.kernel_name = mep.kernel_key = "keep", mep.slice_mode = "slice";
    mep.captured_on = "cuda:NVIDIA H200:sm_90:580.159", mep.compile_flags = {"-std=c++17"};
    std::vector<std::byte> bytes(4096);
    auto add = [&](const std::string& id) -> MepInstance& {
      MepInstance one;
      one.id = id, one.geometry = {{8, 1, 1}, {1024, 1, 1}, 0, false};
      one.arguments.resize(8), one.parameters = {{0, 8}}, one.settings.known = true;
      uint64_t address = 0x100000000000;  // Where no process has anything.
      std::memcpy(one.arguments.data(), &address, sizeof address);
      MepRegion region;
      region.address = address, region.size = bytes.size(), region.element = "float",
      region.reached_from = Origin::of_argument(0), region.parameter = 0;
      region.before = region.after = *Mep::store(folder(), bytes);
      one.regions = {region};
      mep.instances.push_back(one);
      return mep.instances.back();
    };
    add("plain").settings.heap_limit = 64 << 20;
    add("cluster").settings.cluster = {4, 1, 1};
    add("shared").geometry.shared_bytes = 200'000;
    add("together").geometry.cooperative = true;
    add_surface(add("surface"));
    ASSERT_TRUE(write_mep_program(program, MEP_TEMPLATES, folder()).ok());
    ProcessOptions options;
    options.folder = folder();
    auto built = run_process({nvcc->string(), "-cudart", "none", "-o", "replay", "main.cu",
                              std::string(MEP_TEMPLATES) + "/tests/fake_cudart.cpp"},
                             options);
    ASSERT_TRUE(built.ok() && built->ok()) << (built.ok() ? built->out + built->err : built.error().message);
  }
  /// An array of 8 x 4 bytes of fours, written through a surface whose handle was 3: its first byte grows by one.
  static void add_surface(MepInstance& instance) {
    std::vector<std::byte> given(8 * 4 * 4, std::byte{7}), left = given;
    left[0] = std::byte{8};
    kl_texture surface = {};
    surface.memory = 0x100000100000, surface.width = 8, surface.height = 4;
    surface.row_bytes = 32, surface.layer_bytes = 128;
    surface.use = KL_SURFACE, surface.channels = 4, surface.bits = 8, surface.format = KL_TEXEL_UNSIGNED;
    MepRegion texels, object;
    texels.address = surface.memory, texels.size = given.size(), texels.kind = MemoryKind::Array;
    texels.element = "unsigned char", texels.reached_from = Origin::of_memory(3, 0);
    texels.before = *Mep::store(folder(), given), texels.after = *Mep::store(folder(), left);
    object.address = 3, object.size = sizeof surface, object.kind = MemoryKind::Texture;
    object.reached_from = Origin::of_argument(0);
    object.before = object.after = *Mep::store(folder(), std::as_bytes(std::span(&surface, 1)));
    const uint64_t handle = 3;
    std::memcpy(instance.arguments.data(), &handle, sizeof handle);
    instance.regions = {object, texels};
  }
  static void TearDownTestSuite() { delete scratch_; }
  void SetUp() override {
    if (!scratch_) GTEST_SKIP() << "nvcc is not installed";
  }
  static fs::path folder() { return scratch_->path() / "mep"; }

  ProcessOutcome run(const std::string& instance, std::vector<std::string> gpu) {
    std::vector<std::string> command = {"/usr/bin/env"};
    command.insert(command.end(), gpu.begin(), gpu.end());
    command.insert(command.end(), {(folder() / "replay").string(), "--no-timing", "--instance", instance});
    auto outcome = run_process(command);
    EXPECT_TRUE(outcome.ok());
    return outcome.ok() ? *outcome : ProcessOutcome{};
  }
  void expect_named(const std::string& instance, std::vector<std::string> gpu, const std::string& sentence) {
    auto outcome = run(instance, std::move(gpu));
    EXPECT_EQ(outcome.exit_code, 3) << outcome.out;
    EXPECT_THAT(outcome.err, HasSubstr(sentence));
  }
  static inline TemporaryFolder* scratch_ = nullptr;
};

TEST_F(AnotherGpuTest, RunsWhatNeedsNothingSpecialAndNamesTheAddressesThatItCouldNotHave) {
  auto outcome = run("plain", {"FAKE_CC=80"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("on Fake GPU (sm_80, driver for CUDA 13.0), captured on cuda:NVIDIA H200:sm_90:580.159"),
                    HasSubstr("addresses: RELOCATED (1 of 1 buffers; rewritten: 1 in arguments"),
                    HasSubstr("0x100000000000 lies at 0x"), HasSubstr("PASS")));
}

TEST_F(AnotherGpuTest, BeginsAnewWhereAnAddressIsRefusedAndSaysSo) {
  auto outcome = run("plain", {"FAKE_REFUSALS=0"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("addresses: same as recorded"), Not(HasSubstr("begun anew"))));
  outcome = run("plain", {"FAKE_REFUSALS=2"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("begun anew 2 times, and has them now"), HasSubstr("addresses: same as recorded")));
}

TEST_F(AnotherGpuTest, BeginsAnewThreeTimesAndNoMore) {
  auto outcome = run("plain", {"FAKE_REFUSALS=4"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("begun anew 3 times, and they still are"), HasSubstr("addresses: RELOCATED")));
  outcome = run("plain", {"FAKE_REFUSALS=4", "KERNELIFT_REPLAY_BEGUN_ANEW=nonsense"});
  EXPECT_THAT(outcome.out, HasSubstr("begun anew 3 times"));
}

TEST_F(AnotherGpuTest, LeavesNothingToChanceTheLastTime) {
  int before = personality(0xffffffff);
  if (before == -1 || personality(static_cast<unsigned long>(before) | ADDR_NO_RANDOMIZE) == -1)
    GTEST_SKIP() << "this may not be changed here";
  personality(static_cast<unsigned long>(before));
  auto outcome = run("plain", {"FAKE_CHANCE=1", "FAKE_REFUSALS=0"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("begun anew 3 times, and has them now"), HasSubstr("addresses: same as recorded")));
}

TEST_F(AnotherGpuTest, WhatASurfaceWritesIsComparedAndItsHandleIsTheRecordedOne) {
  for (const char* where : {"FAKE_REFUSALS=0", "FAKE_REFUSALS=9"}) {
    auto outcome = run("surface", {where});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("128 x unsigned char identical"));
  }
  expect_named("surface", {"FAKE_HANDLE=4"},
               "the driver does not give the handle 3 that a texture or surface object had");
}

TEST_F(AnotherGpuTest, NamesTheFeatureThatItLacks) {
  EXPECT_EQ(run("cluster", {"FAKE_CC=100"}).exit_code, 0);
  expect_named("cluster", {"FAKE_CC=80"},
               "this launch needs clusters of blocks, which sm_80 does not have (sm_90 and later do)");
  expect_named("plain", {"FAKE_NO_CODE=1", "FAKE_CC=120"},
               "this program holds no code for sm_120: build it with -arch=sm_120");
}

TEST_F(AnotherGpuTest, NamesTheBytesThatItLacks) {
  EXPECT_EQ(run("shared", {}).exit_code, 0);
  expect_named("shared", {"FAKE_CC=75", "FAKE_SHARED=65536"},
               "this launch needs 200 000 bytes of shared memory in a block, where sm_75 has 65 536");
  expect_named("plain", {"FAKE_FREE=4000"},
               "instance plain needs 4 096 bytes of device memory and 4 000 are free; choose a smaller one (--list "
               "shows sizes)");
  expect_named("plain", {"FAKE_LIMIT=1000000"},
               "67 108 864 bytes for the heap of device code, as the application had it, are refused by this device");
}

TEST_F(AnotherGpuTest, NamesTheBlocksAndThreadsThatDoNotFit) {
  EXPECT_EQ(run("together", {"FAKE_RESIDENT=4"}).exit_code, 0);
  expect_named("together", {"FAKE_RESIDENT=3"},
               "this launch needs a cooperative launch of 8 blocks that must all run at once, where this GPU holds 6");
  expect_named(
      "plain", {"FAKE_THREADS=640"},
      "this launch needs a block of 1024 threads, where this kernel can have 640 on sm_90 (it uses 100 registers)");
}

}  // namespace
}  // namespace kernelift::templates
