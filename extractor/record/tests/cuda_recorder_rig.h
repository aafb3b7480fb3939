// The CUDA recorder on a machine without a GPU: an application of lambdas on host memory, a fake CUPTI that delivers
// its calls, a driver that is a table of functions.
#pragma once
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/model/kernel_key.h"
#include "extractor/record/cuda/cuda_recorder.h"
#include "extractor/record/tests/fake_graph.h"

namespace kernelift::record {

namespace fs = std::filesystem;

inline std::map<uint64_t, uint64_t> device_memory;  ///< Address to size.
inline uint64_t barred_memory = 0;                  ///< Mapped without rights of access.
inline std::atomic<int> forbidden_calls{0};         ///< Made while a stream captures.
inline std::atomic<bool> capture_open{false}, stuck{false}, unreadable{false};

/// Called once: under the recorder's lock, and while it has the gate closed.
inline std::function<void()> while_a_device_is_named = [] {}, while_memory_is_copied = [] {};

inline CUresult not_in_a_capture() {
  if (!capture_open) return CUDA_SUCCESS;
  ++forbidden_calls;
  return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

inline CUresult attributes(unsigned count, CUpointer_attribute* wanted, void** into, CUdeviceptr address) {
  auto found = device_memory.upper_bound(address);
  bool known = found != device_memory.begin() && (--found, address < found->first + found->second);
  for (unsigned i = 0; known && i < count; ++i) switch (wanted[i]) {
      case CU_POINTER_ATTRIBUTE_MEMORY_TYPE: *static_cast<unsigned*>(into[i]) = CU_MEMORYTYPE_DEVICE; break;
      case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: *static_cast<CUdeviceptr*>(into[i]) = found->first; break;
      case CU_POINTER_ATTRIBUTE_RANGE_SIZE: *static_cast<size_t*>(into[i]) = found->second; break;
      default: break;
    }
  return CUDA_SUCCESS;
}

template <auto Answer = CUDA_SUCCESS, class... Parameters>
void yes(CUresult (*&function)(Parameters...)) {
  function = [](Parameters...) -> CUresult { return Answer; };
}

inline CudaDriver fake_driver() {
  CudaDriver driver;
  yes(driver.cuInit), yes(driver.cuCtxSetCurrent), yes(driver.cuEventCreate), yes(driver.cuEventRecord);
  yes(driver.cuEventSynchronize), yes(driver.cuStreamCreate), yes(driver.cuCtxGetLimit),
      yes(driver.cuCtxGetCacheConfig);
  yes(driver.cuFuncGetAttribute), yes(driver.cuDeviceGet), yes(driver.cuDeviceGetAttribute),
      yes(driver.cuDriverGetVersion);
  yes(driver.cuCtxGetDevice), yes(driver.cuFuncGetModule), yes<CUDA_ERROR_NOT_FOUND>(driver.cuModuleGetGlobal);
  driver.cuMemGetAccess = [](unsigned long long* rights, const CUmemLocation*, CUdeviceptr address) {
    return *rights = barred_memory == address ? 0 : 3, CUDA_SUCCESS;
  };
  driver.cuCtxGetCurrent = [](CUcontext* context) { return *context = reinterpret_cast<CUcontext>(8), CUDA_SUCCESS; };
  driver.cuDeviceGetName = [](char* into, int size, CUdevice) {
    std::exchange(while_a_device_is_named, [] {})();
    return std::snprintf(into, size_t(size), "Fake"), CUDA_SUCCESS;
  };
  driver.cuGetErrorName = [](CUresult, const char** text) { return *text = "FAKE_ERROR", CUDA_SUCCESS; };
  driver.cuGetErrorString = driver.cuGetErrorName;
  driver.cuStreamQuery = [](CUstream) { return stuck ? CUDA_ERROR_NOT_READY : not_in_a_capture(); };
  driver.cuCtxSynchronize = [] { return not_in_a_capture(); };
  driver.cuMemAllocHost = [](void** into, size_t bytes) { return *into = std::malloc(bytes), CUDA_SUCCESS; };
  driver.cuMemcpyDtoHAsync = [](void* to, CUdeviceptr from, size_t bytes, CUstream) {
    if (not_in_a_capture() != CUDA_SUCCESS) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (unreadable) return CUDA_ERROR_UNKNOWN;
    std::exchange(while_memory_is_copied, [] {})();
    return std::memcpy(to, reinterpret_cast<const void*>(from), bytes), CUDA_SUCCESS;
  };
  driver.cuPointerGetAttributes = attributes;
  driver.cuKernelGetParamInfo = [](CUkernel, size_t, size_t*, size_t*) { return CUDA_ERROR_INVALID_HANDLE; };
  driver.cuFuncGetParamInfo = [](CUfunction, size_t index, size_t* offset, size_t* size) {
    *offset = index * 8, *size = index ? 4 : 8;
    return index < 2 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  };
  return driver;
}

class CudaRecorderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    device_memory.clear();
    forbidden_calls = 0, capture_open = false, stuck = false, unreadable = false;
    // Each test has a CUPTI of its own: the recorders are never taken down.
    fs::path mine = scratch_.path() / "libcupti_fake.so";
    fs::copy_file(FAKE_CUPTI, mine);
    library_ = dlopen(mine.c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_TRUE(library_) << dlerror();
    deliver_ = reinterpret_cast<decltype(deliver_)>(dlsym(library_, "fake_deliver"));
    ran_ = reinterpret_cast<decltype(ran_)>(dlsym(library_, "fake_kernel_ran"));
    cupti_ = mine.string();
    config_.folder = scratch_.path().string();
  }
  CudaRecorder& start() {
    static CudaDriver driver = [] {
      CudaDriver made = fake_driver();
      add_graphs(made);
      return made;
    }();
    auto* recorder = new CudaRecorder(config_, driver);
    auto started = recorder->start(cupti_);
    EXPECT_TRUE(started.ok()) << (started.ok() ? "" : started.error().message);
    return *recorder;
  }
  /// One call of the driver: `work` runs between its begin and its end.
  template <class Parameters>
  void call(
      CUpti_CallbackId cbid, const Parameters& parameters, const std::function<void()>& work = [] {},
      CUresult result = CUDA_SUCCESS) {
    uint64_t word = 0xdeadbeef;
    CUpti_CallbackData data{};
    data.functionParams = &parameters, data.functionReturnValue = &result, data.correlationData = &word;
    data.correlationId = ++correlation_, data.symbolName = name_, data.context = context_;
    data.callbackSite = CUPTI_API_ENTER;
    deliver_(CUPTI_CB_DOMAIN_DRIVER_API, cbid, &data);
    if (result == CUDA_SUCCESS) work();
    data.callbackSite = CUPTI_API_EXIT;
    deliver_(CUPTI_CB_DOMAIN_DRIVER_API, cbid, &data);
  }
  std::vector<int>& allocate(size_t count) {
    auto& memory = *new std::vector<int>(count);
    auto address = reinterpret_cast<CUdeviceptr>(memory.data());
    device_memory[address] = count * sizeof(int);
    call(CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2, cuMemAlloc_v2_params{&address, count * sizeof(int)});
    return memory;
  }
  /// Microseconds below 0: CUPTI never tells of it.
  void launch(std::vector<int>& memory, int add, CUresult result = CUDA_SUCCESS, double microseconds = 10,
              unsigned grid = 4) {
    int* address = memory.data();
    void* arguments[] = {&address, &add};
    cuLaunchKernel_params parameters{function_, grid, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr};
    call(
        CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, parameters,
        [&] {
          if (capture_open) return;  // It is a node now, and no execution.
          for (int& value : memory) value += add;
          if (microseconds >= 0) ran(microseconds);
        },
        result);
  }
  /// What CUPTI will tell of a kernel of the call that is being made.
  void ran(double microseconds, uint64_t graph_node = 0) {
    CUpti_ActivityKernel10 record{};
    record.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, record.name = name_, record.correlationId = correlation_;
    record.gridX = 4, record.gridY = record.gridZ = 1, record.blockX = 32, record.blockY = record.blockZ = 1;
    record.end = uint64_t(microseconds * 1e3) + (record.start = 1000);
    record.graphNodeId = graph_node;
    ran_(&record);
  }
  FakeNode* node(FakeGraph& graph, CUgraphNodeType type, std::vector<int>& memory, int add = 0,
                 std::vector<FakeNode*> after = {}) {
    auto* node = new FakeNode{type, &memory, add, std::move(after)};  // As long as the graph, which is the test's.
    graph.nodes.push_back(node);
    return node;
  }
  void instantiate(FakeGraph& graph) {
    CUgraphExec executable = graph.executable();
    call(CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithFlags,
         cuGraphInstantiateWithFlags_params{&executable, graph.handle(), 0});
  }
  void launch(FakeGraph& graph) {
    call(CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch, cuGraphLaunch_params{graph.executable(), nullptr},
         [&] { graph.run(); });
  }
  int number(const Capture& capture, const Image& image) {
    int value = 0;
    std::memcpy(&value, capture.load(image)->data(), sizeof value);
    return value;
  }
  Result<Capture> capture(pid_t process = getpid()) {
    return Capture::open(scratch_.path() / ("process-" + std::to_string(process)));
  }

  std::string omissions(const Capture& capture) {
    std::string text;
    for (auto& one : capture.info().omissions) text += one.what + ": " + one.why + "\n";
    return text;
  }

  TemporaryFolder scratch_ = std::move(*TemporaryFolder::create("kernelift-cuda-recorder-test"));
  RecordConfig config_;
  void* library_ = nullptr;
  void (*deliver_)(CUpti_CallbackDomain, CUpti_CallbackId, const void*) = nullptr;
  void (*ran_)(const CUpti_ActivityKernel10*) = nullptr;
  std::string cupti_;
  uint32_t correlation_ = 0;
  const char* name_ = kName;                                    ///< Of the kernel that is launched…
  CUfunction function_ = reinterpret_cast<CUfunction>(0x4000);  ///< …and its handle.
  CUcontext context_ = reinterpret_cast<CUcontext>(8);
};

}  // namespace kernelift::record
