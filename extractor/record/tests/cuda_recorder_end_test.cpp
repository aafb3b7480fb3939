// How the CUDA recorder, without a GPU, ends and lets go: processes that end in the middle of an image or in a signal's
// handler, forked children, applications with profilers of their own.
#include <sys/wait.h>

#include <csignal>
#include <thread>

#include "extractor/record/tests/cuda_recorder_rig.h"

namespace kernelift::record {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

using CudaRecorderEndTest = CudaRecorderTest;

TEST_F(CudaRecorderEndTest, EndsInTimeThoughItsLockIsNeverGivenBack) {
  auto& recorder = start();
  std::atomic<bool> ended{false};
  std::thread at_exit;
  while_a_device_is_named = [&] {
    at_exit = std::thread([&] { recorder.finish(), ended = true; });
    for (int tries = 0; tries < 2000 && !ended; ++tries) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_TRUE(ended) << "it would wait for ever on a thread that a signal's handler has taken away from its work";
  };
  auto& memory = allocate(1000);
  launch(memory, 1);
  launch(memory, 1);
  ASSERT_TRUE(at_exit.joinable());
  at_exit.join();
}

TEST_F(CudaRecorderEndTest, LetsAProcessEndInTheMiddleOfAnImage) {
  auto& recorder = start();
  auto& memory = allocate(1000);
  std::atomic<bool> went_on{false};
  std::thread other;
  while_memory_is_copied = [&] {  // In a signal's handler; destructors wait for the other thread then.
    other = std::thread([&] { launch(memory, 1), went_on = true; });
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    recorder.finish();
    for (int tries = 0; tries < 1000 && !went_on; ++tries) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_TRUE(went_on);
  };
  launch(memory, 1);
  ASSERT_TRUE(other.joinable());
  other.join();
}

TEST_F(CudaRecorderEndTest, NeverWaitsForItselfWhenASignalsHandlerComesInTheMiddle) {
  config_.skip = 100;
  auto& recorder = start();
  auto &memory = allocate(1000), &other = allocate(1000);
  launch(memory, 1);
  static std::atomic<bool> over;
  over = false;
  while_a_device_is_named = [&] {  // Under the recorder's lock, and in no call of its own.
    launch(other, 1), launch(other, 1);
    allocate(1000);
    over = true;
  };
  // CUPTI hands its records over on whatever thread fills a buffer.
  auto flush = reinterpret_cast<CUptiResult (*)(uint32_t)>(dlsym(library_, "cuptiActivityFlushAll"));
  std::thread application([&] { flush(0); });
  for (int tries = 0; tries < 2000 && !over; ++tries) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  if (!over) application.detach();
  ASSERT_TRUE(over) << "it waits for a lock that its own thread holds";
  application.join();
  EXPECT_EQ(other[0], 2) << "the launches took place";
  recorder.finish();
  auto found = capture();
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_THAT(omissions(*found), HasSubstr("launches by a signal's handler: 2 came in the middle"));
}

TEST_F(CudaRecorderEndTest, LetsAHandlerLaunchInTheMiddleOfALaunchWhoseImagesAreTaken) {
  auto& recorder = start();
  auto &memory = allocate(1000), &other = allocate(1000);
  int* address = memory.data();
  int add = 1;
  void* arguments[] = {&address, &add};
  cuLaunchKernel_params parameters{function_, 4, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr};
  std::atomic<bool> over{false};
  std::thread application([&] {
    call(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, parameters, [&] { launch(other, 1), allocate(1000); });
    over = true;
  });
  for (int tries = 0; tries < 1000 && !over; ++tries) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  if (!over) application.detach();
  ASSERT_TRUE(over) << "it waits for an image to end that its own thread is taking";
  application.join();
  EXPECT_EQ(other[0], 1);
  recorder.finish();
  auto found = capture();
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_THAT(omissions(*found), HasSubstr("launches by a signal's handler: 1 came in the middle"));
}

TEST_F(CudaRecorderEndTest, EndsWithoutTheLastDurationsWhereCuptiDoesNotAnswer) {
  auto& recorder = start();
  auto& memory = allocate(1000);
  launch(memory, 1);
  *reinterpret_cast<int*>(dlsym(library_, "fake_silent")) = 1;
  auto begun = std::chrono::steady_clock::now();
  recorder.finish();
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(10));
  auto found = capture();
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_FALSE(found->instances().empty());
  EXPECT_THAT(omissions(*found), HasSubstr("could not be asked for when the process ended"));
  launch(memory, 1);
  EXPECT_EQ(memory[0], 2);
}

