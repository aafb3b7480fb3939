// ---- launching: CUDA --------------------------------------------------------------------------------------
// A launch as it was recorded: dynamic shared memory, clusters, cooperation, carve-out, limits. What this GPU cannot do
// is named before anything is launched.

namespace kl_replay {

/// Whether durations recorded on `device` ("cpu", "cuda:NVIDIA H200:sm_90:580.159") can be compared with ones taken
/// here.
inline bool is_device(const char* device) {
#ifdef KERNELIFT_CPU_DEVICE
  return std::strcmp(device, "cpu") == 0;
#else
  cudaDeviceProp properties;
  return cudaGetDeviceProperties(&properties, 0) == cudaSuccess &&
         std::strstr(device, (":" + std::string(properties.name) + ":").c_str()) != nullptr;
#endif
}

#ifdef KERNELIFT_CPU_DEVICE
inline void set_limits(const Program&) {}
inline std::string prepare_kernel(const void* kernel, const Instance& i, std::vector<std::string>&) {
  if (i.shared > 0)
    cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(i.shared));
  cudaGetLastError();
  return "";
}
inline std::string launch(const void* kernel, const Instance& i, void** arguments) {
  dim3 grid(i.grid[0], i.grid[1], i.grid[2]), block(i.block[0], i.block[1], i.block[2]);
  return device_error(i.cooperative ? cudaLaunchCooperativeKernel(kernel, grid, block, arguments, i.shared, 0)
                                    : cudaLaunchKernel(kernel, grid, block, arguments, i.shared, 0));
}
inline const void* kernel_named(const char*) {
  die("the kernel is made for a type without a name, which a program for the CPU device cannot launch by itself: use "
      "`kernelift replay`");
  return nullptr;
}
/// Nothing runs ahead of the host here.
inline void hold_queue() {}
inline double bare_interval() { return 0; }
#else

inline int ask(cudaDeviceAttr attribute) {
  int value = 0;
  cudaDeviceGetAttribute(&value, attribute, 0);
  return value;
}

/// Stack, heap and printf buffer as large as any launch had them, and no L2 set aside: before the first launch, since
/// the heap cannot be resized later.
inline void set_limits(const Program& program) {
  const struct {
    cudaLimit limit;
    u64 Settings::* value;
    const char* name;
  } limits[] = {{cudaLimitStackSize, &Settings::stack, "the stack of a thread"},
                {cudaLimitMallocHeapSize, &Settings::heap, "the heap of device code"},
                {cudaLimitPrintfFifoSize, &Settings::printf_buffer, "the buffer of printf"}};
  for (const auto& one : limits) {
    u64 wanted = 0;
    size_t have = 0;
    for (int i = 0; i < program.instance_count; ++i)
      wanted = std::max(wanted, program.instances[i].settings.*one.value);
    if (wanted == 0 || (cudaDeviceGetLimit(&have, one.limit) == cudaSuccess && have == wanted)) continue;
    if (cudaDeviceSetLimit(one.limit, wanted) != cudaSuccess)
      die(grouped(wanted) + " bytes for " + one.name + ", as the application had it, are refused by this device");
  }
  cudaCtxResetPersistingL2Cache();
  cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, 0);
  cudaGetLastError();
}

/// Sets the kernel's attributes for this launch. Returns what forbids it on this GPU, or nothing; `notes` gets what is
/// merely different.
inline std::string prepare_kernel(const void* kernel, const Instance& i, std::vector<std::string>& notes) {
  const Settings& s = i.settings;
  int major = ask(cudaDevAttrComputeCapabilityMajor), minor = ask(cudaDevAttrComputeCapabilityMinor);
  std::string arch = "sm_" + std::to_string(major) + std::to_string(minor);
  cudaFuncAttributes facts;
  cudaError_t error = cudaFuncGetAttributes(&facts, kernel);
  if (error != cudaSuccess)
    return "this program holds no code for " + arch + ": build it with -arch=" + arch + " (" + device_error(error) +
           ")";
  if (facts.binaryVersion != major * 10 + minor)
    notes.push_back("built for sm_" + std::to_string(facts.ptxVersion) +
                    " and translated by the driver: build with -arch=" + arch +
                    " for the code that nvcc makes for this GPU");
  unsigned threads = i.block[0] * i.block[1] * i.block[2];
  if (threads > static_cast<unsigned>(facts.maxThreadsPerBlock))
    return "a block of " + std::to_string(threads) + " threads, where this kernel can have " +
           std::to_string(facts.maxThreadsPerBlock) + " on " + arch + " (it uses " + std::to_string(facts.numRegs) +
           " registers)";
  u64 most = static_cast<u64>(ask(cudaDevAttrMaxSharedMemoryPerBlockOptin));
  if (facts.sharedSizeBytes + i.shared > most)
    return grouped(facts.sharedSizeBytes + i.shared) + " bytes of shared memory in a block, where " + arch + " has " +
           grouped(most);
  u64 dynamic = std::min<u64>(std::max(i.shared, s.max_dynamic_shared), most - facts.sharedSizeBytes);
  if (dynamic > 0)
    need(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(dynamic)),
         "allowing " + grouped(dynamic) + " bytes of dynamic shared memory");
  if (s.carveout >= 0)
    need(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, s.carveout),
         "setting the share of shared memory");
  if (s.cache_config > 0)
    need(cudaFuncSetCacheConfig(kernel, static_cast<cudaFuncCache>(s.cache_config)), "setting the cache configuration");
