// One context and one stream, which executes everything in order. Waiting polls, so that a deadline can be kept. If a
// kernel does not end, this process can only report it and exit, which makes the driver remove the kernel from the GPU.
#include "sandbox/device/cuda/cuda_device.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "core/toolchain/cuda_driver.h"
#include "sandbox/device/cuda/address_space.h"
#include "sandbox/device/cuda/image_variables.h"
#include "sandbox/device/cuda/judging_image.h"
#include "sandbox/device/cuda/nvml/clock_monitor.h"
#include "sandbox/device/cuda/staged_upload.h"
#include "sandbox/device/cuda/texture_objects.h"

namespace kernelift::sandbox {
namespace {

constexpr size_t kLogBytes = 8 << 10;

DeviceFault fault_of(CUresult result) {
  switch (result) {
    case CUDA_SUCCESS: return DeviceFault::None;
    case CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES:
    case CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE:
    case CUDA_ERROR_INVALID_CLUSTER_SIZE:
    case CUDA_ERROR_OUT_OF_MEMORY: return DeviceFault::OverResources;
    case CUDA_ERROR_INVALID_VALUE:
    case CUDA_ERROR_INVALID_HANDLE:
    case CUDA_ERROR_NOT_SUPPORTED:
    case CUDA_ERROR_NOT_FOUND:
    case CUDA_ERROR_INVALID_IMAGE:
    case CUDA_ERROR_NO_BINARY_FOR_GPU: return DeviceFault::LaunchRefused;
    case CUDA_ERROR_LAUNCH_TIMEOUT: return DeviceFault::TimedOut;
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_DEINITIALIZED:
    case CUDA_ERROR_SYSTEM_NOT_READY: return DeviceFault::Lost;
    default: return DeviceFault::Crashed;
  }
}

class CudaDevice : public Device {
 public:
  CudaDevice(const CudaDriver& driver, int ordinal) : driver_(driver), ordinal_(ordinal) {}

  ~CudaDevice() override {
    if (*lost_) {  // The driver would wait for a kernel that never ends; the process exits soon.
      (void)textures_.release();
      (void)staged_.release();
      return;
    }
    textures_.reset(), staged_.reset();
    for (CUevent event : events_) driver_.cuEventDestroy(event);
    if (stream_) driver_.cuStreamDestroy(stream_);
    space_.reset();
    if (context_) driver_.cuDevicePrimaryCtxRelease(device_);
  }

