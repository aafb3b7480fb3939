// See roofline.h. The kernels are PTX text for the oldest architecture that the driver still compiles, so that no
// compiler is needed and every GPU runs them. Arithmetic: independent chains of fused multiply-adds with both operands
// in registers. Memory: 16-byte loads, several in flight, from a buffer far larger than the cache (DRAM) or well
// smaller (L2).
#include "sandbox/device/cuda/counters/roofline.h"

#include <algorithm>
#include <string>

namespace kernelift::sandbox {
namespace {

constexpr int kChains = 16;   ///< Independent multiply-adds per thread: hides their latency.
constexpr int kUnrolled = 8;  ///< Multiply-adds of each chain per iteration of the loop.
constexpr unsigned kIterations = 2048;
constexpr int kLoads = 4;  ///< 16-byte loads in flight per thread of the reading kernel.
constexpr int kRepeats = 8;

std::string head() { return ".version 7.0\n.target sm_50\n.address_size 64\n"; }

/// .entry fma_f32(out, iterations): iterations * kUnrolled * kChains multiply-adds per thread.
std::string arithmetic_ptx(const char* type, const char* reg, const char* one) {
  std::string t = type, r = reg;
  std::string text = ".visible .entry fma_" + t +
                     "(.param .u64 out, .param .u32 iterations)\n{\n  .reg .pred %p;\n  .reg .b32 %n;\n"
                     "  .reg .b64 %a;\n  .reg ." +
                     t + " " + r + "<" + std::to_string(kChains + 2) +
                     ">;\n"
                     "  ld.param.u32 %n, [iterations];\n  ld.param.u64 %a, [out];\n";
  std::string factor = r + std::to_string(kChains), sum = r + std::to_string(kChains + 1);
  for (int i = 0; i <= kChains; ++i) text += "  mov." + t + " " + r + std::to_string(i) + ", " + one + ";\n";
  text += "loop:\n";
  for (int unrolled = 0; unrolled < kUnrolled; ++unrolled)
    for (int i = 0; i < kChains; ++i) {
      std::string c = r + std::to_string(i);
      text += "  fma.rn." + t + " " + c + ", " + c + ", " + factor + ", " + factor + ";\n";
    }
  text += "  sub.u32 %n, %n, 1;\n  setp.ne.u32 %p, %n, 0;\n  @%p bra loop;\n  mov." + t + " " + sum + ", " + r + "0;\n";
  for (int i = 1; i < kChains; ++i)
    text += "  add.rn." + t + " " + sum + ", " + sum + ", " + r + std::to_string(i) + ";\n";
  return text + "  st.global." + t + " [%a], " + sum +
         ";\n  ret;\n}\n";  // The store keeps the arithmetic from being removed; the value is not used.
}

/// .entry read(in, out, bytes, iterations): the grid reads `bytes` bytes without L1, `iterations` times, each thread
/// kLoads × 16 bytes at a time.
std::string reading_ptx() {
  std::string text = R"(.visible .entry read(.param .u64 in, .param .u64 out, .param .u64 bytes, .param .u32 iterations)
{
  .reg .pred %p, %q;
  .reg .b32 %n, %x, %t<6>, %v<16>;
  .reg .b64 %a, %b, %e, %o, %s, %i;
  ld.param.u64 %b, [in];
  ld.param.u64 %o, [out];
  ld.param.u64 %e, [bytes];
  ld.param.u32 %n, [iterations];
  mov.u32 %t0, %ctaid.x;
  mov.u32 %t1, %ntid.x;
  mov.u32 %t2, %tid.x;
  mov.u32 %t3, %nctaid.x;
  mad.lo.u32 %t4, %t0, %t1, %t2;
  mul.lo.u32 %t5, %t3, %t1;
  mul.wide.u32 %i, %t4, 16;
  mul.wide.u32 %s, %t5, 16;
  mov.u32 %x, 0;
iteration:
  mov.u64 %a, %i;
next:
  add.u64 %a, %a, %b;
)";
  auto v = [](int i) { return "%v" + std::to_string(i); };
  for (int i = 0; i < 4 * kLoads; i += 4)
    text += "  ld.global.cg.v4.u32 {" + v(i) + "," + v(i + 1) + "," + v(i + 2) + "," + v(i + 3) +
            "}, [%a];\n  add.u64 %a, %a, %s;\n";
  for (int i = 0; i < 4 * kLoads; ++i)
    text += "  xor.b32 %x, %x, " + v(i) + ";\n";  // Uses every value, so that no load becomes narrower.
  return text + R"(  sub.u64 %a, %a, %b;
  setp.lt.u64 %p, %a, %e;
  @%p bra next;
  sub.u32 %n, %n, 1;
  setp.ne.u32 %p, %n, 0;
  @%p bra iteration;
  setp.eq.u32 %q, %x, 305419896;
  @%q st.global.u32 [%o], %x;
  ret;
}
.visible .entry empty()
{
  ret;
}
)";
}