#if CUDART_VERSION >= 11080
  if (s.cluster[0] > 0) {
    unsigned blocks = s.cluster[0] * s.cluster[1] * s.cluster[2];
    if (!ask(cudaDevAttrClusterLaunch))
      return "clusters of blocks, which " + arch + " does not have (sm_90 and later do)";
    constexpr unsigned kPortable = 8;
    if (blocks > kPortable)
      need(cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1), "allowing large clusters");
  }
#endif
  if (i.cooperative) {
    if (!ask(cudaDevAttrCooperativeLaunch)) return "a cooperative launch, which this device does not have";
    int resident = 0;
    need(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, static_cast<int>(threads), i.shared),
         "asking for occupancy");
    u64 blocks = static_cast<u64>(i.grid[0]) * i.grid[1] * i.grid[2];
    u64 room = static_cast<u64>(resident) * static_cast<u64>(ask(cudaDevAttrMultiProcessorCount));
    if (blocks > room)
      return "a cooperative launch of " + grouped(blocks) + " blocks that must all run at once, where this GPU holds " +
             grouped(room);
  }
  return "";
}

inline std::string launch(const void* kernel, const Instance& i, void** arguments) {
  dim3 grid(i.grid[0], i.grid[1], i.grid[2]), block(i.block[0], i.block[1], i.block[2]);
#if CUDART_VERSION >= 11080
  const Settings& s = i.settings;
  cudaLaunchAttribute attributes[6];
  unsigned count = 0;
  if (s.cluster[0] > 0) {
    attributes[count].id = cudaLaunchAttributeClusterDimension;
    attributes[count].val.clusterDim.x = s.cluster[0];
    attributes[count].val.clusterDim.y = s.cluster[1];
    attributes[count++].val.clusterDim.z = s.cluster[2];
  }
  if (s.cluster_policy > 0) {
    attributes[count].id = cudaLaunchAttributeClusterSchedulingPolicyPreference;
    attributes[count++].val.clusterSchedulingPolicyPreference =
        static_cast<cudaClusterSchedulingPolicy>(s.cluster_policy);
  }
  if (i.cooperative) {
    attributes[count].id = cudaLaunchAttributeCooperative;
    attributes[count++].val.cooperative = 1;
  }
  if (s.programmatic) {
    attributes[count].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[count++].val.programmaticStreamSerializationAllowed = 1;
  }
  if (s.priority != 0) {
    attributes[count].id = cudaLaunchAttributePriority;
    attributes[count++].val.priority = s.priority;
  }
  if (count > 0) {
    cudaLaunchConfig_t configuration = {};
    configuration.gridDim = grid, configuration.blockDim = block, configuration.dynamicSmemBytes = i.shared;
    configuration.attrs = attributes, configuration.numAttrs = count;
    return device_error(cudaLaunchKernelExC(&configuration, kernel, arguments));
  }
#endif
  return device_error(i.cooperative ? cudaLaunchCooperativeKernel(kernel, grid, block, arguments, i.shared, 0)
                                    : cudaLaunchKernel(kernel, grid, block, arguments, i.shared, 0));
}

static __global__ void kl_hold(unsigned cycles) {
  long long from = clock64();
  while (clock64() - from < static_cast<long long>(cycles)) {}
}

/// A kernel of this program that no text can name, because it is made for a lambda: by its name in the machine code, in
/// the library to which a kernel that has a name belongs.
inline const void* kernel_named(const char* mangled) {
  open_device();
  CUresult (*library_of)(CUlibrary*, CUkernel) = nullptr;
  CUresult (*kernel_of)(CUkernel*, CUlibrary, const char*) = nullptr;
  if (!driver("cuKernelGetLibrary", library_of, 12050) || !driver("cuLibraryGetKernel", kernel_of))
    die("the kernel is made for a type without a name, which takes a driver for CUDA 12.5 or newer to find");
  cudaKernel_t named = nullptr;
  need(cudaGetKernel(&named, kl_hold), "finding this program's kernels");
  CUlibrary library = nullptr;
  CUkernel kernel = nullptr;
  if (library_of(&library, reinterpret_cast<CUkernel>(named)) != CUDA_SUCCESS ||
      kernel_of(&kernel, library, mangled) != CUDA_SUCCESS)
    die(std::string("this program has no kernel ") + mangled +
        ": another compiler than nvcc built it, or an older one");
  return kernel;
}

/// Keeps the GPU busy while the host queues what is timed behind it, so that the host's pace is not measured.
inline void hold_queue() {
  constexpr unsigned kCycles = 60000;  // Tens of microseconds; queueing takes less than ten.
  // clang-format off
  kl_hold<<<1, 1>>>(kCycles);
  // clang-format on
}

/// What two events measure with nothing between them: every interval is too long by that much.
inline double bare_interval() {
  static double interval = -1;
  if (interval >= 0) return interval;
  Event from = make_event(), to = make_event();
  std::vector<double> samples;
  for (int i = 0; i < 31; ++i) {
    hold_queue();
    mark(from);
    mark(to);
    samples.push_back(microseconds(from, to));
  }
  return interval = median(samples);
}
#endif

}  // namespace kl_replay