  Status open(const CudaDeviceOptions& options) {
    space_ = std::make_shared<AddressSpace>(driver_, ordinal_, lost_);
    KERNELIFT_TRY(check(driver_.cuInit(0), "the NVIDIA driver does not start"));
    for (auto [begin, end] : options.wanted) space_->reserve_early(begin, end);
    int count = 0;
    KERNELIFT_TRY(check(driver_.cuDeviceGetCount(&count), "cannot count GPUs"));
    if (ordinal_ < 0 || ordinal_ >= count)
      return environment_error("there is no GPU " + std::to_string(ordinal_) + "; this machine has " +
                               std::to_string(count));
    KERNELIFT_TRY(check(driver_.cuDeviceGet(&device_, ordinal_), "cannot open the GPU"));
    KERNELIFT_TRY(check_age());
    KERNELIFT_TRY(check(driver_.cuDevicePrimaryCtxRetain(&context_, device_), "cannot make a context on the GPU"));
    KERNELIFT_TRY(check(driver_.cuCtxSetCurrent(context_), "cannot use the GPU's context"));
    if (options.stack_bytes > 0)
      KERNELIFT_TRY(
          check(driver_.cuCtxSetLimit(CU_LIMIT_STACK_SIZE, options.stack_bytes), "cannot set the stack limit"));
    if (options.heap_bytes > 0)
      KERNELIFT_TRY(
          check(driver_.cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, options.heap_bytes), "cannot set the heap limit"));
    if (options.printf_bytes > 0)
      KERNELIFT_TRY(check(driver_.cuCtxSetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, options.printf_bytes),
                          "cannot set the size of printf's buffer"));
    // Keeps candidates from setting aside a part of the L2 that flushing would not clear. Not every GPU has the limit.
    driver_.cuCtxSetLimit(CU_LIMIT_PERSISTING_L2_CACHE_SIZE, 0);
    KERNELIFT_TRY(check(driver_.cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), "cannot make a stream"));
    CUuuid uuid{};
    driver_.cuDeviceGetUuid(&uuid, device_);
    unsigned char bytes[16];
    std::copy(std::begin(uuid.bytes), std::end(uuid.bytes), bytes);
    monitor_ = std::make_unique<ClockMonitor>(bytes);
    describe(count);
    return done();
  }

  const DeviceFacts& facts() const override { return facts_; }

  Result<DeviceImage> judging_kernels() override {
    auto cubin = judging_cubin(facts_.arch);
    auto loaded = cubin.empty() ? Result<DeviceImage>(environment_error("not built for it")) : load(cubin, false);
    // A driver that is older than the assembler may refuse its code; every driver accepts the PTX.
    return loaded.ok() ? loaded : load(judging_ptx(), false);
  }

  Result<DeviceImage> load(std::string_view image, bool) override {
    KERNELIFT_ASSIGN(auto variables, variables_of_image(image));
    CUmodule module = nullptr;
    std::string errors(kLogBytes, '\0');
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void* values[] = {errors.data(), reinterpret_cast<void*>(kLogBytes)};
    std::string terminated(image);  // PTX must be zero-terminated.
    if (CUresult result = driver_.cuModuleLoadDataEx(&module, terminated.c_str(), 2, options, values)) {
      errors.resize(errors.find('\0') == std::string::npos ? kLogBytes : errors.find('\0'));
      return environment_error("the driver does not load the image: " + cuda_error_text(driver_, result) +
                               (errors.empty() ? "" : ": " + errors));
    }
    DeviceImage loaded;
    loaded.hold = std::shared_ptr<void>(module, [&driver = driver_, lost = lost_](void* module) {
      if (!*lost) driver.cuModuleUnload(static_cast<CUmodule>(module));
    });
    KERNELIFT_TRY(list_kernels(module, loaded));
    for (auto& variable : variables) {
      CUdeviceptr address = 0;
      size_t size = 0;
      if (driver_.cuModuleGetGlobal(&address, &size, module, variable.name.c_str()) == CUDA_SUCCESS)
        loaded.variables.push_back({variable.name, address, size});
    }
    return loaded;
  }

  Result<DeviceMemory> place(uint64_t address, uint64_t bytes, Reach) override {
    if (address != 0) return space_->place(address, bytes);
    CUdeviceptr got = 0;
    if (CUresult result = driver_.cuMemAlloc(&got, std::max<uint64_t>(bytes, 1))) {
      size_t free = 0, total = 0;
      driver_.cuMemGetInfo(&free, &total);
      return environment_error("cannot allocate " + std::to_string(bytes) + " bytes of device memory: " +
                               cuda_error_text(driver_, result) + "; " + std::to_string(free) + " bytes are free");
    }
    auto hold = std::shared_ptr<void>(reinterpret_cast<void*>(got), [&driver = driver_, lost = lost_](void* memory) {
      if (!*lost) driver.cuMemFree(reinterpret_cast<CUdeviceptr>(memory));
    });
    return DeviceMemory{got, bytes, hold, {}};
  }

  DeviceOutcome run(const DeviceProgram& program, std::chrono::milliseconds limit) override {
    DeviceOutcome outcome = execute(program, limit);
    *lost_ = *lost_ || !outcome.usable();
    return outcome;
  }

  Status write(uint64_t to, std::span<const std::byte> bytes) override {
    if (bytes.empty()) return done();
    if (bytes.size() >= StagedUpload::kWorthIt) {
      if (!staged_) staged_ = std::make_unique<StagedUpload>(driver_);
      if (staged_->ready()) return check(staged_->write(stream_, to, bytes), "cannot copy to the GPU");
    }
    // cuMemcpyHtoD of up to 64 KiB returns before it is complete, and neither our stream nor read() waits for it.
    KERNELIFT_TRY(check(driver_.cuMemcpyHtoDAsync(to, bytes.data(), bytes.size(), stream_), "cannot copy to the GPU"));
    return check(driver_.cuStreamSynchronize(stream_), "cannot copy to the GPU");
  }
  Status read(uint64_t from, std::span<std::byte> bytes) override {
    if (bytes.empty()) return done();
    return check(driver_.cuMemcpyDtoH(bytes.data(), from, bytes.size()), "cannot copy from the GPU");
  }
  DeviceClocks clocks() override { return monitor_->sample(); }

 private:
  DeviceOutcome execute(const DeviceProgram& program, std::chrono::milliseconds limit) {
    DeviceOutcome outcome;
    size_t used = 0;
    CUresult result = CUDA_SUCCESS;
    const char* doing = "";
    arrays_ = Arrays::Older;
    for (size_t i = 0; i < program.steps().size(); ++i) {
      using Kind = DeviceProgram::Step::Kind;
      const DeviceProgram::Step& step = program.steps()[i];
      // What is copied between memory and arrays is not timed.
      const DeviceLaunch* next = step.kind == Kind::Begin ? first_launch(program, i) : step.launch;
      if (auto made = settle_arrays(step.kind, next, result); !made.ok())
        return {DeviceFault::LaunchRefused, made.error().message};
      if (result != CUDA_SUCCESS) {
        doing = "copying an array";
        break;
      }
      switch (step.kind) {
        case Kind::Copy:
          result = driver_.cuMemcpyDtoDAsync(step.to, step.from, step.bytes, stream_), doing = "copying";
          break;
        case Kind::Fill:
          result = driver_.cuMemsetD8Async(step.to, static_cast<unsigned char>(step.byte), step.bytes, stream_),
          doing = "filling";
          break;
        case Kind::Launch: result = launch(*step.launch), doing = "launching"; break;
        case Kind::Begin:
        case Kind::End: result = mark(used++), doing = "timing"; break;
        case Kind::Look:
        case Kind::LookAgain: break;  // In a stream a launch is over before the next step begins.
      }
      if (result != CUDA_SUCCESS) break;
    }
    if (result == CUDA_SUCCESS) result = arrays_into_memory();
    CUresult ended = mark(used++);
    if (ended == CUDA_SUCCESS) ended = wait(events_[used - 1], limit);
    if (ended == CUDA_ERROR_NOT_READY)
      return {DeviceFault::TimedOut, "not done after " + std::to_string(limit.count()) + " ms"};
    if (ended != CUDA_SUCCESS) return {fault_of(ended), cuda_error_text(driver_, ended)};
    if (result != CUDA_SUCCESS) return {fault_of(result), std::string(doing) + ": " + cuda_error_text(driver_, result)};
    for (size_t i = 0; i + 2 < used; i += 2) {
      float milliseconds = 0;
      if (CUresult read = driver_.cuEventElapsedTime(&milliseconds, events_[i], events_[i + 1]))
        return {fault_of(read), "reading how long it took: " + cuda_error_text(driver_, read)};
      outcome.seconds.push_back(milliseconds * 1e-3);
    }
    return outcome;
  }

  /// The first launch of a timed interval; nullptr: there is none.
  static const DeviceLaunch* first_launch(const DeviceProgram& program, size_t begin) {
    for (size_t i = begin; i < program.steps().size(); ++i)
      if (program.steps()[i].launch) return program.steps()[i].launch;
    return nullptr;
  }
  CUresult arrays_into_memory() {
    if (arrays_ != Arrays::Newer) return CUDA_SUCCESS;
    arrays_ = Arrays::Same;
    return textures_->download(stream_);
  }
  /// Launches with textures work on arrays, everything else on the memory that stands for them.
  Status settle_arrays(DeviceProgram::Step::Kind kind, const DeviceLaunch* launch, CUresult& result) {
    using Kind = DeviceProgram::Step::Kind;
    if (kind == Kind::End || kind == Kind::Look || kind == Kind::LookAgain) return done();
    if (launch && !launch->textures.empty()) {
      if (!textures_) textures_ = std::make_unique<TextureObjects>(driver_);
      KERNELIFT_TRY(textures_->make(launch->textures));
      if (arrays_ == Arrays::Older) result = textures_->upload(stream_);
      arrays_ = kind == Kind::Launch && textures_->writes() ? Arrays::Newer : Arrays::Same;
    } else if (kind != Kind::Begin) {
      result = arrays_into_memory();
      arrays_ = Arrays::Older;
    }
    return done();
  }

  Status check(CUresult result, const char* what) const {
    if (result == CUDA_SUCCESS) return done();
    return environment_error(std::string(what) + ": " + cuda_error_text(driver_, result));
  }
  int attribute(CUdevice_attribute which) const {
    int value = 0;
    driver_.cuDeviceGetAttribute(&value, which, device_);
    return value;
  }

  int capability() const {
    return attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) * 10 +
           attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  }

  /// Our own kernels are compiled for sm_75, the oldest architecture that CUDA 13 supports.
  Status check_age() const {
    constexpr int kOldest = 75;
    if (capability() >= kOldest) return done();
    char name[128] = {};
    driver_.cuDeviceGetName(name, sizeof name, device_);
    return environment_error(std::string(name) + " is too old: it is sm_" + std::to_string(capability()) +
                             ", and the oldest that can be used is sm_75 (Turing); choose another GPU with --device "
                             "cuda:N, or use --device cpu");
  }

  void describe(int count) {
    char name[128] = {};
    driver_.cuDeviceGetName(name, sizeof name, device_);
    facts_.name = name, facts_.ordinal = ordinal_;
    facts_.arch = "sm_" + std::to_string(capability());
    int version = 0;
    driver_.cuDriverGetVersion(&version);
    std::string driver = monitor_->driver_version();
    if (driver.empty())
      driver = "for CUDA " + std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
    facts_.label = "cuda: " + facts_.name + ", " + facts_.arch + ", driver " + driver;
    size_t free = 0, total = 0;
    driver_.cuMemGetInfo(&free, &total);
    facts_.memory_bytes = total, facts_.free_bytes = free;
    facts_.cache_bytes = static_cast<uint64_t>(attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE));
    facts_.multiprocessors = static_cast<uint32_t>(attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT));
    facts_.threads_per_multiprocessor =
        static_cast<uint32_t>(attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR));
    facts_.blocks_per_multiprocessor =
        static_cast<uint32_t>(attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR));
    facts_.registers_per_multiprocessor =
        static_cast<uint32_t>(attribute(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR));
    facts_.shared_per_multiprocessor =
        static_cast<uint32_t>(attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR));
    facts_.shared_taken_per_block =
        static_cast<uint32_t>(attribute(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK));
    facts_.max_threads_per_block = static_cast<uint32_t>(attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK));
    facts_.shared_per_block = static_cast<uint32_t>(attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK));
    facts_.shared_per_block_optin =
        static_cast<uint32_t>(attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN));
    auto dimension = [&](CUdevice_attribute which) { return static_cast<uint32_t>(attribute(which)); };
    facts_.max_grid = {dimension(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X), dimension(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y),
                       dimension(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z)};
    facts_.max_block = {dimension(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X), dimension(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y),
                        dimension(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z)};
    for (int i = 0; i < count; ++i) {
      CUdevice other = 0;
      char other_name[128] = {};
      if (driver_.cuDeviceGet(&other, i) == CUDA_SUCCESS &&
          driver_.cuDeviceGetName(other_name, sizeof other_name, other) == CUDA_SUCCESS && facts_.name == other_name)
        facts_.same_model.push_back(i);
    }
  }

  Status list_kernels(CUmodule module, DeviceImage& loaded) {
    if (!driver_.cuModuleGetFunctionCount || !driver_.cuModuleEnumerateFunctions || !driver_.cuFuncGetName)
      return environment_error("the NVIDIA driver is too old to list an image's kernels; update it to 550 or newer");
    unsigned count = 0;
    KERNELIFT_TRY(check(driver_.cuModuleGetFunctionCount(&count, module), "cannot count the image's kernels"));
    std::vector<CUfunction> functions(count);
    KERNELIFT_TRY(
        check(driver_.cuModuleEnumerateFunctions(functions.data(), count, module), "cannot list the image's kernels"));
    for (CUfunction function : functions) {
      const char* name = nullptr;
      if (driver_.cuFuncGetName(&name, function) != CUDA_SUCCESS || !name) continue;
      DeviceKernel kernel;
      kernel.name = name;
      // Before a function that is loaded lazily has been loaded, some of its attributes are missing.
      if (driver_.cuFuncLoad) driver_.cuFuncLoad(function);
      auto get = [&](CUfunction_attribute which) {
        int value = 0;
        driver_.cuFuncGetAttribute(&value, which, function);
        return static_cast<uint32_t>(std::max(value, 0));
      };
      kernel.handle = reinterpret_cast<uint64_t>(function);
      kernel.registers = get(CU_FUNC_ATTRIBUTE_NUM_REGS), kernel.local_bytes = get(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
      kernel.shared_bytes = get(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES),
      kernel.constant_bytes = get(CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES);
      kernel.max_threads = get(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
      if (kernel.max_threads == 0) kernel.max_threads = facts_.max_threads_per_block;
      if (driver_.cuFuncGetParamInfo) {
        kernel.knows_parameters = true;
        size_t offset = 0, size = 0;
        for (size_t i = 0; driver_.cuFuncGetParamInfo(function, i, &offset, &size) == CUDA_SUCCESS; ++i)
          kernel.parameters.push_back({static_cast<uint32_t>(offset), static_cast<uint32_t>(size)});
      }
      kernel.resident_blocks = [&driver = driver_, function, hold = std::weak_ptr<void>(loaded.hold)](uint32_t threads,
                                                                                                      uint32_t shared) {
        int blocks = 0;
        if (!hold.expired())
          driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, static_cast<int>(threads), shared);
        return blocks;
      };
      loaded.kernels.push_back(std::move(kernel));
    }
    return done();
  }

  CUresult mark(size_t index) {
    while (events_.size() <= index) {
      CUevent event = nullptr;
      if (CUresult result = driver_.cuEventCreate(&event, CU_EVENT_DEFAULT)) return result;
      events_.push_back(event);
    }
    return driver_.cuEventRecord(events_[index], stream_);
  }

  CUresult launch(const DeviceLaunch& wanted) {
    auto function = reinterpret_cast<CUfunction>(wanted.kernel);
    const Geometry& geometry = wanted.geometry;
    // More dynamic shared memory than the default must be enabled.
    if (geometry.shared_bytes > 0) {
      int fixed = 0;
      driver_.cuFuncGetAttribute(&fixed, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function);
      if (geometry.shared_bytes + static_cast<uint32_t>(fixed) > facts_.shared_per_block)
        if (CUresult result = driver_.cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                                         static_cast<int>(geometry.shared_bytes)))
          return result;
    }
    if (wanted.carveout >= 0)
      driver_.cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, wanted.carveout);
    // Newer GPUs ignore this preference.
    if (wanted.cache_config != 0 && driver_.cuFuncSetCacheConfig)
      driver_.cuFuncSetCacheConfig(function, static_cast<CUfunc_cache>(wanted.cache_config));
    CUlaunchAttribute attributes[4];
    CUlaunchConfig config{};
    config.gridDimX = geometry.grid.x, config.gridDimY = geometry.grid.y, config.gridDimZ = geometry.grid.z;
    config.blockDimX = geometry.block.x, config.blockDimY = geometry.block.y, config.blockDimZ = geometry.block.z;
    config.sharedMemBytes = geometry.shared_bytes, config.hStream = stream_, config.attrs = attributes;
    if (geometry.cooperative) {
      attributes[config.numAttrs].id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
      attributes[config.numAttrs++].value.cooperative = 1;
    }
    if (wanted.cluster.count() > 0) {
      if (wanted.cluster.count() > kPortableCluster)
        driver_.cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
      attributes[config.numAttrs].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
      attributes[config.numAttrs++].value.clusterDim = {wanted.cluster.x, wanted.cluster.y, wanted.cluster.z};
      if (wanted.cluster_policy != 0) {
        attributes[config.numAttrs].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE;
        attributes[config.numAttrs++].value.clusterSchedulingPolicyPreference =
            static_cast<CUclusterSchedulingPolicy>(wanted.cluster_policy);
      }
    }
    if (wanted.priority != 0) {
      attributes[config.numAttrs].id = CU_LAUNCH_ATTRIBUTE_PRIORITY;
      attributes[config.numAttrs++].value.priority = wanted.priority;
    }
    std::vector<std::byte> arguments = wanted.arguments;
    if (!wanted.textures.empty()) textures_->rewrite(arguments);
    size_t size = arguments.size();
    void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, arguments.data(), CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                     CU_LAUNCH_PARAM_END};
    return driver_.cuLaunchKernelEx(&config, function, nullptr, size > 0 ? extra : nullptr);
  }

  CUresult wait(CUevent event, std::chrono::milliseconds limit) const {
    using Clock = std::chrono::steady_clock;
    constexpr auto kSpinning = std::chrono::milliseconds(20);
    constexpr useconds_t kNap = 100;
    auto begin = Clock::now();
    for (;;) {
      CUresult result = driver_.cuEventQuery(event);
      if (result != CUDA_ERROR_NOT_READY) return result;
      auto waited = Clock::now() - begin;
      if (waited > limit) return result;
      if (waited > kSpinning) usleep(kNap);
    }
  }

  static constexpr uint64_t kPortableCluster = 8;
  const CudaDriver& driver_;
  int ordinal_;
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
  CUstream stream_ = nullptr;
  /// Set once a kernel has crashed or not ended: from then on nothing is released explicitly, because the driver would
  /// wait.
  std::shared_ptr<bool> lost_ = std::make_shared<bool>(false);
  std::shared_ptr<AddressSpace> space_;
  std::unique_ptr<ClockMonitor> monitor_;
  DeviceFacts facts_;
  std::vector<CUevent> events_;
  std::unique_ptr<TextureObjects> textures_;  ///< Of the last launch that had any.
  std::unique_ptr<StagedUpload> staged_;
  /// What the last step left in arrays, against the memory that stands for them.
  enum class Arrays { Older, Same, Newer } arrays_ = Arrays::Older;
};

