// The CUDA recorder whole, without a GPU. What only a real driver shows is in gpu_recorder_test.cpp.
#include <thread>

#include "extractor/record/tests/cuda_recorder_rig.h"

namespace kernelift::record {
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

TEST_F(CudaRecorderTest, KeepsDurationsAsSoonAsThereAreAny) {
  start();
  auto& memory = allocate(1000);
  for (int i = 0; i < 3; ++i) launch(memory, 1);
  reinterpret_cast<CUptiResult (*)(uint32_t)>(dlsym(library_, "cuptiActivityFlushAll"))(0);  // A buffer is full.
  auto found = capture();  // Of an application that does other things now, until it is killed.
  ASSERT_TRUE(found.ok()) << found.error().message;
  ASSERT_EQ(found->info().profile.size(), 1u);
  EXPECT_GT(found->info().profile[0].total_us, 0);
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
      auto& region = one.regions[one.regions[0].reached_from.text() == "arg 0"];
      EXPECT_EQ(region.address, reinterpret_cast<uint64_t>(hidden.data()));
      EXPECT_EQ(region.reached_from.text(), "alive at the launch");
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
    cuLaunchKernel_params parameters{function_, 4,      1, 1, 32, 1, 1, 0, reinterpret_cast<CUstream>(stream),
                                     arguments, nullptr};
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
  EXPECT_THAT(omissions(*found),
              HasSubstr("never(int*,int): it was launched while a stream was being captured into a graph"));
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

TEST_F(CudaRecorderTest, CountsTheWaitForTheApplicationsOwnWorkAsTheApplicationsTime) {
  auto& recorder = start();
  auto& memory = allocate(1000);
  stuck = true;
  std::thread work([] { std::this_thread::sleep_for(std::chrono::milliseconds(500)), stuck = false; });
  auto began = std::chrono::steady_clock::now();
  launch(memory, 1);
  std::chrono::duration<double> taken = std::chrono::steady_clock::now() - began;
  work.join();
  recorder.finish();
  auto found = capture();
  ASSERT_TRUE(found.ok());
  ASSERT_EQ(found->instances().size(), 1u);
  EXPECT_GT(taken.count() - found->info().recorder_seconds, 0.1) << "the device was busy for half a second";
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

}  // namespace
}  // namespace kernelift::record
