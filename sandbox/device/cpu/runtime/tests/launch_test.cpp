// Launches: configuration, arguments, shared memory, and what happens when a kernel dies.
#include <unistd.h>

#include <csignal>
#include <cstring>

#include "sandbox/device/cpu/runtime/tests/registered.h"

using namespace kernelift;
using namespace kernelift::cudart;

namespace {

class Launch : public RuntimeTest {};
class Fault : public RuntimeTest {};

TEST_F(Launch, RunsTheKernelOnItsArguments) {
  int* data = device_ints({1, 2, 3, 4, 5});
  int count = 5, step = 10;
  CHECK_CUDA(launch(stub.add, 2, 4, {&data, &count, &step}));
  EXPECT_EQ(host_ints(data, 5), (std::vector<int>{11, 12, 13, 14, 15}));
}

TEST_F(Launch, TakesTheConfigurationThatWasPushed) {
  EXPECT_EQ(__cudaPushCallConfiguration({2, 3, 4}, {5, 6, 7}, 8, kPerThreadStream), 0u);
  dim3 grid = {}, block = {};
  size_t shared = 0;
  cudaStream_t stream = nullptr;
  CHECK_CUDA(__cudaPopCallConfiguration(&grid, &block, &shared, &stream));
  EXPECT_EQ(std::memcmp(&grid, std::data({2u, 3u, 4u}), sizeof grid), 0);
  EXPECT_EQ(std::memcmp(&block, std::data({5u, 6u, 7u}), sizeof block), 0);
  EXPECT_EQ(shared, 8u);
  EXPECT_EQ(stream, kPerThreadStream);
  EXPECT_CUDA(cudaErrorMissingConfiguration, __cudaPopCallConfiguration(&grid, &block, &shared, &stream));
}

TEST_F(Launch, InvalidConfigurationIsAnsweredAndNotSticky) {
  EXPECT_CUDA(cudaErrorInvalidConfiguration, launch(stub.nothing, 1, 2048));
  EXPECT_CUDA(cudaErrorInvalidConfiguration, launch(stub.nothing, 0, 32));
  EXPECT_CUDA(cudaErrorInvalidConfiguration, launch(stub.nothing, 1, 0));
  EXPECT_CUDA(cudaErrorInvalidConfiguration,
              cudaLaunchKernel(&stub.nothing, {1, 65536, 1}, {1, 1, 1}, nullptr, 0, nullptr));
  EXPECT_CUDA(cudaErrorInvalidConfiguration,
              cudaLaunchKernel(&stub.nothing, {1, 1, 1}, {1, 1, 65}, nullptr, 0, nullptr));
  EXPECT_CUDA(cudaErrorInvalidConfiguration, cudaPeekAtLastError());
  EXPECT_CUDA(cudaErrorInvalidConfiguration, cudaGetLastError());
  CHECK_CUDA(cudaGetLastError());
  CHECK_CUDA(cudaDeviceSynchronize());
  CHECK_CUDA(launch(stub.nothing, 1, 32));
}

TEST_F(Launch, UnknownFunctionAndKernelWithoutImageHaveErrorsOfTheirOwn) {
  char nobody = 0;
  EXPECT_CUDA(cudaErrorInvalidDeviceFunction, launch(nobody, 1, 1));
  testing::internal::CaptureStderr();
  EXPECT_CUDA(cudaErrorNoKernelImageForDevice, launch(stub.absent, 1, 1));
  EXPECT_NE(testing::internal::GetCapturedStderr().find("absent()"), std::string::npos);
  CHECK_CUDA(launch(stub.nothing, 1, 1));
}

TEST_F(Launch, OfAKernelThatTheDeviceCannotRunSaysWhyAndHarmsNothing) {
  testing::internal::CaptureStderr();
  for (int i = 0; i < 2; ++i) EXPECT_CUDA(cudaErrorNotSupported, launch(stub.refused, 1, 32));
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "kernelift: kernel refused() <<<(1,1,1), (32,1,1)>>>: the CPU device does not support mma (k.cu:3)\n");
  EXPECT_CUDA(cudaErrorNotSupported, cudaGetLastError());
  CHECK_CUDA(cudaGetLastError());
  CHECK_CUDA(launch(stub.nothing, 1, 1));
  CHECK_CUDA(cudaDeviceSynchronize());
}

TEST_F(Launch, MoreDynamicSharedMemoryThan48KNeedsTheFunctionAttribute) {
  constexpr int kMaxDynamicShared = 8;
  CHECK_CUDA(launch(stub.shared, 1, 1, {}, 47 << 10));
  EXPECT_CUDA(cudaErrorInvalidValue, launch(stub.shared, 1, 1, {}, 64 << 10));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaFuncSetAttribute(&stub.shared, kMaxDynamicShared, 228 << 10));
  CHECK_CUDA(cudaFuncSetAttribute(&stub.shared, kMaxDynamicShared, 64 << 10));
  CHECK_CUDA(launch(stub.shared, 1, 1, {}, 64 << 10));
  cudaFuncAttributes attributes;
  CHECK_CUDA(cudaFuncGetAttributes(&attributes, &stub.shared));
  EXPECT_EQ(attributes.maxDynamicSharedSizeBytes, 64 << 10);
  EXPECT_EQ(attributes.sharedSizeBytes, 1024u);
}

