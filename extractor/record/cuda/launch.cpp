// See launch.h.
#include "extractor/record/cuda/launch.h"

#include <cupti.h>

#include <algorithm>
#include <cstring>

namespace kernelift::record {
namespace {

#define KL_CBID(name) CUPTI_DRIVER_TRACE_CBID_##name

/// cuLaunchKernel, its per-thread-stream twin and the cooperative pair begin alike.
template <class Parameters>
void take_plain(const void* from, CudaLaunch& launch) {
  auto& p = *static_cast<const Parameters*>(from);
  launch.handle = p.f;
  launch.geometry.grid = {p.gridDimX, p.gridDimY, p.gridDimZ};
  launch.geometry.block = {p.blockDimX, p.blockDimY, p.blockDimZ};
  launch.geometry.shared_bytes = p.sharedMemBytes;
  launch.stream = p.hStream;
  launch.parameters = p.kernelParams;
}

const char* attribute_name(CUlaunchAttributeID id) {
  switch (id) {
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW: return "access policy window";
    case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY: return "synchronization policy";
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT: return "programmatic event";
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP: return "memory synchronization domain map";
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN: return "memory synchronization domain";
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION: return "preferred cluster dimension";
    case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT: return "launch completion event";
    case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE: return "device-updatable kernel node";
    default: return nullptr;
  }
}

bool per_thread_default(uint32_t cbid) {
  return cbid == KL_CBID(cuLaunchKernel_ptsz) || cbid == KL_CBID(cuLaunchKernelEx_ptsz) ||
         cbid == KL_CBID(cuLaunchCooperativeKernel_ptsz);
}

const char* entry_name(uint32_t cbid) {
  switch (cbid) {
    case KL_CBID(cuLaunchKernel):
    case KL_CBID(cuLaunchKernel_ptsz): return "cuLaunchKernel";
    case KL_CBID(cuLaunchKernelEx):
    case KL_CBID(cuLaunchKernelEx_ptsz): return "cuLaunchKernelEx";
    case KL_CBID(cuLaunchCooperativeKernel):
    case KL_CBID(cuLaunchCooperativeKernel_ptsz): return "cuLaunchCooperativeKernel";
    case KL_CBID(cuLaunchCooperativeKernelMultiDevice): return "cuLaunchCooperativeKernelMultiDevice";
    case KL_CBID(cuGraphLaunch): return "cuGraphLaunch";
    case KL_CBID(cuLaunch): return "cuLaunch";
    case KL_CBID(cuLaunchGrid): return "cuLaunchGrid";
    default: return "cuLaunchGridAsync";
  }
}

}  // namespace

bool is_launch(uint32_t cbid) {
  switch (cbid) {
    case KL_CBID(cuLaunch):
    case KL_CBID(cuLaunchGrid):
    case KL_CBID(cuLaunchGridAsync):
    case KL_CBID(cuLaunchKernel):
    case KL_CBID(cuLaunchKernel_ptsz):
    case KL_CBID(cuLaunchKernelEx):
    case KL_CBID(cuLaunchKernelEx_ptsz):
    case KL_CBID(cuLaunchCooperativeKernel):
    case KL_CBID(cuLaunchCooperativeKernel_ptsz):
    case KL_CBID(cuLaunchCooperativeKernelMultiDevice): return true;
    default: return false;
  }
}

bool is_graph_launch(uint32_t cbid) { return cbid == KL_CBID(cuGraphLaunch) || cbid == KL_CBID(cuGraphLaunch_ptsz); }

CUfunction launched_function(uint32_t cbid, const void* parameters) {
  switch (cbid) {
    case KL_CBID(cuLaunchKernelEx):
    case KL_CBID(cuLaunchKernelEx_ptsz): return static_cast<const cuLaunchKernelEx_params*>(parameters)->f;
    case KL_CBID(cuLaunchCooperativeKernelMultiDevice): return nullptr;
    default: return static_cast<const cuLaunch_params*>(parameters)->f;  // All others begin with it.
  }
}

CudaLaunch decode_launch(uint32_t cbid, const void* parameters) {
  CudaLaunch launch;
  switch (cbid) {
    case KL_CBID(cuLaunchKernel):
    case KL_CBID(cuLaunchKernel_ptsz):
      take_plain<cuLaunchKernel_params>(parameters, launch);
      launch.extra = static_cast<const cuLaunchKernel_params*>(parameters)->extra;
      break;
    case KL_CBID(cuLaunchCooperativeKernel):
    case KL_CBID(cuLaunchCooperativeKernel_ptsz):
      take_plain<cuLaunchCooperativeKernel_params>(parameters, launch);
      launch.geometry.cooperative = true;
      break;
    case KL_CBID(cuLaunchKernelEx):
    case KL_CBID(cuLaunchKernelEx_ptsz): {
      auto& p = *static_cast<const cuLaunchKernelEx_params*>(parameters);
      launch.handle = p.f, launch.parameters = p.kernelParams, launch.extra = p.extra, launch.config = p.config;
      if (!p.config) {
        launch.refusal = "it was launched without a configuration";
        break;
      }
      launch.geometry.grid = {p.config->gridDimX, p.config->gridDimY, p.config->gridDimZ};
      launch.geometry.block = {p.config->blockDimX, p.config->blockDimY, p.config->blockDimZ};
      launch.geometry.shared_bytes = p.config->sharedMemBytes;
      launch.stream = p.config->hStream;
      for (unsigned i = 0; i < p.config->numAttrs; ++i)
        if (p.config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
          launch.geometry.cooperative = p.config->attrs[i].value.cooperative != 0;
      break;
    }
    default:
      launch.handle = launched_function(cbid, parameters);
      launch.refusal = std::string("it was launched by ") + entry_name(cbid) + ", whose arguments cannot be had";
  }
  return launch;
}

const char* stream_text(CUstream stream) {
  if (stream == CU_STREAM_PER_THREAD) return "per-thread";
  return !stream || stream == CU_STREAM_LEGACY ? "default" : "created";
}

LaunchSettings decode_settings(uint32_t cbid, const CudaLaunch& launch) {
  LaunchSettings settings;
  settings.known = true;
  settings.entry = entry_name(cbid);
  settings.stream = stream_text(!launch.stream && per_thread_default(cbid) ? CU_STREAM_PER_THREAD : launch.stream);
  if (!launch.config) return settings;
  for (unsigned i = 0; i < launch.config->numAttrs; ++i) {
    auto& value = launch.config->attrs[i].value;
    switch (auto id = launch.config->attrs[i].id) {
      case CU_LAUNCH_ATTRIBUTE_IGNORE:
      case CU_LAUNCH_ATTRIBUTE_COOPERATIVE: break;
      case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
        settings.cluster = {value.clusterDim.x, value.clusterDim.y, value.clusterDim.z};
        break;
      case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
        settings.cluster_policy = int(value.clusterSchedulingPolicyPreference);
        break;
      case CU_LAUNCH_ATTRIBUTE_PRIORITY: settings.priority = value.priority; break;
      case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
        settings.programmatic = value.programmaticStreamSerializationAllowed != 0;
        break;
      case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        settings.carveout = int(value.sharedMemCarveout);
        break;
      default:
        if (const char* name = attribute_name(id)) settings.other.push_back(name);
        else settings.other.push_back("launch attribute " + std::to_string(int(id)));
    }
  }
  return settings;
}

Result<std::vector<std::byte>> pack_arguments(const CudaLaunch& launch, const std::vector<Parameter>& layout) {
  if (!launch.refusal.empty()) return refused(launch.refusal);
  uint32_t size = 0;
  for (auto& parameter : layout) size = std::max(size, parameter.offset + parameter.size);
  std::vector<std::byte> bytes(size);
  if (launch.parameters) {
    for (size_t i = 0; i < layout.size(); ++i)
      if (launch.parameters[i]) std::memcpy(bytes.data() + layout[i].offset, launch.parameters[i], layout[i].size);
    return bytes;
  }
  if (!launch.extra) {
    if (size == 0) return bytes;
    return refused("it was launched without its arguments");
  }
  const void* buffer = nullptr;
  size_t buffer_size = 0;
  for (void** entry = launch.extra; *entry != CU_LAUNCH_PARAM_END; entry += 2) {
    if (*entry == CU_LAUNCH_PARAM_BUFFER_POINTER) buffer = entry[1];
    else if (*entry == CU_LAUNCH_PARAM_BUFFER_SIZE) buffer_size = *static_cast<size_t*>(entry[1]);
    else break;
  }
  if (buffer) std::memcpy(bytes.data(), buffer, std::min<size_t>(buffer_size, size));
  return bytes;
}

}  // namespace kernelift::record