/// Makes the `ordinal`-th of the visible GPUs the only visible one. EXPECTS: CUDA is not initialised yet.
void see_only(int ordinal) {
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  std::string chosen = std::to_string(ordinal);
  if (visible) {
    std::istringstream names(visible);
    chosen.clear();
    for (int i = 0; i <= ordinal; ++i)
      if (!std::getline(names, chosen, ',')) chosen = "-1";  // The list is too short: no GPU.
  }
  setenv("CUDA_VISIBLE_DEVICES", chosen.c_str(), 1);
}

/// Checks the ordinal before other GPUs are hidden, because afterwards the driver would only report that there is no
/// device.
Status check_ordinal(int ordinal) {
  std::string why;
  int there = 0;
  if (const char* visible = std::getenv("CUDA_VISIBLE_DEVICES")) {
    std::istringstream names(visible);
    for (std::string name; std::getline(names, name, ',') && !name.starts_with("-");) ++there;
    why = "CUDA_VISIBLE_DEVICES=" + std::string(visible) + " makes " + std::to_string(there) + " visible";
  } else {
    std::error_code code;
    for (auto& gpu : std::filesystem::directory_iterator("/proc/driver/nvidia/gpus", code)) there += gpu.is_directory();
    if (there == 0) return done();  // Not every system lists them there.
    why = "this machine has " + std::to_string(there);
  }
  if (ordinal < there) return done();
  return environment_error("there is no GPU " + std::to_string(ordinal) + "; " + why + " (nvidia-smi -L lists them)");
}

}  // namespace

Result<std::unique_ptr<Device>> open_cuda_device(const CudaDeviceOptions& options) {
  // The driver's cache would replace compilations of PTX, and it writes to the user's home.
  setenv("CUDA_CACHE_DISABLE", "1", 1);
  KERNELIFT_ASSIGN(const CudaDriver* driver, CudaDriver::open());
  if (options.alone) {
    KERNELIFT_TRY(check_ordinal(options.ordinal));
    see_only(options.ordinal);
  }
  auto device = std::make_unique<CudaDevice>(*driver, options.alone ? 0 : options.ordinal);
  if (auto opened = device->open(options); !opened.ok())
    return std::move(opened).error().in("GPU " + std::to_string(options.ordinal));
  return std::unique_ptr<Device>(std::move(device));
}

}  // namespace kernelift::sandbox