TEST_F(Launch, LaunchBoundsLimitTheBlock) {
  CHECK_CUDA(launch(stub.bounded, 1, 128));
  EXPECT_CUDA(cudaErrorLaunchOutOfResources, launch(stub.bounded, 1, 129));
  cudaFuncAttributes attributes;
  CHECK_CUDA(cudaFuncGetAttributes(&attributes, &stub.bounded));
  EXPECT_EQ(attributes.maxThreadsPerBlock, 128);
  EXPECT_EQ(attributes.ptxVersion, 75)
      << "the image's: libraries choose how to launch by it, their kernels by __CUDA_ARCH__";
}

TEST_F(Launch, CooperativeGridMustFitTheDevice) {
  int blocks = 0, processors = 0;
  CHECK_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &stub.nothing, 256, 0));
  CHECK_CUDA(cudaDeviceGetAttribute(&processors, 16, 0));
  unsigned most = unsigned(blocks * processors);
  EXPECT_EQ(blocks, 8);  // 2048 threads a processor
  CHECK_CUDA(cudaLaunchCooperativeKernel(&stub.nothing, {most, 1, 1}, {256, 1, 1}, nullptr, 0, nullptr));
  EXPECT_CUDA(cudaErrorCooperativeLaunchTooLarge,
              cudaLaunchCooperativeKernel(&stub.nothing, {most + 1, 1, 1}, {256, 1, 1}, nullptr, 0, nullptr));
}

TEST_F(Launch, ClusterLaunchIsRefusedByName) {
  cudaLaunchAttribute cluster = {};
  cluster.id = kLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {2, 1, 1};
  cudaLaunchConfig_t config = {{2, 1, 1}, {32, 1, 1}, 0, nullptr, &cluster, 1};
  testing::internal::CaptureStderr();
  EXPECT_CUDA(cudaErrorNotSupported, cudaLaunchKernelExC(&config, &stub.nothing, nullptr));
  EXPECT_NE(testing::internal::GetCapturedStderr().find("cluster"), std::string::npos);
  cluster.val.clusterDim = {1, 1, 1};
  CHECK_CUDA(cudaLaunchKernelExC(&config, &stub.nothing, nullptr));
}

TEST_F(Launch, KernelWithoutImageIsNotBorrowedFromAnotherUnit) {
  std::vector<char> own = make_blob(FatEntry::Kind::RelocatableBitcode, "a.cu", {'B', 'C'});
  Stub second = {};
  RegisteredUnit unit(own.data(), second);
  EXPECT_CUDA(cudaErrorNoKernelImageForDevice, launch(second.nothing, 1, 1));
  CHECK_CUDA(launch(stub.nothing, 1, 1));
}

TEST_F(Launch, SaysHowToBuildAnApplicationThatNvccBuilt) {
  uint32_t nvidia[16] = {0xba55ed50};
  Stub second = {};
  RegisteredUnit unit(nvidia, second);
  testing::internal::CaptureStderr();
  EXPECT_CUDA(cudaErrorNoKernelImageForDevice, launch(second.absent, 1, 1));
  EXPECT_NE(testing::internal::GetCapturedStderr().find("kernelift build --device cpu"), std::string::npos);
}

TEST_F(Launch, DamagedBlobIsAnErrorNeverACrash) {
  const std::vector<char> good = make_blob(FatEntry::Kind::CpuImage, "image.c", test_image());
  for (size_t step = 0; step < 60; ++step) {
    std::vector<char> bad = good;
    bad[(step * 7919) % (step < 30 ? 96 : bad.size())] ^= char(1 << (step % 8));
#if __has_feature(address_sanitizer)
    // A program hands over an address, no length: what lies behind a blob that claims to be longer is read with it.
    if (fat_blob_size(bad.data()) > bad.size()) continue;
#endif
    Stub second = {};
    RegisteredUnit unit(bad.data(), second);
    testing::internal::CaptureStderr();
    cudaError_t answer = launch(second.stop, 0, 1);  // Never runs: the configuration is invalid.
    std::string said = testing::internal::GetCapturedStderr();
    EXPECT_TRUE(answer == cudaErrorNoKernelImageForDevice || answer == cudaErrorInvalidConfiguration) << step;
    EXPECT_EQ(answer == cudaErrorNoKernelImageForDevice, said.find("stop()") != std::string::npos) << step << said;
  }
}

