// The CUDA recorder's parts without a GPU: host memory stands for device memory, a table of lambdas for the driver.
#include <elf.h>
#include <gmock/gmock.h>

#include <random>
#include <thread>

#include "core/base/file.h"
#include "core/model/kernel_key.h"
#include "core/tests/handmade_cubin.h"
#include "extractor/record/cuda/cupti/cupti.h"
#include "extractor/record/cuda/cupti/trampoline.h"
#include "extractor/record/cuda/kernel_table.h"
#include "extractor/record/cuda/last_touch.h"
#include "extractor/record/cuda/launch.h"
#include "extractor/record/cuda/memory/allocations.h"
#include "extractor/record/cuda/memory/images.h"
#include "extractor/record/cuda/memory/modules.h"
#include "extractor/record/cuda/memory/symbol_file.h"

// Not in the namespace: CUPTI's structures are C.
#include <cupti.h>

namespace kernelift::record {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

int local_thing = 1;  ///< Internal: its symbol stands behind this file's name.

TEST(SymbolFile, SaysWhichFileALocalSymbolCameFrom) {
  EXPECT_EQ(symbol_file_of(&local_thing), "cuda_parts_test.cpp");
  int on_the_stack = 0;
  EXPECT_EQ(symbol_file_of(&on_the_stack), "");
  EXPECT_EQ(symbol_file_of(nullptr), "");
}

TEST(SymbolFile, TakesTheSourcesStemOutOfNvccsTemporaryNames) {
  EXPECT_EQ(source_stem("tmpxft_00001304_00000000-6_two_words.cudafe1.cpp"), "two_words");
  EXPECT_EQ(source_stem("tmpxft_00001f3a_00000000-6_two.words.compute_90a.cudafe1.cpp"), "two.words");
  EXPECT_EQ(source_stem("plain.cudafe1.cpp"), "plain");
  EXPECT_EQ(source_stem("kernels.cu"), "kernels");
  EXPECT_EQ(source_stem("a.b.cudafe1.cpp"), "a.b");
  EXPECT_EQ(source_stem("link.stub"), "");
  EXPECT_EQ(source_stem(""), "");
}

/// Device memory that is this process's own; copies are made when they are waited for, as late as a device might.
class HostCopies : public CopySource {
 public:
  Result<std::vector<std::byte*>> buffers(size_t count, size_t bytes) override {
    std::vector<std::byte*> list;
    for (size_t i = 0; i < count; ++i) {
      memory_.push_back(std::make_unique<std::byte[]>(bytes));
      list.push_back(memory_.back().get());
    }
    under_way_.resize(count);
    return list;
  }
  const std::byte* direct(uint64_t address, MemoryKind kind) override {
    return kind == MemoryKind::HostMapped ? reinterpret_cast<const std::byte*>(address) : nullptr;
  }
  Status start(size_t buffer, uint64_t address, uint64_t size) override {
    if (address == fails_at) return environment_error("no such memory");
    under_way_[buffer] = {address, size};
    return done();
  }
  Status finish(size_t buffer) override {
    auto [address, size] = std::exchange(under_way_[buffer], {});
    std::memcpy(memory_[buffer].get(), reinterpret_cast<const void*>(address), size);
    return done();
  }
  uint64_t fails_at = 0;