TEST_F(CudaRecorderEndTest, WritesNoFileWhileCuptiTellsTheLastDurations) {
  static std::function<double()> kept = [&] { return capture().ok() ? capture()->info().profile.at(0).total_us : -1; };
  static double kept_meanwhile;
  auto& recorder = start();
  auto& memory = allocate(1000);
  launch(memory, 1);
  *reinterpret_cast<void (**)()>(dlsym(library_, "fake_delivered")) = [] { kept_meanwhile = kept(); };
  recorder.finish();
  EXPECT_EQ(kept_meanwhile, 0) << "a slow disk would keep CUPTI busy while the process ends";
  EXPECT_GT(kept(), 0);
}

TEST_F(CudaRecorderEndTest, WaitsForTheLastDurationsAsLongAsTheyCome) {
  auto& recorder = start();
  auto& memory = allocate(1000);
  for (int i = 0; i < 10; ++i) launch(memory, 1);
  *reinterpret_cast<int*>(dlsym(library_, "fake_slow")) = 300;  // Longer than it would wait in silence.
  recorder.finish();
  auto found = capture();
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_THAT(omissions(*found), Not(HasSubstr("could not be asked for")));
  EXPECT_EQ(found->info().profile.at(0).count, 10u);
}

TEST_F(CudaRecorderEndTest, AsksCuptiForNothingWhereASignalsHandlerEndsIt) {
  static CudaRecorder* recorder;
  recorder = &start();
  auto& memory = allocate(1000);
  launch(memory, 1);
  *reinterpret_cast<int*>(dlsym(library_, "fake_silent")) = 1;  // As if what was interrupted held a lock of CUPTI's.
  auto before = std::signal(SIGUSR1, [](int) { recorder->finish(); });
  auto begun = std::chrono::steady_clock::now();
  raise(SIGUSR1);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(1));
  std::signal(SIGUSR1, before);
  auto found = capture();
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_FALSE(found->instances().empty());
}

TEST_F(CudaRecorderEndTest, EndsAtOnceWhereASignalsHandlerEndsIt) {
  config_.skip = 100;
  auto& recorder = start();
  auto& memory = allocate(1000);
  launch(memory, 1);
  auto took = std::chrono::steady_clock::duration::max();
  while_a_device_is_named = [&] {
    auto begun = std::chrono::steady_clock::now();
    recorder.finish();
    took = std::chrono::steady_clock::now() - begun;
  };
  reinterpret_cast<CUptiResult (*)(uint32_t)>(dlsym(library_, "cuptiActivityFlushAll"))(0);
  EXPECT_LT(took, std::chrono::seconds(1)) << "what its own thread holds is not waited for";
  launch(memory, 1);
  EXPECT_EQ(memory[0], 2);
}

