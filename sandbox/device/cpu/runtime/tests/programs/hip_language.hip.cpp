// compiler: hipcc
// What HIP has and CUDA has not, or names otherwise: constructors of vectors, AMD's builtins and atomics with scopes,
// bits of words, patterns set by words, pointer attributes, graphs by node, launches with events, the device's
// architecture.
#include <hip/hip_ext.h>
#include <hip/hip_math_constants.h>
#include <hip/hip_runtime.h>
#include <roctracer/roctx.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define HIP(call)                                                             \
  do {                                                                        \
    hipError_t e = (call);                                                    \
    if (e != hipSuccess) {                                                    \
      std::printf("FAIL %d %s: %s\n", __LINE__, #call, hipGetErrorString(e)); \
      std::exit(1);                                                           \
    }                                                                         \
  } while (0)
#define CHECK(condition)                                 \
  do {                                                   \
    if (!(condition)) {                                  \
      std::printf("FAIL %d %s\n", __LINE__, #condition); \
      std::exit(1);                                      \
    }                                                    \
  } while (0)

template <class T>
using vec4 = HIP_vector_type<T, 4>;

__global__ void language(int* out, float4* v, float* sum) {
  __shared__ float4 tile[32];
  const int i = __builtin_amdgcn_workitem_id_x();
  tile[i] = float4(1.0f) * float4(1, 2, 3, 4) + vec4<float>(i);
  __builtin_amdgcn_s_barrier();
  v[i] = tile[31 - i];
  __hip_atomic_fetch_add(sum, tile[i].x, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  if (i == 0) __hip_atomic_store(out, 5, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM);
  out[1 + i] =
      __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u)) + 100 * __builtin_amdgcn_readfirstlane(i + 7);
  out[33 + i] = __builtin_amdgcn_ds_bpermute(4 * ((i + 1) % 32), i);
  if (i == 0) out[65] = __bitextract_u32(0xabcd, 4, 8), out[66] = __bitinsert_u32(0xffff, 0, 4, 8);
  if (out[0] == 12345) abort();
}
__global__ void add(int* p, int value) { p[hipThreadIdx_x] += value; }

int main() {
  HIP(hipInit(0));
  roctxRangePush("all");
  hipDevice_t device;
  char name[32];
  size_t bytes = 0;
  hipDeviceProp_t properties;
  HIP(hipDeviceGet(&device, 0));
  HIP(hipDeviceGetName(name, sizeof name, device));
  HIP(hipDeviceTotalMem(&bytes, device));
  HIP(hipGetDeviceProperties(&properties, device));
  CHECK(bytes > 0 && std::strncmp(name, properties.name, sizeof name - 1) == 0 &&
        std::strlen(properties.gcnArchName) > 0);

  int *data, host[67];
  float4 *v, back[32];
  float *sum, total;
  HIP(hipMalloc(&data, sizeof host));
  HIP(hipMalloc(&v, sizeof back));
  HIP(hipMalloc(&sum, sizeof total));
  HIP(hipMemsetD32((hipDeviceptr_t)sum, 0x3f800000, 1));
  hipPointerAttribute_t attributes;
  HIP(hipPointerGetAttributes(&attributes, data));
  CHECK(attributes.type == hipMemoryTypeDevice && attributes.devicePointer == data);
  hipLaunchKernelGGL(language, dim3(1), dim3(32), 0, 0, data, v, sum);
  HIP(hipMemcpyDtoH(host, (hipDeviceptr_t)data, sizeof host));
  HIP(hipMemcpyDtoHAsync(back, (hipDeviceptr_t)v, sizeof back, 0));
  HIP(hipMemcpy(&total, sum, sizeof total, hipMemcpyDeviceToHost));
  CHECK(host[0] == 5 && host[1] == 700 && host[32] == 731 && host[33] == 1 && host[64] == 0);
  CHECK(host[65] == 0xbc && host[66] == 0xf00f && back[0].w == 35 && back[31].x == 1);
  CHECK(total == 1 + 32 + 31 * 16 && HIP_INF_F > total);

  hipEvent_t start, stop;
  HIP(hipEventCreate(&start));
  HIP(hipEventCreate(&stop));
  HIP(hipMemsetD16((hipDeviceptr_t)data, 3, 134));
  hipExtLaunchKernelGGL(add, dim3(1), dim3(67), 0, 0, start, stop, 0, data, 1);
  hipGraph_t graph;
  hipGraphExec_t exec;
  hipGraphNode_t node;
  int two = 2;
  void* arguments[] = {&data, &two};
  hipKernelNodeParams launch = {};
  launch.func = (void*)add, launch.gridDim = dim3(1), launch.blockDim = dim3(67), launch.kernelParams = arguments;
  HIP(hipGraphCreate(&graph, 0));
  HIP(hipGraphAddKernelNode(&node, graph, nullptr, 0, &launch));
  HIP(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  HIP(hipGraphLaunch(exec, 0));
  HIP(hipExtLaunchKernel((void*)add, dim3(1), dim3(67), arguments, 0, 0, start, stop, 0));
  HIP(hipMemcpy(host, data, sizeof host, hipMemcpyDeviceToHost));
  CHECK(host[0] == 0x30003 + 5 && host[66] == 0x30003 + 5);
  roctxRangePop();
  std::printf("PASS\n");
  return 0;
}