 private:
  std::vector<std::unique_ptr<std::byte[]>> memory_;
  std::vector<std::pair<uint64_t, uint64_t>> under_way_;
};

class ImagesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    writer_ = std::move(*CaptureWriter::create(scratch_.path() / "capture"));
    uint64_t random = 1;
    for (auto& word : memory_) word = (random = random * 6364136223846793005u + 1442695040888963407u) >> 48;
  }
  std::vector<std::byte> read_back(const Image& image) {
    CapturedInstance instance;
    instance.id = "x", instance.regions = {{address(), MemoryKind::Device, image, image, Origin::of_argument(0)}};
    EXPECT_TRUE(writer_->finish_instance(instance).ok());
    auto capture = Capture::open(scratch_.path() / "capture");
    return capture.ok() ? *capture->load(image) : std::vector<std::byte>();
  }
  uint64_t address() { return reinterpret_cast<uint64_t>(memory_.data()); }
  uint64_t size() { return memory_.size() * sizeof(uint64_t); }
  bool equal(const std::vector<std::byte>& bytes) {
    return bytes.size() == size() && std::memcmp(bytes.data(), memory_.data(), size()) == 0;
  }

  TemporaryFolder scratch_ = std::move(*TemporaryFolder::create("kernelift-images-test"));
  std::unique_ptr<CaptureWriter> writer_;
  std::vector<uint64_t> memory_ = std::vector<uint64_t>((75 << 20) / 8 + 3);  // More than all buffers together.
  HostCopies copies_;
  WorkerThreads& workers_ = *new WorkerThreads(3);  // Its threads outlive the test.
  Images images_{copies_, workers_};
};

TEST_F(ImagesTest, StoresLargeMemoryWholeWithFewBuffers) {
  images_.begin(*writer_, false);
  auto image = images_.image(address(), size(), MemoryKind::Device);
  ASSERT_TRUE(image.ok()) << image.error().message;
  EXPECT_EQ(image->chunks.size(), (size() + kChunkBytes - 1) / kChunkBytes);
  EXPECT_TRUE(equal(read_back(*image)));
}

TEST_F(ImagesTest, ReadsPinnedMemoryWhereItLies) {
  images_.begin(*writer_, false);
  auto image = images_.image(address(), size(), MemoryKind::HostMapped);
  ASSERT_TRUE(image.ok());
  EXPECT_TRUE(equal(read_back(*image)));
}

TEST_F(ImagesTest, PinnedMemoryThatIsWrittenMeanwhileDamagesNothing) {
  std::atomic<bool> over{false};
  std::thread other([&] {
    for (uint64_t i = 0; !over; ++i) reinterpret_cast<std::atomic<uint64_t>&>(memory_[i * 4099 % memory_.size()]) = i;
  });
  images_.begin(*writer_, false);
  auto image = images_.image(address(), size(), MemoryKind::HostMapped);
  over = true;
  other.join();
  ASSERT_TRUE(image.ok());
  EXPECT_EQ(read_back(*image).size(), size());
}

TEST_F(ImagesTest, StoresWhileItLooksForAddressesAndReadsAgainOnlyWhatChanged) {
  int target = 0;
  memory_[7'000'001] = reinterpret_cast<uint64_t>(&target);
  AllocationMap map({{reinterpret_cast<uint64_t>(&target), sizeof target, MemoryKind::Device}});
  images_.begin(*writer_, true);
  auto found = images_.look_through(address(), size(), MemoryKind::Device, map);
  ASSERT_TRUE(found.ok());
  ASSERT_EQ(found->size(), 1u);
  EXPECT_EQ(found->front().offset, 7'000'001u * 8);
  uint64_t read = images_.bytes_read();
  auto before = images_.image(address(), size(), MemoryKind::Device);
  EXPECT_EQ(images_.bytes_read(), read) << "it is stored already";
  images_.changed();
  memory_[0] ^= 1;
  auto after = images_.image(address(), size(), MemoryKind::Device);
  ASSERT_TRUE(before.ok() && after.ok());
  EXPECT_NE(before->chunks[0], after->chunks[0]);
  EXPECT_TRUE(std::equal(before->chunks.begin() + 1, before->chunks.end(), after->chunks.begin() + 1));
}

