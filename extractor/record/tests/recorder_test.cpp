// The recorder in this very process: trouble it must take quietly, and what a launch costs that it does not capture.
#include "extractor/record/cpu/recorder.h"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <list>
#include <set>

#include "core/base/file.h"
#include "core/base/process.h"
#include "core/base/processor_time.h"
#include "extractor/record/tests/fake_runtime.h"

namespace kernelift::record {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

class RecorderTest : public ::testing::Test {
 protected:
  void launch(
      Recorder& recorder, const fake::Kernel& kernel, const std::vector<unsigned char>& arguments, double seconds,
      const std::function<void()>& work = [] {}, kl_dim3 grid = {1, 1, 1}) {
    runtime_.launch([&](const kl_record_launch* l) { recorder.launch_begin(*l); },
                    [&](const kl_record_launch* l, double s) { recorder.launch_end(*l, s); }, kernel, arguments, grid,
                    seconds, work);
  }
  fs::path process_folder() { return scratch_.path() / ("process-" + std::to_string(getpid())); }
  RecordConfig config() {
    RecordConfig config;
    config.folder = scratch_.path().string();
    return config;
  }

  TemporaryFolder scratch_ = std::move(*TemporaryFolder::create("kernelift-recorder-test"));
  fake::Runtime runtime_;
  fake::Kernel kernel_{"_Z1kPf", {{0, 8}}};
};

TEST_F(RecorderTest, SeesInPlaceUpdatesOfMemoryAndVariables) {
  auto* data = runtime_.allocate<float>(300'000);
  static int counter;
  counter = 41;
  runtime_.variables = {{"counter", &counter, sizeof counter, 0, 0}};
  Recorder recorder(config(), runtime_.view);
  launch(recorder, kernel_, fake::pack(data), 1e-6, [&] { data[299'999] = 1, ++counter; });
  recorder.finish();
  auto capture = Capture::open(process_folder());
  ASSERT_TRUE(capture.ok()) << capture.error().message;
  auto& instance = capture->instances().at(0);
  auto& region = instance.regions.at(0);
  ASSERT_EQ(region.before.chunks.size(), 2u);
  EXPECT_EQ(region.before.chunks[0], region.after.chunks[0]) << "unchanged chunks are shared";
  EXPECT_NE(region.before.chunks[1], region.after.chunks[1]);
  int before = 0, after = 0;
  std::memcpy(&before, capture->load(instance.variables.at(0).before)->data(), 4);
  std::memcpy(&after, capture->load(instance.variables.at(0).after)->data(), 4);
  EXPECT_EQ(before, 41);
  EXPECT_EQ(after, 42);
}

TEST_F(RecorderTest, TheSpanIsFromTheFirstLaunchToTheLastWithWhatTheHostDoesInBetween) {
  auto pause = [](int milliseconds) { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); };
  auto profile = config();
  profile.profile_only = true;
  Recorder recorder(profile, runtime_.view);
  pause(50);
  for (int i = 0; i < 2; ++i) {
    launch(recorder, kernel_, fake::pack(nullptr), 0.01, [&] { pause(10); });
    pause(40);
  }
  recorder.finish();
  auto capture = Capture::open(process_folder());
  ASSERT_TRUE(capture.ok()) << capture.error().message;
  EXPECT_GE(capture->info().span_seconds, 0.06);
  EXPECT_LE(capture->info().span_seconds, capture->info().run_seconds - 0.09);
}

TEST_F(RecorderTest, KeepsALaunchThatChangesMemoryAmongManyThatDoNot) {
  auto* data = runtime_.allocate<float>(10);
  auto one = config();
  one.instances = 1;
  Recorder recorder(one, runtime_.view);
  for (int i = 0; i < 50; ++i) launch(recorder, kernel_, fake::pack(data), 1e-6, [&] { data[0] = i < 10 ? 0 : 1 + i; });
  recorder.finish();
  auto capture = Capture::open(process_folder());
  ASSERT_TRUE(capture.ok()) << capture.error().message;
  ASSERT_EQ(capture->instances().size(), 1u);
  EXPECT_EQ(capture->instances()[0].launch_index, 16u);
}

TEST_F(RecorderTest, TakesALaunchWhoseModuleHasBeenUnloaded) {
  auto* data = runtime_.allocate<float>(10);
  auto arguments = fake::pack(data);
  Recorder recorder(config(), runtime_.view);
  kl_record_launch unloaded{&kernel_.kernel, nullptr, nullptr, {1, 1, 1}, {32, 1, 1}, 0, 0, arguments.data(), 0};
  recorder.launch_begin(unloaded);
  recorder.launch_end(unloaded, 1e-6);
  recorder.finish();
  auto capture = Capture::open(process_folder());
  ASSERT_TRUE(capture.ok());
  ASSERT_EQ(capture->instances().size(), 1u);
  EXPECT_TRUE(capture->instances()[0].variables.empty());
}

TEST_F(RecorderTest, LeavesAnInstanceOutThatTheDiskHasNoRoomForAndTakesSmallerOnes) {
  Archive archive(scratch_.path().string());
  EXPECT_FALSE(archive.has_room("a giant", {{0, uint64_t(1) << 60, MemoryKind::Device, Origin::of_argument(0)}}, 0,
                                ~uint64_t(0)));
  EXPECT_FALSE(archive.stopped());
  EXPECT_TRUE(archive.has_room("another", {{0, 1000, MemoryKind::Device, Origin::of_argument(0)}}, 0, ~uint64_t(0)));
}

TEST_F(RecorderTest, CountsAllItsOwnTimeAsItsOwn) {
  auto* data = runtime_.allocate<float>(100'000);
  auto arguments = fake::pack(data);
  std::list<fake::Kernel> kernels;  // They know where they lie.
  for (int i = 0; i < 20; ++i)
    kernels.emplace_back("_Z2k" + std::to_string(i) + "Pf", std::vector<kl_parameter>{{0, 8}});
  Recorder recorder(config(), runtime_.view);
  double inside =
      0;  // Processor time: a busy machine may suspend this thread just before the recorder looks at a clock.
  for (auto& kernel : kernels) {
    kl_record_launch launch{&kernel.kernel, nullptr, nullptr, {1, 1, 1}, {32, 1, 1}, 0, 0, arguments.data(), 0};
    const double began = thread_seconds();
    recorder.launch_begin(launch);
    recorder.launch_end(launch, 1e-6);
    inside += thread_seconds() - began;
  }
  recorder.finish();
  auto capture = Capture::open(process_folder());
  ASSERT_TRUE(capture.ok()) << capture.error().message;
  EXPECT_EQ(capture->instances().size(), kernels.size());
  EXPECT_GT(capture->info().recorder_seconds, 0.9 * inside);
}

TEST_F(RecorderTest, LeavesFailedLaunchesOutAndNamesTheirKernel) {
  auto* data = runtime_.allocate<float>(10);
  Recorder recorder(config(), runtime_.view);
  launch(recorder, kernel_, fake::pack(data), -1);
  launch(recorder, kernel_, fake::pack(data), 1e-6);
  recorder.finish();
  auto capture = Capture::open(process_folder());
  ASSERT_TRUE(capture.ok());
  EXPECT_EQ(capture->info().profile.at(0).count, 1u);
  ASSERT_EQ(capture->instances().size(), 1u);
  EXPECT_EQ(capture->instances()[0].launch_index, 1u);
  ASSERT_EQ(capture->info().omissions.size(), 1u);
  EXPECT_EQ(capture->info().omissions[0].why, "launches of it failed: the application's stderr says why");
}

TEST_F(RecorderTest, NamesTheKernelWhereEveryLaunchFailed) {
  auto* data = runtime_.allocate<float>(10);
  Recorder recorder(config(), runtime_.view);
  launch(recorder, kernel_, fake::pack(data), -1);
  recorder.finish();
  auto capture = Capture::open(process_folder());
  ASSERT_TRUE(capture.ok());
  EXPECT_EQ(capture->info().omissions.size(), 1u);
}

TEST_F(RecorderTest, SaysWhyTheDeviceRefusedAKernel) {
  auto* data = runtime_.allocate<float>(10);
  Recorder recorder(config(), runtime_.view);
  fake::Kernel refused("_Z1rPf", {{0, 8}});
  refused.kernel.mode = KL_MODE_REFUSED, refused.kernel.mode_reason = "no mma (k.cu:3)";
  for (int i = 0; i < 2; ++i) launch(recorder, refused, fake::pack(data), -1);
  launch(recorder, kernel_, fake::pack(data), 1e-6);
  recorder.finish();
  auto capture = Capture::open(process_folder());
  ASSERT_TRUE(capture.ok());
  EXPECT_EQ(capture->instances().size(), 1u);
  ASSERT_EQ(capture->info().omissions.size(), 1u);
  EXPECT_EQ(capture->info().omissions[0].what, "r(float*)");
  EXPECT_EQ(capture->info().omissions[0].why, "no mma (k.cu:3)");
}

TEST_F(RecorderTest, GoesOnSilentlyWhenItsFolderCannotBeMade) {
  auto* data = runtime_.allocate<float>(10);
  auto nowhere = config();
  nowhere.folder = "/proc/no/such/folder";
  Recorder recorder(nowhere, runtime_.view);
  int ran = 0;
  for (int i = 0; i < 5; ++i) launch(recorder, kernel_, fake::pack(data), 1e-6, [&] { ++ran; });
  recorder.finish();
  EXPECT_EQ(ran, 5);
}

TEST_F(RecorderTest, SwitchesOffWhenTheArchiveCannotGrowAndSaysSo) {
  auto* data = runtime_.allocate<float>(10);
  pid_t child = fork();
  if (child == 0) {
    // A file-size limit whose signal would end the process, as the shell's `ulimit -f` sets it.
    rlimit limit{1 << 20, 1 << 20};
    setrlimit(RLIMIT_FSIZE, &limit);
    auto* large = runtime_.allocate<unsigned>(2 << 20);
    for (unsigned i = 0; i < 2u << 20; ++i) large[i] = i * 2654435761u;
    Recorder recorder(config(), runtime_.view);
    launch(recorder, kernel_, fake::pack(data), 1e-6);
    fake::Kernel other("_Z1lPj", {{0, 8}});
    for (int i = 0; i < 10; ++i) launch(recorder, other, fake::pack(large), 1e-6);
    recorder.finish();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  auto capture = Capture::open(scratch_.path() / ("process-" + std::to_string(child)));
  ASSERT_TRUE(capture.ok()) << capture.error().message;
  EXPECT_EQ(capture->instances().size(), 1u);
  ASSERT_EQ(capture->info().omissions.size(), 1u);
  EXPECT_THAT(capture->info().omissions[0].why, HasSubstr("blobs.klb"));
  EXPECT_EQ(capture->info().profile.size(), 2u);
}

TEST_F(RecorderTest, RemembersEveryDistinctLaunchShapeOfAKernel) {
  auto* data = runtime_.allocate<float>(10);
  Recorder recorder(config(), runtime_.view);
  for (uint32_t i = 0; i < 30; ++i) launch(recorder, kernel_, fake::pack(data), 1e-6, [] {}, {1 + i % 3, 1, 1});
  recorder.finish();
  auto capture = Capture::open(process_folder());
  ASSERT_TRUE(capture.ok());
  EXPECT_EQ(capture->info().profile.at(0).shapes.size(), 3u);
  std::set<uint32_t> grids;
  for (auto& instance : capture->instances()) grids.insert(instance.geometry.grid.x);
  EXPECT_EQ(grids.size(), 3u);
}

TEST_F(RecorderTest, GivesInstancesOfNamesakesIdsOfTheirOwn) {
  auto* data = runtime_.allocate<float>(10);
  Recorder recorder(config(), runtime_.view);
  fake::Kernel namesake("_ZL1kPf", {{0, 8}});  // Of another unit: the same canonical key.
  for (int i = 0; i < 2; ++i)
    for (auto* kernel : {&kernel_, &namesake}) launch(recorder, *kernel, fake::pack(data), 1e-6);
  recorder.finish();
  auto capture = Capture::open(process_folder());
  ASSERT_TRUE(capture.ok());
  std::set<std::string> ids;
  for (auto& instance : capture->instances()) {
    ids.insert(instance.id);
    EXPECT_EQ(instance.kernel, "k(float*)");
  }
  EXPECT_EQ(ids.size(), 4u);
  EXPECT_EQ(capture->info().shares.size(), 4u);
}

TEST(Archive, NeverGivesTwoKernelsOneMark) {
  auto scratch = std::move(*TemporaryFolder::create("kernelift-archive-test"));
  Archive archive(scratch.path().string());
  std::set<std::string> marks;
  constexpr int kKernels = 3000;  // Of four hex digits alone some seventy would be given twice.
  for (int i = 0; i < kKernels; ++i) marks.insert(archive.mark_of_kernel("kernel " + std::to_string(i)));
  marks.insert(archive.mark_of_kernel("kernel 0"));
  EXPECT_EQ(marks.size(), kKernels + 1u);
  EXPECT_EQ(instance_id("3f2a", 7), "3f2a-0007");
}

TEST_F(RecorderTest, CostsLessThanAMicrosecondPerUnmatchedLaunch) {
  auto* data = runtime_.allocate<float>(10);
  auto unmatched = config();
  unmatched.kernel = "never";
  Recorder recorder(unmatched, runtime_.view);
  auto arguments = fake::pack(data);
  kl_record_launch one{&kernel_.kernel, &runtime_.image, nullptr, {1, 1, 1}, {32, 1, 1}, 0, 0, arguments.data(), 0};
  constexpr int kRounds = 50, kLaunches = 4000;
  double each = 1;  // Of the fastest round: in the others the machine may have had something else to do.
  for (int round = 0; round < kRounds; ++round) {
    auto started = std::chrono::steady_clock::now();
    for (int i = 0; i < kLaunches; ++i) recorder.launch_begin(one), recorder.launch_end(one, 1e-6);
    each =
        std::min(each, std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count() / kLaunches);
  }
  RecordProperty("nanoseconds_per_launch", std::to_string(each * 1e9));
  std::printf("%.0f ns per unmatched launch\n", each * 1e9);
  EXPECT_LT(each, 1e-6);
}

}  // namespace
}  // namespace kernelift::record