class Bench {
 public:
  explicit Bench(const CudaDriver& driver) : driver_(driver) {}
  ~Bench() {
    for (CUdeviceptr memory : memory_) driver_.cuMemFree(memory);
    if (module_) driver_.cuModuleUnload(module_);
    if (from_) driver_.cuEventDestroy(from_);
    if (to_) driver_.cuEventDestroy(to_);
  }

  Status open() {
    std::string text = head() + arithmetic_ptx("f32", "%f", "0f3F800001") +
                       arithmetic_ptx("f64", "%d", "0d3FF0000000000001") + reading_ptx();
    KERNELIFT_TRY(
        check(driver_.cuModuleLoadDataEx(&module_, text.c_str(), 0, nullptr, nullptr), "load its own kernels"));
    KERNELIFT_TRY(check(driver_.cuEventCreate(&from_, CU_EVENT_DEFAULT), "make an event"));
    KERNELIFT_TRY(check(driver_.cuEventCreate(&to_, CU_EVENT_DEFAULT), "make an event"));
    CUdevice device;
    KERNELIFT_TRY(check(driver_.cuCtxGetDevice(&device), "name its device"));
    driver_.cuDeviceGetAttribute(&multiprocessors_, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
    driver_.cuDeviceGetAttribute(&l2_, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, device);
    KERNELIFT_ASSIGN(out_, allocate(256));
    return done();
  }

  Result<CUdeviceptr> allocate(size_t bytes) {
    CUdeviceptr memory = 0;
    KERNELIFT_TRY(check(driver_.cuMemAlloc(&memory, bytes), "allocate memory"));
    memory_.push_back(memory);
    return memory;
  }

  /// The shortest duration of several runs of `work`, which only queues.
  template <class Function>
  Result<double> shortest(Function&& work) {
    double best = 1e9;
    for (int i = 0; i <= kRepeats; ++i) {  // The first run is a warm-up.
      driver_.cuEventRecord(from_, nullptr);
      KERNELIFT_TRY(check(work(), "run its own kernels"));
      driver_.cuEventRecord(to_, nullptr);
      KERNELIFT_TRY(check(driver_.cuEventSynchronize(to_), "run its own kernels"));
      float milliseconds = 0;
      KERNELIFT_TRY(check(driver_.cuEventElapsedTime(&milliseconds, from_, to_), "read an event"));
      if (i > 0) best = std::min(best, milliseconds * 1e-3);
    }
    return best;
  }

  Result<double> arithmetic(const char* entry, unsigned iterations) {
    KERNELIFT_ASSIGN(CUfunction kernel, function(entry));
    constexpr unsigned kThreads = 256, kBlocksEach = 8;
    unsigned blocks = static_cast<unsigned>(multiprocessors_) * kBlocksEach;
    void* arguments[] = {&out_, &iterations};
    KERNELIFT_ASSIGN(double seconds, shortest([&] {
                       return driver_.cuLaunchKernel(kernel, blocks, 1, 1, kThreads, 1, 1, 0, nullptr, arguments,
                                                     nullptr);
                     }));
    return 2.0 * kChains * kUnrolled * iterations * blocks * kThreads / seconds;
  }

  /// Bandwidth of reading a buffer that stays in the L2.
  Result<double> l2() {
    constexpr unsigned kThreads = 256, kReadings = 64;
    unsigned blocks = static_cast<unsigned>(multiprocessors_) * 4;
    uint64_t stride = uint64_t(blocks) * kThreads * kLoads * 16;  // Bytes that the grid reads at once.
    uint64_t bytes = std::max<uint64_t>(1, uint64_t(l2_) / 4 / stride) * stride;
    KERNELIFT_ASSIGN(CUdeviceptr in, allocate(bytes));
    KERNELIFT_TRY(check(driver_.cuMemsetD8(in, 1, bytes), "fill memory"));
    KERNELIFT_ASSIGN(CUfunction kernel, function("read"));
    unsigned iterations = kReadings;
    void* arguments[] = {&in, &out_, &bytes, &iterations};
    KERNELIFT_ASSIGN(double seconds, shortest([&] {
                       return driver_.cuLaunchKernel(kernel, blocks, 1, 1, kThreads, 1, 1, 0, nullptr, arguments,
                                                     nullptr);
                     }));
    return double(bytes) * iterations / seconds;
  }

  /// Bandwidth of DRAM: bytes read and written by a copy within the device, or bytes read.
  Result<double> dram() {
    size_t free = 0, total = 0;
    KERNELIFT_TRY(check(driver_.cuMemGetInfo(&free, &total), "ask for free memory"));
    size_t bytes = std::min<size_t>(size_t(1) << 30, free / 4);
    if (bytes < 8 * size_t(l2_)) return environment_error("too little free memory to measure DRAM");
    KERNELIFT_ASSIGN(CUdeviceptr a, allocate(bytes));
    KERNELIFT_ASSIGN(CUdeviceptr b, allocate(bytes));
    KERNELIFT_TRY(check(driver_.cuMemsetD8(a, 1, bytes), "fill memory"));
    KERNELIFT_ASSIGN(double copy, shortest([&] { return driver_.cuMemcpyDtoDAsync(b, a, bytes, nullptr); }));
    // Reading alone can be faster than copying: the peak is the higher of the two.
    constexpr unsigned kThreads = 256;
    unsigned blocks = static_cast<unsigned>(multiprocessors_) * 8, iterations = 1;
    uint64_t stride = uint64_t(blocks) * kThreads * kLoads * 16, whole = bytes / stride * stride;
    KERNELIFT_ASSIGN(CUfunction kernel, function("read"));
    void* arguments[] = {&a, &out_, &whole, &iterations};
    KERNELIFT_ASSIGN(double read, shortest([&] {
                       return driver_.cuLaunchKernel(kernel, blocks, 1, 1, kThreads, 1, 1, 0, nullptr, arguments,
                                                     nullptr);
                     }));
    return std::max(2.0 * double(bytes) / copy, double(whole) / read);
  }

  Result<double> empty_launch() {
    KERNELIFT_ASSIGN(CUfunction kernel, function("empty"));
    constexpr int kLaunches = 200;
    KERNELIFT_ASSIGN(double seconds, shortest([&] {
                       CUresult result = CUDA_SUCCESS;
                       for (int i = 0; i < kLaunches && result == CUDA_SUCCESS; ++i)
                         result = driver_.cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, nullptr);
                       return result;
                     }));
    return seconds / kLaunches;
  }