TEST_F(ImagesTest, SaysWhichCopyFailedAndGoesOnWorking) {
  images_.begin(*writer_, false);
  copies_.fails_at = address() + 2 * Images::kBufferBytes;
  auto image = images_.image(address(), size(), MemoryKind::Device);
  ASSERT_FALSE(image.ok());
  EXPECT_THAT(image.error().message, HasSubstr("no such memory"));
  copies_.fails_at = 0;
  EXPECT_TRUE(images_.image(address(), size(), MemoryKind::Device).ok());
}

TEST(Allocations, JoinsMappedNeighboursOfOneReservationOnly) {
  Allocations allocations;
  Modules modules;
  constexpr uint64_t kMiB = 1 << 20, kBase = uint64_t(1) << 40;
  allocations.reserved(kBase, 8 * kMiB);
  allocations.reserved(kBase + 8 * kMiB, 8 * kMiB);
  for (int i : {1, 2, 7, 8}) allocations.mapped(kBase + i * kMiB, kMiB);
  auto map = allocations.map(modules);
  ASSERT_EQ(map->size(), 3u);
  EXPECT_EQ(map->find(kBase + kMiB)->size, 2 * kMiB);
  EXPECT_EQ(map->find(kBase + 8 * kMiB + 5)->size, kMiB) << "the reservation ends there";
  allocations.unmapped(kBase + kMiB, 2 * kMiB);
  EXPECT_EQ(allocations.map(modules)->size(), 2u);
}

TEST(Allocations, FollowTheDriversCalls) {
  Allocations allocations;
  Modules modules;
  CUdeviceptr address = 0x7f0000000000;
  size_t pitch = 512;
  cuMemAllocPitch_v2_params pitched{&address, &pitch, 400, 30, 4};
  note_memory_call(CUPTI_DRIVER_TRACE_CBID_cuMemAllocPitch_v2, &pitched, nullptr, true, false, allocations);
  EXPECT_EQ(allocations.map(modules)->size(), 0u) << "not before the driver gave it";
  note_memory_call(CUPTI_DRIVER_TRACE_CBID_cuMemAllocPitch_v2, &pitched, nullptr, false, true, allocations);
  ASSERT_EQ(allocations.map(modules)->size(), 1u);
  EXPECT_EQ(allocations.map(modules)->find(address)->size, 512u * 30);
  cuMemFree_v2_params freed{address};
  note_memory_call(CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2, &freed, nullptr, true, false, allocations);
  EXPECT_EQ(allocations.map(modules)->size(), 0u) << "gone before the driver takes it";
  note_memory_call(CUPTI_DRIVER_TRACE_CBID_cuMemAllocPitch_v2, &pitched, nullptr, false, false, allocations);
  EXPECT_EQ(allocations.map(modules)->size(), 0u) << "a call that failed gave nothing";
}

TEST(LastTouch, TellsMemoryOfOtherWorkFromMemoryThatTheKernelTouchedItself) {
  LastTouch touch;
  int producer = 0, consumer = 0;  // Names enough.
  struct {
    uint64_t in = 0x1000, scalar = 7, out = 0x2000;
  } consumes;
  auto bytes = std::as_bytes(std::span(&consumes, 1));
  auto other_bytes = std::as_bytes(std::span(&consumes.in, 1));
  EXPECT_EQ(touch.launched(&consumer, bytes, {0, 16}), 0u) << "nothing is known yet";
  EXPECT_EQ(touch.launched(&consumer, bytes, {0, 16}), 0u) << "its own";
  touch.launched(&producer, other_bytes, {0});
  EXPECT_EQ(touch.launched(&consumer, bytes, {0, 16}), 0b001u);
  EXPECT_EQ(touch.launched(&consumer, bytes, {0, 16}), 0u);
  touch.written(0x2000);
  touch.written(0x3000);
  EXPECT_EQ(touch.launched(&consumer, bytes, {0, 16}), 0b100u);
  EXPECT_EQ(touch.launched(&producer, other_bytes, {0}), 1u);
}