TEST_F(CudaRecorderEndTest, LeavesTheParentsFilesAloneInAForkedChild) {
  auto& recorder = start();
  auto& memory = allocate(1000);
  launch(memory, 1);
  pid_t child = fork();
  if (child == 0) {
    recorder.forked();
    for (int i = 0; i < 20; ++i) launch(memory, 1);
    recorder.finish();
    _exit(fs::exists(scratch_.path() / ("process-" + std::to_string(getpid()))) ? 1 : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  launch(memory, 1);
  recorder.finish();
  EXPECT_EQ(capture()->info().profile.at(0).count, 2u);
}

TEST_F(CudaRecorderEndTest, IsSilentAfterItHasLetGo) {
  auto& recorder = start();
  auto& memory = allocate(1000);
  launch(memory, 1);
  recorder.let_go("the application profiles itself");
  launch(memory, 1);
  CUpti_SubscriberHandle handle;
  auto subscribe = reinterpret_cast<decltype(&cuptiSubscribe)>(dlsym(library_, "cuptiSubscribe"));
  EXPECT_EQ(
      subscribe(&handle, [](void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}, nullptr), CUPTI_SUCCESS);
  recorder.finish();
  auto found = capture();
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->info().profile.at(0).count, 1u);
  EXPECT_THAT(omissions(*found), HasSubstr("profiles itself"));
}

#if defined(__x86_64__) && CUPTI_API_VERSION >= 130000
TEST_F(CudaRecorderEndTest, LetsGoWhenTheApplicationSubscribesTheNewWay) {
  static CudaRecorder* recorder;
  recorder = &start();
  launch(allocate(1000), 1);
  ASSERT_TRUE(recorder->cupti().before_others_use_it([] { recorder->let_go("the application profiles itself"); }));
  auto subscribe = reinterpret_cast<decltype(&cuptiSubscribe_v2)>(dlsym(library_, "cuptiSubscribe_v2"));
  CUpti_SubscriberHandle handle;
  EXPECT_EQ(subscribe(
                &handle, [](void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}, nullptr, nullptr),
            CUPTI_SUCCESS);
  EXPECT_THAT(omissions(*capture()), HasSubstr("profiles itself"));
}
#endif

TEST_F(CudaRecorderEndTest, LeavesRecordsToWhoeverAskedForThemBeforeCudaWasUsed) {
  auto take =
      reinterpret_cast<decltype(&cuptiActivityRegisterCallbacks)>(dlsym(library_, "cuptiActivityRegisterCallbacks"));
  static int asked, given;
  asked = given = 0;
  take([](uint8_t** buffer, size_t* size,
          size_t*) { ++asked, *buffer = static_cast<uint8_t*>(std::malloc(*size = 4096)); },
       [](CUcontext, uint32_t, uint8_t* buffer, size_t, size_t) { ++given, std::free(buffer); });
  static CudaDriver driver = fake_driver();
  auto started = (*new CudaRecorder(config_, driver)).start(cupti_);
  ASSERT_FALSE(started.ok());
  EXPECT_EQ(started.error().exit, Exit::Refused);
  EXPECT_THAT(started.error().message, HasSubstr("uses CUPTI already"));
  reinterpret_cast<decltype(&cuptiActivityEnable)>(dlsym(library_, "cuptiActivityEnable"))(
      CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  CUpti_ActivityKernel10 kernel{};
  ran_(&kernel);
  reinterpret_cast<decltype(&cuptiActivityFlushAll)>(dlsym(library_, "cuptiActivityFlushAll"))(0);
  EXPECT_EQ(std::pair(asked, given), std::pair(1, 1)) << "they come to whoever asked first";
}

TEST_F(CudaRecorderEndTest, SaysWhyAProcessWithAProfilerOfItsOwnIsNotRecorded) {
  auto subscribe = reinterpret_cast<decltype(&cuptiSubscribe)>(dlsym(library_, "cuptiSubscribe"));
  CUpti_SubscriberHandle handle;
  ASSERT_EQ(
      subscribe(&handle, [](void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}, nullptr), CUPTI_SUCCESS);
  static CudaDriver driver = fake_driver();
  auto& recorder = *new CudaRecorder(config_, driver);
  auto started = recorder.start(cupti_);
  ASSERT_FALSE(started.ok());
  EXPECT_EQ(started.error().exit, Exit::Refused);
  recorder.refuse(started.error().message);
  EXPECT_THAT(capture()->info().omissions.at(0).why, HasSubstr("uses CUPTI already"));
}

}  // namespace
}  // namespace kernelift::record
