// The CUDA recorder whole, without a GPU. What only a real driver shows is in gpu_recorder_test.cpp.
#include <sys/wait.h>

#include <csignal>
#include <thread>

#include "extractor/record/tests/cuda_recorder_rig.h"

namespace kernelift {
namespace {

using ::testing::HasSubstr;

TEST_F(CudaRecorderTest, KeepsImagesBeforeAndAfterAndDurationsOfTheOtherLaunches) {
  auto& recorder = start();
  auto& memory = allocate(100'000);
  for (int i = 0; i < 100; ++i) launch(memory, 1, CUDA_SUCCESS, i < 2 ? 500 : 10);
  recorder.finish();
  auto found = capture();
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_TRUE(found->info().complete);
  EXPECT_THAT(found->info().device, HasSubstr("cuda:Fake:sm_0"));
  ASSERT_EQ(found->info().profile.size(), 1u);
  EXPECT_EQ(found->info().profile[0].count, 100u);
  EXPECT_EQ(found->info().profile[0].key, canonical_key(kName));
  ASSERT_EQ(found->instances().size(), 4u);
  for (auto& instance : found->instances()) {
    ASSERT_EQ(instance.regions.size(), 1u);
    int before, after;
    std::memcpy(&before, found->load(instance.regions[0].before)->data() + 44, 4);
    std::memcpy(&after, found->load(instance.regions[0].after)->data() + 44, 4);
    EXPECT_EQ(before, int(instance.launch_index));
    EXPECT_EQ(after, before + 1);
    EXPECT_NEAR(instance.microseconds, 10, 1e-6) << "captured launches do not count";
  }
}

TEST_F(CudaRecorderTest, KeepsALaunchThatChangesMemoryAmongManyThatDoNot) {
  config_.instances = 1;
  auto& recorder = start();
  auto& memory = allocate(1000);
  for (int i = 0; i < 50; ++i) launch(memory, i == 16 ? 1 : 0);
  recorder.finish();
  auto found = capture();
  ASSERT_TRUE(found.ok()) << found.error().message;
  ASSERT_EQ(found->instances().size(), 1u);
  EXPECT_EQ(found->instances()[0].launch_index, 16u);
}

TEST_F(CudaRecorderTest, SaysThatDurationsNeverCameAndKeepsWhatItCaptured) {
  auto& recorder = start();
  auto& memory = allocate(1);
  launch(memory, 1, CUDA_SUCCESS, -1);
  uint32_t captured = correlation_;
  for (int i = 0; i < (1 << 18) + 2; ++i) launch(memory, 1, CUDA_SUCCESS, -1);
  std::swap(captured, correlation_);
  ran(77);  // Of the first, at last.
  recorder.finish();
  auto found = capture();
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_THAT(omissions(*found), HasSubstr("durations: those of many launches never came"));
  ASSERT_FALSE(found->instances().empty());
  EXPECT_NEAR(found->instances()[0].microseconds, 77, 1e-6);
}

TEST_F(CudaRecorderTest, ALaunchOfNoBlocksIsNone) {
  auto none = [&](std::vector<int>& memory) { launch(memory, 1, CUDA_ERROR_INVALID_VALUE, 0, 0); };
  auto& recorder = start();
  auto& memory = allocate(1000);
  none(memory);
  launch(memory, 1);
  none(memory);
  recorder.finish();
  auto found = capture();
  ASSERT_TRUE(found.ok()) << found.error().message;
  ASSERT_EQ(found->instances().size(), 1u);
  EXPECT_EQ(found->instances()[0].launch_index, 0u);
  EXPECT_EQ(found->info().profile.at(0).count, 1u);
  EXPECT_THAT(omissions(*found), ::testing::Not(HasSubstr("did not launch it")));
}

TEST_F(CudaRecorderTest, ALaunchOfNoBlocksIsNotCountedOfAKernelThatIsNotWantedEither) {
  config_.kernel = "another";
  auto& recorder = start();
  auto& memory = allocate(1000);
  for (unsigned grid : {0u, 4u, 0u, 4u}) launch(memory, 1, grid ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE, 10, grid);
  recorder.finish();
  auto found = capture();
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_EQ(found->info().profile.at(0).count, 2u);
}

TEST_F(CudaRecorderTest, SaysWhichArgumentsMemoryOtherWorkTouchedBeforeMostLaunches) {
  auto& recorder = start();
  auto &memory = allocate(1000), &copied_to = allocate(2000);
  for (int i = 0; i < 20; ++i) {
    launch(memory, 1);
    call(CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoD_v2,
         cuMemcpyHtoD_v2_params{reinterpret_cast<CUdeviceptr>(copied_to.data()), nullptr, 4});
  }
  recorder.finish();
  EXPECT_THAT(capture()->instances().at(0).like.rewritten, ::testing::IsEmpty()) << "another buffer";
  reinterpret_cast<CUptiResult (*)(CUpti_SubscriberHandle)>(dlsym(library_, "cuptiUnsubscribe"))(nullptr);

  auto scratch = std::move(*TemporaryFolder::create("kernelift-cuda-recorder-test"));
  config_.folder = scratch.path().string();
  auto& second = start();
  for (int i = 0; i < 20; ++i) {
    if (i != 7)
      call(CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoD_v2,
           cuMemcpyHtoD_v2_params{reinterpret_cast<CUdeviceptr>(memory.data()), nullptr, 4});
    launch(memory, 1);
  }
  second.finish();
  auto found = Capture::open(scratch.path() / ("process-" + std::to_string(getpid())));
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_THAT(found->instances().at(0).like.rewritten, ::testing::ElementsAre(0u));
}

TEST_F(CudaRecorderTest, NamesMemoryThatNothingLeadsToOrTakesItToo) {
  for (bool all : {false, true}) {
    config_.all_memory = all;
    auto scratch = std::move(*TemporaryFolder::create("kernelift-cuda-recorder-test"));
    config_.folder = scratch.path().string();
    auto& recorder = start();
    auto &memory = allocate(1000), &hidden = allocate(5000);
    hidden[7] = 3;
    launch(memory, 1);
    recorder.finish();
    reinterpret_cast<CUptiResult (*)(CUpti_SubscriberHandle)>(dlsym(library_, "cuptiUnsubscribe"))(nullptr);
    auto found = Capture::open(scratch.path() / ("process-" + std::to_string(getpid())));
    ASSERT_TRUE(found.ok()) << found.error().message;
    auto& one = found->instances().at(0);
    ASSERT_EQ(one.regions.size(), all ? 2u : 1u);
    if (all) {
      auto& region = one.regions[one.regions[0].reached_from == "arg 0"];
      EXPECT_EQ(region.address, reinterpret_cast<uint64_t>(hidden.data()));
      EXPECT_EQ(region.reached_from, "alive at the launch");
      EXPECT_TRUE(one.unreached.empty());
    } else {
      EXPECT_THAT(one.unreached, ::testing::ElementsAre(MemoryRange{reinterpret_cast<uint64_t>(hidden.data()), 20000}));
    }
  }
}

TEST_F(CudaRecorderTest, AsksTheDriverNothingWhileAStreamCaptures) {
  auto& recorder = start();
  auto& memory = allocate(1000);
  launch(memory, 1);
  cuStreamBeginCapture_v2_params begin{reinterpret_cast<CUstream>(64), CU_STREAM_CAPTURE_MODE_GLOBAL};
  call(CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2, begin, [] { capture_open = true; });
  for (int i = 0; i < 30; ++i) launch(memory, 1);
  CUgraph graph = nullptr;
  cuStreamEndCapture_params end{reinterpret_cast<CUstream>(64), &graph};
  // A thread that did not begin it may not end it.
  call(CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture, end, [] {}, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
  for (int i = 0; i < 30; ++i) launch(memory, 1);
  call(CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture, end, [] { capture_open = false; });
  EXPECT_EQ(forbidden_calls, 0);
  launch(memory, 1);
  recorder.finish();
  auto found = capture();
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->instances().size(), 2u) << "one before, one after";
  EXPECT_EQ(found->info().profile.at(0).count, 2u);
}

TEST_F(CudaRecorderTest, SaysWhichKernelsWereLaunchedOnlyWhileAStreamCaptured) {
  auto& recorder = start();
  auto& memory = allocate(1000);
  int add = 1, *address = memory.data();
  void* arguments[] = {&address, &add};
  auto capture_on = [&](uint64_t stream, bool begins) {
    CUgraph graph = nullptr;
    cuStreamBeginCapture_v2_params begin{reinterpret_cast<CUstream>(stream), CU_STREAM_CAPTURE_MODE_RELAXED};
    cuStreamEndCapture_params end{reinterpret_cast<CUstream>(stream), &graph};
    if (begins) call(CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2, begin);
    else call(CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture, end);
  };
  auto launch_on = [&](uint64_t stream, const char* name, bool runs) {
    name_ = name, function_ = reinterpret_cast<CUfunction>(const_cast<char*>(name));
    cuLaunchKernel_params parameters{function_, 4, 1, 1, 32, 1, 1, 0, reinterpret_cast<CUstream>(stream), arguments, nullptr};
    call(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, parameters, [&] {
      if (runs) ran(10);
    });
  };
  alignas(16) static const char never[] = "_Z5neverPii", late[] = "_Z4latePii", node[] = "_Z4nodePii";
  launch_on(96, "_Z3addPii", true);
  capture_on(64, true);
  launch_on(64, node, false);
  for (auto name : {never, late}) launch_on(96, name, true);
  capture_on(64, false);
  launch_on(96, late, true);
  recorder.finish();
  auto found = capture();
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_THAT(omissions(*found), HasSubstr("never(int*,int): it was launched while a stream was being captured into a graph"));
  EXPECT_THAT(omissions(*found), ::testing::Not(HasSubstr("late(int*,int): it was launched")));
  EXPECT_THAT(omissions(*found), ::testing::Not(HasSubstr("node"))) << "that was no execution";
}

TEST_F(CudaRecorderTest, GivesUpOnADeviceThatDoesNotComeToRestAndStopsTryingInTheEnd) {
  auto& recorder = start();
  auto& memory = allocate(1000);
  stuck = true;
  auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < 2; ++i) launch(memory, 1);
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(30));
  EXPECT_EQ(memory[0], 2) << "the launches went on";
  stuck = false;
  for (int i = 2; i < 20; ++i) launch(memory, 1);
  recorder.finish();
  auto found = capture();
  ASSERT_TRUE(found.ok());
  EXPECT_THAT(omissions(*found), HasSubstr("launch 0 of add(int*,int): the device was not idle within 2 s"));
  EXPECT_THAT(omissions(*found), HasSubstr("launch 1 of"));
  ASSERT_EQ(found->instances().size(), 2u);
  EXPECT_EQ(found->instances()[0].launch_index, 2u) << "the first it could have";
}

TEST_F(CudaRecorderTest, RefusesALaunchWithoutACurrentContextAndTakesTheNextThatHasOne) {
  auto& recorder = start();
  auto& memory = allocate(1000);
  auto context = std::exchange(context_, nullptr);
  launch(memory, 1);
  context_ = context;
  launch(memory, 1);
  recorder.finish();
  auto found = capture();
  ASSERT_TRUE(found.ok());
  EXPECT_THAT(omissions(*found), HasSubstr("add(int*,int): it was launched by a thread without a current context"));
  ASSERT_EQ(found->instances().size(), 1u);
  EXPECT_EQ(found->instances()[0].launch_index, 1u);
}

TEST_F(CudaRecorderTest, AKernelWhoseImagesCannotBeHadIsGivenUpAloneAndByName) {
  auto& recorder = start();
  auto& memory = allocate(1000);
  stuck = true;
  launch(memory, 1);
  stuck = false, unreadable = true;
  launch(memory, 1);
  launch(memory, 1);
  unreadable = false;
  launch(memory, 1);
  name_ = "_Z5otherPii", function_ = reinterpret_cast<CUfunction>(0x8000);
  launch(memory, 1);
  recorder.finish();
  auto found = capture();
  ASSERT_TRUE(found.ok());
  EXPECT_THAT(omissions(*found),
              HasSubstr("add(int*,int): so it was 3 times in a row; no more images of it are taken"));
  ASSERT_EQ(found->instances().size(), 1u);
  EXPECT_EQ(found->instances()[0].kernel, "other(int*,int)");
}

TEST_F(CudaRecorderTest, ReadsNoMappedMemoryThatHasNoRightsOfAccess) {
  for (bool barred : {false, true}) {
    auto scratch = std::move(*TemporaryFolder::create("kernelift-cuda-recorder-test"));
    config_.folder = scratch.path().string();
    auto& recorder = start();
    auto& memory = *new std::vector<int>(1000);
    auto address = reinterpret_cast<CUdeviceptr>(memory.data());
    device_memory[address] = 4000;
    call(CUPTI_DRIVER_TRACE_CBID_cuMemMap, cuMemMap_params{address, 4000, 0, 0, 0});
    barred_memory = barred ? address : 0;
    launch(memory, 1);
    barred_memory = 0;
    recorder.finish();
    reinterpret_cast<CUptiResult (*)(CUpti_SubscriberHandle)>(dlsym(library_, "cuptiUnsubscribe"))(nullptr);
    auto found = Capture::open(scratch.path() / ("process-" + std::to_string(getpid())));
    ASSERT_TRUE(found.ok()) << found.error().message;
    EXPECT_EQ(found->instances().at(0).regions.size(), barred ? 0u : 1u);
    EXPECT_EQ(omissions(*found).find("without rights of access") != std::string::npos, barred);
  }
}

TEST_F(CudaRecorderTest, SaysWhichMemoryBelongsToAnotherProcess) {
  auto& recorder = start();
  auto& theirs = *new std::vector<int>(1000);
  auto address = reinterpret_cast<CUdeviceptr>(theirs.data());
  device_memory[address] = 4000;
  call(CUPTI_DRIVER_TRACE_CBID_cuIpcOpenMemHandle_v2, cuIpcOpenMemHandle_v2_params{&address, {}, 0});
  launch(theirs, 1);
  auto said = [&] {
    auto found = capture();
    return found.ok() ? omissions(*found) : found.error().message;
  };
  recorder.finish();
  EXPECT_THAT(said(), HasSubstr("(arg 0) belongs to another process"));
  EXPECT_EQ(capture()->instances().at(0).regions.size(), 1u) << "it is captured all the same";
}

TEST_F(CudaRecorderTest, DropsAFailedLaunchAndMemoryTheDriverNoLongerKnows) {
  auto& recorder = start();
  auto& memory = allocate(1000);
  launch(memory, 1, CUDA_ERROR_INVALID_VALUE);
  launch(memory, 1);
  device_memory.clear();
  for (int i = 0; i < 10; ++i) launch(memory, 1);
  recorder.finish();
  auto found = capture();
  ASSERT_TRUE(found.ok());
  ASSERT_EQ(found->instances().size(), 2u);
  EXPECT_EQ(found->instances()[0].launch_index, 1u);
  EXPECT_EQ(found->instances()[1].regions.size(), 0u);
  EXPECT_THAT(omissions(*found), HasSubstr("the driver no longer knows it"));
}

TEST_F(CudaRecorderTest, HoldsUpOtherThreadsWhileAnImageIsTaken) {
  config_.instances = 8;
  auto& recorder = start();
  auto& memory = allocate(200'000);
  std::atomic<uint32_t> ids{1000};
  auto work = [&] {
    for (int i = 0; i < 40; ++i) {
      int one = 1;
      int* address = memory.data();
      void* arguments[] = {&address, &one};
      cuLaunchKernel_params parameters{
          reinterpret_cast<CUfunction>(0x4000), 4, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr};
      uint64_t word = 0;
      CUresult result = CUDA_SUCCESS;
      CUpti_CallbackData data{};
      data.functionParams = &parameters, data.functionReturnValue = &result, data.correlationData = &word;
      data.correlationId = ++ids, data.symbolName = kName, data.context = context_;
      data.callbackSite = CUPTI_API_ENTER;
      deliver_(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, &data);
      __atomic_fetch_add(&memory[0], 1, __ATOMIC_SEQ_CST);
      data.callbackSite = CUPTI_API_EXIT;
      deliver_(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, &data);
    }
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) threads.emplace_back(work);
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(memory[0], 160);
  recorder.finish();
  auto found = capture();
  ASSERT_TRUE(found.ok());
  ASSERT_FALSE(found->instances().empty());
  for (auto& instance : found->instances()) {
    int before, after;
    std::memcpy(&before, found->load(instance.regions.at(0).before)->data(), 4);
    std::memcpy(&after, found->load(instance.regions.at(0).after)->data(), 4);
    EXPECT_EQ(after, before + 1);
  }
}

TEST_F(CudaRecorderTest, NoStreamIsDestroyedWhileAnImageIsTaken) {
  auto& recorder = start();
  auto& memory = allocate(1000);
  int* address = memory.data();
  int add = 1;
  void* arguments[] = {&address, &add};
  cuLaunchKernel_params parameters{
      reinterpret_cast<CUfunction>(0x4000), 4, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr};
  std::atomic<bool> destroyed{false};
  bool too_soon = false;
  std::thread other;
  call(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, parameters, [&] {
    other = std::thread([&] {
      cuStreamDestroy_v2_params gone{reinterpret_cast<CUstream>(64)};
      call(CUPTI_DRIVER_TRACE_CBID_cuStreamDestroy_v2, gone, [&] { destroyed = true; });
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    too_soon = destroyed;
  });
  other.join();
  EXPECT_FALSE(too_soon);
  EXPECT_TRUE(destroyed);
  recorder.finish();
  EXPECT_EQ(capture()->instances().size(), 1u);
}

TEST_F(CudaRecorderTest, EndsInTimeThoughItsLockIsNeverGivenBack) {
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

TEST_F(CudaRecorderTest, LetsAProcessEndInTheMiddleOfAnImage) {
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

TEST_F(CudaRecorderTest, NeverWaitsForItselfWhenASignalsHandlerComesInTheMiddle) {
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

TEST_F(CudaRecorderTest, LetsAHandlerLaunchInTheMiddleOfALaunchWhoseImagesAreTaken) {
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

TEST_F(CudaRecorderTest, EndsWithoutTheLastDurationsWhereCuptiDoesNotAnswer) {
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

TEST_F(CudaRecorderTest, AsksCuptiForNothingWhereASignalsHandlerEndsIt) {
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

TEST_F(CudaRecorderTest, EndsAtOnceWhereASignalsHandlerEndsIt) {
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

TEST_F(CudaRecorderTest, LeavesTheParentsFilesAloneInAForkedChild) {
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

TEST_F(CudaRecorderTest, IsSilentAfterItHasLetGo) {
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
TEST_F(CudaRecorderTest, LetsGoWhenTheApplicationSubscribesTheNewWay) {
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

TEST_F(CudaRecorderTest, LeavesRecordsToWhoeverAskedForThemBeforeCudaWasUsed) {
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

TEST_F(CudaRecorderTest, SaysWhyAProcessWithAProfilerOfItsOwnIsNotRecorded) {
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
}  // namespace kernelift