TEST(Launch, GathersArgumentsByTheLayoutAndFromPackedBuffers) {
  int first = 7;
  double second = 2.5;
  void* pointers[] = {&first, &second};
  std::vector<Parameter> layout = {{0, 4}, {8, 8}};
  cuLaunchKernel_params call{nullptr, 1, 2, 3, 4, 5, 6, 77, nullptr, pointers, nullptr};
  auto launch = decode_launch(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, &call);
  EXPECT_EQ(launch.geometry.grid, (Dim3{1, 2, 3}));
  EXPECT_EQ(launch.geometry.block, (Dim3{4, 5, 6}));
  EXPECT_EQ(launch.geometry.shared_bytes, 77u);
  auto gathered = pack_arguments(launch, layout);
  ASSERT_TRUE(gathered.ok());
  struct {
    int first;
    double second;
  } packed{7, 2.5};
  size_t size = sizeof packed;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
  cuLaunchKernel_params other{nullptr, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, extra};
  auto copied = pack_arguments(decode_launch(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, &other), layout);
  ASSERT_TRUE(copied.ok());
  EXPECT_EQ(std::memcmp(gathered->data(), copied->data(), 4), 0);
  EXPECT_EQ(std::memcmp(gathered->data() + 8, copied->data() + 8, 8), 0);
}

TEST(Launch, ReadsAttributesAndNamesThoseItDoesNotReplay) {
  CUlaunchAttribute attributes[4]{};
  attributes[0].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, attributes[0].value.clusterDim = {2, 1, 1};
  attributes[1].id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE, attributes[1].value.cooperative = 1;
  attributes[2].id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
  attributes[2].value.programmaticStreamSerializationAllowed = 1;
  attributes[3].id = CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW;
  CUlaunchConfig config{8, 1, 1, 128, 1, 1, 0, nullptr, attributes, 4};
  cuLaunchKernelEx_params call{&config, nullptr, nullptr, nullptr};
  auto launch = decode_launch(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz, &call);
  EXPECT_TRUE(launch.geometry.cooperative);
  auto settings = decode_settings(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz, launch);
  EXPECT_EQ(settings.cluster, (Dim3{2, 1, 1}));
  EXPECT_TRUE(settings.programmatic);
  EXPECT_EQ(settings.stream, "per-thread");
  EXPECT_THAT(settings.other, ElementsAre("access policy window"));
}

TEST(Launch, RefusesEntriesThatBringNoArguments) {
  cuLaunchGrid_params call{};
  auto launch = decode_launch(CUPTI_DRIVER_TRACE_CBID_cuLaunchGrid, &call);
  auto arguments = pack_arguments(launch, {{0, 8}});
  ASSERT_FALSE(arguments.ok());
  EXPECT_THAT(arguments.error().message, HasSubstr("cuLaunchGrid"));
}

