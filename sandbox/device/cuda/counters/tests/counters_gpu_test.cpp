// Counters and peak rates on a real GPU, for kernels whose traffic and arithmetic are known by construction.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "sandbox/device/cuda/counters/counters.h"
#include "sandbox/device/cuda/counters/kernel_trace.h"
#include "sandbox/device/cuda/counters/roofline.h"
#include "sandbox/judge/diagnosis.h"

namespace kernelift::sandbox {
namespace {

// y[i] = a * x[i] + y[i], n threads; and the same with x[32 i], which scatters a warp's loads.
const char kSaxpy[] = R"(.version 7.0
.target sm_50
.address_size 64
.visible .entry saxpy(.param .u64 x, .param .u64 y, .param .u32 stride)
{
  .reg .b32 %t<5>;
  .reg .b64 %a<4>;
  .reg .f32 %f<3>;
  ld.param.u64 %a0, [x];
  ld.param.u64 %a1, [y];
  ld.param.u32 %t4, [stride];
  mov.u32 %t0, %ctaid.x;
  mov.u32 %t1, %ntid.x;
  mov.u32 %t2, %tid.x;
  mad.lo.u32 %t3, %t0, %t1, %t2;
  mul.wide.u32 %a3, %t3, 4;
  add.u64 %a1, %a1, %a3;
  mul.lo.u32 %t3, %t3, %t4;
  mul.wide.u32 %a2, %t3, 4;
  add.u64 %a0, %a0, %a2;
  ld.global.f32 %f0, [%a0];
  ld.global.f32 %f1, [%a1];
  fma.rn.f32 %f2, %f0, 0f40000000, %f1;
  st.global.f32 [%a1], %f2;
  ret;
}
)";

class CountersOnGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    auto driver = CudaDriver::open();
    if (!driver.ok()) GTEST_SKIP() << driver.error().message;
    driver_ = *driver;
    if (driver_->cuInit(0) != CUDA_SUCCESS) GTEST_SKIP() << "no CUDA device";
    CUdevice device;
    ASSERT_EQ(driver_->cuDeviceGet(&device, 0), CUDA_SUCCESS);
    ASSERT_EQ(driver_->cuDevicePrimaryCtxRetain(&context_, device), CUDA_SUCCESS);
    ASSERT_EQ(driver_->cuCtxSetCurrent(context_), CUDA_SUCCESS);
  }
  void TearDown() override {
    if (context_) driver_->cuDevicePrimaryCtxRelease(0);
  }

  /// Counters of saxpy over kThreads elements.
  Result<KernelFacts> facts(unsigned stride) {
    CUmodule module;
    CUfunction kernel;
    CUdeviceptr x, y;
    size_t bytes = size_t(kThreads) * 4;
    EXPECT_EQ(driver_->cuModuleLoadDataEx(&module, kSaxpy, 0, nullptr, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(driver_->cuModuleGetFunction(&kernel, module, "saxpy"), CUDA_SUCCESS);
    EXPECT_EQ(driver_->cuMemAlloc(&x, bytes * stride), CUDA_SUCCESS);
    EXPECT_EQ(driver_->cuMemAlloc(&y, bytes), CUDA_SUCCESS);
    driver_->cuMemsetD8(x, 0, bytes * stride);
    auto launch = [&]() -> Status {
      void* arguments[] = {&x, &y, &stride};
      CUresult result =
          driver_->cuLaunchKernel(kernel, kThreads / 256, 1, 1, 256, 1, 1, 0, nullptr, arguments, nullptr);
      if (result == CUDA_SUCCESS) result = driver_->cuCtxSynchronize();
      if (result != CUDA_SUCCESS) return environment_error(cuda_error_text(*driver_, result));
      return done();
    };
    auto prepare = [&]() -> Status {
      ++prepared_;
      return driver_->cuMemsetD8(y, 0, bytes) == CUDA_SUCCESS ? done() : Status(environment_error("memset"));
    };
    KernelFacts facts;
    facts.seconds = 50e-6;  // Any duration: the rates in the table are only printed.
    prepared_ = 0;
    facts.geometry = {{kThreads / 256, 1, 1}, {256, 1, 1}};
    KERNELIFT_ASSIGN(auto session, CounterSession::open(0));
    KERNELIFT_TRY(session->measure(prepare, launch, facts));
    std::printf("%zu passes\n%s", session->passes(), facts_table(facts).c_str());
    EXPECT_EQ(prepared_, session->passes()) << "memory must be restored before every pass";
    driver_->cuMemFree(x);
    driver_->cuMemFree(y);
    driver_->cuModuleUnload(module);
    return facts;
  }

  static constexpr unsigned kThreads = 1 << 24;
  const CudaDriver* driver_ = nullptr;
  CUcontext context_ = nullptr;
  size_t prepared_ = 0;
};

TEST_F(CountersOnGpu, CountTheTrafficAndArithmeticOfSaxpy) {
  auto seen = facts(1);
  if (!seen.ok() && seen.error().message.find("permits") != std::string::npos) GTEST_SKIP() << seen.error().message;
  ASSERT_TRUE(seen.ok()) << seen.error().message;
  ASSERT_TRUE(seen->fp32_operations && seen->dram_read_bytes && seen->sectors_per_load && seen->occupancy);
  EXPECT_EQ(*seen->fp32_operations, 2.0 * kThreads);
  EXPECT_NEAR(*seen->dram_read_bytes, 8.0 * kThreads, 0.5 * 8 * kThreads) << "part of y may still be in L2";
  EXPECT_NEAR(*seen->sectors_per_load, 4, 0.01);
  EXPECT_GT(*seen->occupancy, 0.3);
  EXPECT_FALSE(seen->stalls.empty());
}

TEST_F(CountersOnGpu, CountTheSectorsOfScatteredLoads) {
  auto seen = facts(32);
  if (!seen.ok() && seen.error().message.find("permits") != std::string::npos) GTEST_SKIP() << seen.error().message;
  ASSERT_TRUE(seen.ok()) << seen.error().message;
  ASSERT_TRUE(seen->sectors_per_load);
  EXPECT_GT(*seen->sectors_per_load, 16) << "half of the loads access 32 sectors, half 4";
}

/// Measures the median duration of kLaunches launches of saxpy, in microseconds, with two events per launch.
struct Timed {
  explicit Timed(const CudaDriver& driver) : driver(driver) {
    EXPECT_EQ(driver.cuModuleLoadDataEx(&module, kSaxpy, 0, nullptr, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuModuleGetFunction(&kernel, module, "saxpy"), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuMemAlloc(&memory, kBytes), CUDA_SUCCESS);
    for (auto& event : events) driver.cuEventCreate(&event, CU_EVENT_DEFAULT);
  }
  ~Timed() { driver.cuMemFree(memory), driver.cuModuleUnload(module); }
  double run(unsigned threads) {
    unsigned stride = 1;
    void* arguments[] = {&memory, &memory, &stride};
    std::vector<float> us;
    for (int i = 0; i < kLaunches; ++i) {
      driver.cuMemsetD8Async(memory, 0, kBytes, nullptr);  // Keeps the GPU busy while the next calls are queued.
      driver.cuEventRecord(events[0], nullptr);
      driver.cuLaunchKernel(kernel, threads / 256, 1, 1, 256, 1, 1, 0, nullptr, arguments, nullptr);
      driver.cuEventRecord(events[1], nullptr);
      EXPECT_EQ(driver.cuCtxSynchronize(), CUDA_SUCCESS);
      float milliseconds = 0;
      driver.cuEventElapsedTime(&milliseconds, events[0], events[1]);
      us.push_back(milliseconds * 1e3f);
    }
    std::sort(us.begin(), us.end());
    return us[us.size() / 2];
  }
  static constexpr size_t kBytes = 256 << 20;
  static constexpr int kLaunches = 20;
  const CudaDriver& driver;
  CUmodule module = nullptr;
  CUfunction kernel = nullptr;
  CUdeviceptr memory = 0;
  CUevent events[2] = {};
};

TEST_F(CountersOnGpu, ActivityRecordsAgreeWithEventsAndDoNotAffectLaterLaunches) {
  Timed saxpy(*driver_);
  for (unsigned threads : {1u << 10, 1u << 20, 1u << 24}) {
    double before = saxpy.run(threads), during = 0;
    auto begin = std::chrono::steady_clock::now();
    auto records = trace_kernel("saxpy", [&]() -> Status { return during = saxpy.run(threads), done(); });
    double cost = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    ASSERT_TRUE(records.ok()) << records.error().message;
    ASSERT_EQ(records->size(), size_t(Timed::kLaunches));
    std::sort(records->begin(), records->end());
    double recorded = (*records)[records->size() / 2] * 1e6, after = saxpy.run(threads);
    std::printf("%u threads: events %.2f us before, %.2f traced, %.2f after; records %.2f us; tracing took %.3f s\n",
                threads, before, during, after, recorded, cost);
    EXPECT_NEAR(before, recorded, std::max(0.1 * recorded, 4.0)) << "two events alone measure some microseconds";
    EXPECT_NEAR(before, after, std::max(0.03 * before, 0.7));
  }
  EXPECT_TRUE(trace_kernel("no such", [&]() -> Status { return saxpy.run(256), done(); })->empty());
  EXPECT_EQ(trace_kernel("saxpy", []() -> Status { return environment_error("its own failure"); }).error().message,
            "its own failure");
  auto seen = facts(1);
  if (!seen.ok() && seen.error().message.find("permits") != std::string::npos) GTEST_SKIP() << seen.error().message;
  EXPECT_TRUE(seen.ok()) << "counters in the same process: " << seen.error().message;
}

TEST_F(CountersOnGpu, PeakRatesArePlausible) {
  auto peaks = measure_peaks(*driver_);
  ASSERT_TRUE(peaks.ok()) << peaks.error().message;
  ASSERT_TRUE(peaks->dram_bytes && peaks->l2_bytes && peaks->fp32_operations && peaks->fp64_operations &&
              peaks->launch_seconds);
  std::printf("DRAM %.3g B/s, L2 %.3g B/s, fp32 %.3g FLOP/s, fp64 %.3g FLOP/s, launch %.2f us\n", *peaks->dram_bytes,
              *peaks->l2_bytes, *peaks->fp32_operations, *peaks->fp64_operations, *peaks->launch_seconds * 1e6);
  EXPECT_GT(*peaks->l2_bytes, *peaks->dram_bytes);
  EXPECT_GE(*peaks->fp32_operations, *peaks->fp64_operations);
  EXPECT_LT(*peaks->launch_seconds, 20e-6);
}

TEST_F(CountersOnGpu, AreDeterministicForArithmetic) {
  auto once = facts(1), again = facts(1);
  if (!once.ok()) GTEST_SKIP() << once.error().message;
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(once->instructions, again->instructions);
}

}  // namespace
}  // namespace kernelift::sandbox