 private:
  Status check(CUresult result, const char* what) const {
    if (result == CUDA_SUCCESS) return done();
    return environment_error(std::string("measuring this GPU's peak rates: cannot ") + what + ": " +
                             cuda_error_text(driver_, result));
  }
  Result<CUfunction> function(const char* name) {
    CUfunction found = nullptr;
    KERNELIFT_TRY(check(driver_.cuModuleGetFunction(&found, module_, name), "find its own kernels"));
    return found;
  }

  const CudaDriver& driver_;
  CUmodule module_ = nullptr;
  CUevent from_ = nullptr, to_ = nullptr;
  CUdeviceptr out_ = 0;
  std::vector<CUdeviceptr> memory_;
  int multiprocessors_ = 0, l2_ = 0;
};

}  // namespace

Result<MachinePeaks> measure_peaks(const CudaDriver& driver) {
  Bench bench(driver);
  KERNELIFT_TRY(bench.open());
  MachinePeaks peaks;
  auto take = [](const Result<double>& from, std::optional<double>& into) {
    if (from.ok()) into = *from;
  };
  take(bench.arithmetic("fma_f32", kIterations), peaks.fp32_operations);
  take(bench.arithmetic("fma_f64", kIterations / 8), peaks.fp64_operations);
  take(bench.l2(), peaks.l2_bytes);
  take(bench.dram(), peaks.dram_bytes);
  take(bench.empty_launch(), peaks.launch_seconds);
  return peaks;
}

}  // namespace kernelift::sandbox