/// What the fake driver's streams are doing.
TEST(Modules, TellsModulesOfOneKernelNameApartByTheirVariables) {
  static uint64_t size_in_driver = 0;
  CudaDriver driver;
  driver.cuFuncGetModule = [](CUmodule* module, CUfunction) { return *module = nullptr, CUDA_ERROR_INVALID_HANDLE; };
  driver.cuKernelGetLibrary = [](CUlibrary*, CUkernel) { return CUDA_ERROR_NOT_FOUND; };
  driver.cuKernelGetFunction = [](CUfunction* function, CUkernel kernel) {
    return *function = reinterpret_cast<CUfunction>(kernel), CUDA_SUCCESS;
  };
  static int asked = 0;
  driver.cuFuncGetModule = [](CUmodule* module, CUfunction) {
    *module = reinterpret_cast<CUmodule>(1);
    return asked++ % 2 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;  // The first handle is a CUkernel.
  };
  driver.cuModuleGetGlobal = [](CUdeviceptr* address, size_t* size, CUmodule, const char* name) {
    std::string which = name;
    if (which == "shared") return CUDA_ERROR_NOT_FOUND;
    *address = which == "table" ? 0x1000 : 0x2000, *size = which == "table" ? size_in_driver : 4;
    return CUDA_SUCCESS;
  };
  Modules modules;
  auto small = sample_image(64), large = sample_image(128);
  modules.loaded(1, small);
  modules.loaded(2, large);
  for (uint64_t size : {64, 128}) {
    size_in_driver = size;
    auto code = modules.code_of(driver, reinterpret_cast<CUfunction>(16), "_Z1kPf");
    ASSERT_TRUE(code.image);
    EXPECT_EQ(code.image->id, size == 64 ? 1u : 2u);
    ASSERT_EQ(code.variables.size(), 2u);
    EXPECT_EQ(code.variables[0].address, 0x1000u);
    EXPECT_THAT(code.unplaced, ElementsAre("shared"));
  }
  EXPECT_EQ(modules.variable_at(0x2000), "counter");
  driver.cuPointerGetAttribute = [](void*, CUpointer_attribute, CUdeviceptr address) {
    return address == 0x2000 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
  };
  EXPECT_THAT(modules.code_of(driver, reinterpret_cast<CUfunction>(16), "_Z1kPf").unplaced,
              ElementsAre("counter", "shared"))
      << "named, but no memory that could be read";
  driver.cuPointerGetAttribute = nullptr;
  modules.unloaded(2);
  EXPECT_FALSE(modules.code_of(driver, reinterpret_cast<CUfunction>(16), "_Z1kPf").image) << "sizes do not fit";
}

TEST(KernelTable, KnowsTheVariablesOfOneHandleInEveryContext) {
  static uint64_t current = 0;
  CudaDriver driver;
  driver.cuFuncGetModule = [](CUmodule* module, CUfunction function) {
    *module = reinterpret_cast<CUmodule>(function);
    return reinterpret_cast<uint64_t>(function) == 16 ? CUDA_ERROR_INVALID_HANDLE
                                                      : CUDA_SUCCESS;  // That is a CUkernel.
  };
  driver.cuKernelGetFunction = [](CUfunction* function, CUkernel) {
    return *function = reinterpret_cast<CUfunction>(current * 0x1000), CUDA_SUCCESS;
  };
  driver.cuModuleGetGlobal = [](CUdeviceptr* address, size_t* size, CUmodule module, const char* name) {
    *address = reinterpret_cast<uint64_t>(module) + (name[0] == 't' ? 0x100 : 0), *size = name[0] == 't' ? 64 : 4;
    return name[0] == 's' ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
  };
  driver.cuFuncGetAttribute = [](int*, CUfunction_attribute, CUfunction) { return CUDA_SUCCESS; };
  RecordConfig config;
  KernelPattern pattern(config);
  Modules modules;
  modules.loaded(1, sample_image(64));
  KernelTable kernels(config, pattern, driver, modules);
  auto handle = reinterpret_cast<CUfunction>(16);
  CudaKernel* kernel = nullptr;
  for (int round = 0; round < 2; ++round)
    for (uint64_t context : {1, 2}) {
      current = context;
      auto* found = kernels.find(handle, reinterpret_cast<CUcontext>(context), "_Z1kPf", false);
      ASSERT_TRUE(found);
      EXPECT_TRUE(!kernel || kernel == found) << "one kernel, wherever it runs";
      kernel = found;
      auto& variables = kernel->codes[reinterpret_cast<CUcontext>(context)].variables;
      ASSERT_EQ(variables.size(), 2u);
      EXPECT_EQ(variables[0].address, context * 0x1000 + 0x100);
    }
}

