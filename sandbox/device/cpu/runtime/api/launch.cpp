// Launches: the call-configuration pair behind <<<…>>>, cudaLaunchKernel and its relatives.
#include <vector>

#include "sandbox/device/cpu/runtime/api/alias.h"
#include "sandbox/device/cpu/runtime/errors.h"
#include "sandbox/device/cpu/runtime/launch/launcher.h"
#include "sandbox/device/cpu/runtime/order/graph.h"
#include "sandbox/device/cpu/runtime/order/stream.h"

using namespace kernelift::cudart;

namespace {

struct CallConfiguration {
  dim3 grid, block;
  size_t shared;
  cudaStream_t stream;
};
thread_local std::vector<CallConfiguration> configurations;

cudaError_t launch_in_stream(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared,
                             cudaStream_t handle, bool cooperative) {
  Stream* stream = find_stream(handle);
  if (!stream) return cudaErrorInvalidResourceHandle;
  Launch launch;
  uint64_t id = handle == nullptr || handle == kLegacyStream ? 0 : stream->id;
  if (cudaError_t error = prepare_launch(function, grid, block, arguments, shared, cooperative, id, launch))
    return error;
  if (!stream->capture) return in_stream(handle, NodeType::Kernel, [&] { return run_launch(launch); });
  GraphNode* node = nullptr;
  cudaError_t error = capture_node(stream, NodeType::Kernel, [launch] { return run_launch(launch); }, &node);
  if (node) node->kernel = {const_cast<void*>(function), grid, block, unsigned(shared), nullptr, nullptr};
  return error;
}

}  // namespace

KL_API unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, cudaStream_t stream) {
  configurations.push_back({grid, block, shared, stream});
  return 0;
}

KL_API cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, void* stream) {
  if (configurations.empty()) return leave(cudaErrorMissingConfiguration);
  const CallConfiguration& top = configurations.back();
  *grid = top.grid;
  *block = top.block;
  *shared = top.shared;
  *static_cast<cudaStream_t*>(stream) = top.stream;
  configurations.pop_back();
  return cudaSuccess;
}

KL_API cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared,
                                    cudaStream_t stream) {
  KL_ENTER();
  return leave(launch_in_stream(function, grid, block, arguments, shared, stream, false));
}
KL_PTSZ(cudaLaunchKernel);
// The spellings that nvcc 12's and 13's host stubs call.
KL_ALIAS(__cudaLaunchKernel, cudaLaunchKernel);
KL_ALIAS(__cudaLaunchKernel_ptsz, cudaLaunchKernel);

KL_API cudaError_t cudaLaunchCooperativeKernel(const void* function, dim3 grid, dim3 block, void** arguments,
                                               size_t shared, cudaStream_t stream) {
  KL_ENTER();
  return leave(launch_in_stream(function, grid, block, arguments, shared, stream, true));
}
KL_PTSZ(cudaLaunchCooperativeKernel);

KL_API cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function, void** arguments) {
  KL_ENTER();
  if (!config) return leave(cudaErrorInvalidValue);
  bool cooperative = false;
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    const cudaLaunchAttribute& attribute = config->attrs[i];
    if (attribute.id == kLaunchAttributeCooperative) cooperative = attribute.val.cooperative != 0;
    const dim3& cluster = attribute.val.clusterDim;
    if (attribute.id == kLaunchAttributeClusterDimension && uint64_t(cluster.x) * cluster.y * cluster.z > 1)
      return leave(not_supported("a thread block cluster", "launch without cudaLaunchAttributeClusterDimension"));
  }
  return leave(launch_in_stream(function, config->gridDim, config->blockDim, arguments, config->dynamicSmemBytes,
                                config->stream, cooperative));
}
KL_PTSZ(cudaLaunchKernelExC);

/// nvcc 12.8 and later resolve a stub once; the stub's address serves as the handle here.
KL_API cudaError_t __cudaGetKernel(const void** kernel, const void* function) {
  *kernel = function;
  return cudaSuccess;
}
KL_API cudaError_t cudaGetKernel(const void** kernel, const void* function) {
  Function* found = nullptr;
  if (!kernel) return leave(cudaErrorInvalidValue);
  if (cudaError_t error = find_function(function, &found)) return leave(error);
  *kernel = function;
  return cudaSuccess;
}
KL_API cudaError_t cudaGetFuncBySymbol(const void** handle, const void* function) {
  return cudaGetKernel(handle, function);
}