TEST_F(Fault, AssertIsStickyUntilReset) {
  testing::internal::CaptureStderr();
  CHECK_CUDA(launch(stub.fail, 1, 1));
  CHECK_CUDA(cudaGetLastError());  // As on a GPU, the fault shows at the next call that looks at the device.
  EXPECT_CUDA(cudaErrorAssert, cudaDeviceSynchronize());
  EXPECT_CUDA(cudaErrorAssert, cudaGetLastError());
  EXPECT_CUDA(cudaErrorAssert, cudaGetLastError());
  void* memory = nullptr;
  EXPECT_CUDA(cudaErrorAssert, cudaMalloc(&memory, 16));
  EXPECT_CUDA(cudaErrorAssert, launch(stub.nothing, 1, 1));
  EXPECT_NE(testing::internal::GetCapturedStderr().find("x > 0"), std::string::npos);
  CHECK_CUDA(cudaDeviceReset());
  CHECK_CUDA(cudaGetLastError());
  CHECK_CUDA(cudaMalloc(&memory, 16));
  CHECK_CUDA(launch(stub.nothing, 1, 1));
}

TEST_F(Fault, TrapIsALaunchFailure) {
  CHECK_CUDA(launch(stub.stop, 1, 1));
  EXPECT_CUDA(cudaErrorLaunchFailure, cudaDeviceSynchronize());
}

TEST_F(Fault, WildAddressBecomesIllegalAddressNamingKernelAndAddress) {
  int* wild = reinterpret_cast<int*>(0x1234567890);
  testing::internal::CaptureStderr();
  CHECK_CUDA(launch(stub.store, 4, 32, {&wild}));
  std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("store(int*)"), std::string::npos) << said;
  EXPECT_NE(said.find("0x1234567890"), std::string::npos) << said;
  EXPECT_CUDA(cudaErrorIllegalAddress, cudaDeviceSynchronize());
  EXPECT_CUDA(cudaErrorIllegalAddress, cudaDeviceSynchronize());
  CHECK_CUDA(cudaDeviceReset());
  int* good = device_ints({0});
  CHECK_CUDA(launch(stub.store, 1, 1, {&good}));
  EXPECT_EQ(host_ints(good, 1)[0], 1);
}

TEST_F(Fault, AccessBehindALargeAllocationIsCaughtAndSaysByHowMuch) {
  constexpr size_t kBytes = 1 << 20;
  void* memory = nullptr;
  CHECK_CUDA(cudaMalloc(&memory, kBytes));
  char* behind = static_cast<char*>(memory) + kBytes + 16;
  testing::internal::CaptureStderr();
  CHECK_CUDA(launch(stub.store, 1, 1, {&behind}));
  EXPECT_NE(testing::internal::GetCapturedStderr().find("16 bytes past the end of a 1048576-byte allocation"),
            std::string::npos);
  EXPECT_CUDA(cudaErrorIllegalAddress, cudaDeviceSynchronize());
}

TEST_F(Fault, UseAfterFreeOfALargeAllocationIsCaught) {
  void* memory = nullptr;
  CHECK_CUDA(cudaMalloc(&memory, 1 << 20));
  CHECK_CUDA(cudaFree(memory));
  CHECK_CUDA(launch(stub.store, 1, 1, {&memory}));
  EXPECT_CUDA(cudaErrorIllegalAddress, cudaDeviceSynchronize());
}

TEST_F(Fault, EndlessRecursionIsCaughtAndNamed) {
  testing::internal::CaptureStderr();
  CHECK_CUDA(launch(stub.recurse, 1, 1));
  EXPECT_NE(testing::internal::GetCapturedStderr().find("stack overflowed"), std::string::npos);
  EXPECT_CUDA(cudaErrorIllegalAddress, cudaDeviceSynchronize());
}

TEST_F(Fault, DivisionTrapIsALaunchFailure) {
  int zero = 0;
  CHECK_CUDA(launch(stub.divide, 1, 1, {&zero}));
  EXPECT_CUDA(cudaErrorLaunchFailure, cudaDeviceSynchronize());
}

TEST_F(Fault, HostCrashStillGoesToTheApplicationsHandler) {
  EXPECT_EXIT(
      {
        signal(SIGSEGV, [](int) { _exit(42); });
        CHECK_CUDA(launch(stub.nothing, 1, 1));
        *reinterpret_cast<volatile int*>(8) = 1;
      },
      testing::ExitedWithCode(42), "");
}

TEST_F(Fault, HostCrashWithoutHandlerStillKills) {
  EXPECT_EXIT(
      {
        CHECK_CUDA(launch(stub.nothing, 1, 1));
        *reinterpret_cast<volatile int*>(8) = 1;
      },
      testing::KilledBySignal(SIGSEGV), "");
}

}  // namespace