TEST(Modules, KnowNothingOfAHandleThatIsGone) {
  static const void* asked = nullptr;
  CudaDriver driver;
  driver.cuFuncGetModule = [](CUmodule* module, CUfunction) {
    return *module = reinterpret_cast<CUmodule>(8), CUDA_SUCCESS;
  };
  Modules modules;
  auto stem = [&] { return modules.code_of(driver, reinterpret_cast<CUfunction>(16), "k").source_stem; };
  modules.code_given(reinterpret_cast<void*>(8), &asked);
  EXPECT_EQ(stem(), "cuda_parts_test");
  EXPECT_EQ(modules.code_of(driver, reinterpret_cast<CUfunction>(16), "k").object,
            std::filesystem::read_symlink("/proc/self/exe").filename());
  auto made = std::make_unique<char[]>(64);
  modules.code_given(reinterpret_cast<void*>(8), made.get());
  EXPECT_EQ(modules.code_of(driver, reinterpret_cast<CUfunction>(16), "k").object, kInMemory) << "as NVRTC's is";
  modules.handle_gone(reinterpret_cast<void*>(8));
  EXPECT_EQ(stem(), "");
}

int calls_before = 0;
/// By NVIDIA's own CUPTI, which keeps who takes records without a driver too. Exit code 0: as it should be.
int take_records_twice(const std::filesystem::path& path) {
  auto cupti = Cupti::open(path.string());
  if (!cupti.ok()) return 1;
  auto complete = [](CUcontext, uint32_t, uint8_t*, size_t, size_t) {};
  auto his_complete = [](CUcontext, uint32_t, uint8_t*, size_t, size_t) { std::abort(); };
  CUpti_BuffersCallbackRequestFunc ours = [](uint8_t**, size_t*, size_t*) {},
                                   his = [](uint8_t** at, size_t*, size_t*) { *at = nullptr; };
  if (!cupti->take_records(ours, complete).ok()) return 2;  // Nobody has them.
  if (!cupti->take_records(ours, complete).ok()) return 3;  // They are ours.
  if (cupti->cuptiActivityRegisterCallbacks(his, his_complete) != CUPTI_SUCCESS) return 4;
  for (int i = 0; i < 2; ++i)  // The second time: they were given back.
    if (auto taken = cupti->take_records(ours, complete); taken.ok() || taken.error().exit != Exit::Refused)
      return 5 + i;
  return 0;
}

TEST(TakingRecords, IsRefusedWhereSomebodyTakesThemAndLeavesThemToHim) {
  std::filesystem::path path;
  for (std::filesystem::path folder : {CUDA_INCLUDE "/../lib64", CUDA_INCLUDE "/../extras/CUPTI/lib64"})
    for (auto name : {"libcupti.so.12", "libcupti.so.13", "libcupti.so"})
      if (std::filesystem::exists(folder / name)) path = folder / name;
  if (path.empty()) GTEST_SKIP() << "the CUDA toolkit here has no CUPTI";
  EXPECT_EXIT(std::_Exit(take_records_twice(path)), ::testing::ExitedWithCode(0), "")
      << "a process of its own: others' CUPTI is found loaded";
}

extern "C" __attribute__((noinline)) int detoured(int a, long b, long c, int d, int e, int f, int g) {
  asm volatile("" ::: "memory");
  return a + int(b) + int(c) + d * 2 + e * 3 + f * 4 + g * 5 + calls_before * 1000;
}

TEST(Trampoline, IsToldOnceBeforeTheNextCallAndPassesAllArguments) {
#if !defined(__x86_64__)
  GTEST_SKIP() << "trampolines are made on x86-64 only";
#endif
  int (*volatile function)(int, long, long, int, int, int, int) = detoured;
  int plain = function(1, 2, 3, 4, 5, 6, 7);
  ASSERT_TRUE(trampoline_once(reinterpret_cast<void*>(detoured), [] { ++calls_before; }));
  EXPECT_EQ(function(1, 2, 3, 4, 5, 6, 7), plain + 1000);
  EXPECT_EQ(function(1, 2, 3, 4, 5, 6, 7), plain + 1000) << "only once";
}

}  // namespace
}  // namespace kernelift::record
