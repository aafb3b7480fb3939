// ---- launching: HIP ---------------------------------------------------------------------------------------
// Launches as they were recorded, as far as HIP has the words for it.

namespace kl_replay {

/// Whether durations recorded on `device` ("cpu", "cuda:NVIDIA H200:sm_90:580.159") can be compared with ones taken
/// here.
inline bool is_device(const char* device) {
#ifdef KERNELIFT_CPU_DEVICE
  return std::strcmp(device, "cpu") == 0;
#else
  hipDeviceProp_t properties;
  return hipGetDeviceProperties(&properties, 0) == hipSuccess &&
         std::strstr(device, (":" + std::string(properties.name) + ":").c_str()) != nullptr;
#endif
}

inline void set_limits(const Program& program) {
#ifndef KERNELIFT_CPU_DEVICE
  u64 stack = 0, heap = 0;
  for (int i = 0; i < program.instance_count; ++i) {
    stack = std::max(stack, program.instances[i].settings.stack);
    heap = std::max(heap, program.instances[i].settings.heap);
  }
  if (stack) (void)hipDeviceSetLimit(hipLimitStackSize, stack);
  if (heap) (void)hipDeviceSetLimit(hipLimitMallocHeapSize, heap);
  (void)hipGetLastError();
#endif
}
/// Sets the kernel's attributes for this launch. Returns what forbids it on this GPU, or nothing.
inline const void* kernel_named(const char*) {
  die("the kernel is made for a type without a name, which this program cannot launch by itself: use `kernelift "
      "replay`");
  return nullptr;
}
inline std::string prepare_kernel(const void* kernel, const Instance& i, std::vector<std::string>&) {
  if (i.shared > 0)
    (void)hipFuncSetAttribute(kernel, hipFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(i.shared));
  (void)hipGetLastError();
  return i.settings.cluster[0] > 0 ? "clusters of blocks, which AMD GPUs do not have" : "";
}
/// Nothing is held back here: what the host takes between the events is measured too.
inline void hold_queue() {}
inline double bare_interval() { return 0; }
inline std::string launch(const void* kernel, const Instance& i, void** arguments) {
  dim3 grid(i.grid[0], i.grid[1], i.grid[2]), block(i.block[0], i.block[1], i.block[2]);
  hipError_t error = i.cooperative ? hipLaunchCooperativeKernel(kernel, grid, block, arguments, i.shared, 0)
                                   : hipLaunchKernel(kernel, grid, block, arguments, i.shared, 0);
  return device_error(error);
}

}  // namespace kl_replay
