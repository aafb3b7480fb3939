// An application that profiles itself with CUPTI, as frameworks do: after some launches it subscribes (argv[1]
// "subscribe", "subscribe-v2") or takes the activity records ("activity"; "early": before it has used CUDA at all, as
// NVIDIA's own samples do), and must get what it asks for, recorded or not. "loaded": it only opens CUPTI before it
// uses CUDA, as frameworks do that can profile when asked.
#include <cupti.h>
#include <dlfcn.h>

#include <cstdint>
#include <string>

#include "extractor/record/tests/cuda/check.h"

__global__ void work(int* data) { atomicAdd(data, 1); }

int launches_seen = 0, kernels_seen = 0;
decltype(&cuptiActivityGetNextRecord) next_record;

int main(int argc, char** argv) {
  std::string mode = argc > 1 ? argv[1] : "subscribe";
  const bool loaded = mode == "loaded", early = mode == "early" || loaded,
             subscribes = mode.compare(0, 9, "subscribe") == 0;
  int* data = nullptr;
  auto begin = [&] {
    CHECK(cudaMalloc(&data, 64));
    CHECK(cudaMemset(data, 0, 64));
    for (int i = 0; i < 5; ++i) work<<<1, 1>>>(data);
    CHECK(cudaDeviceSynchronize());
  };
  if (!early) begin();
  const char* path = argc > 2 ? argv[2] : "libcupti.so.13";
  void* library = dlopen(path, RTLD_NOW);
  if (!library) return std::printf("no CUPTI: %s\n", dlerror()), 60;
  auto look_up = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, name));
  };
  decltype(&cuptiSubscribe) subscribe;
  decltype(&cuptiEnableCallback) enable;
  decltype(&cuptiActivityRegisterCallbacks) take_records;
  decltype(&cuptiActivityEnable) enable_activity;
  decltype(&cuptiActivityFlushAll) flush;
  look_up(subscribe, "cuptiSubscribe"), look_up(enable, "cuptiEnableCallback");
  look_up(take_records, "cuptiActivityRegisterCallbacks"), look_up(enable_activity, "cuptiActivityEnable");
  look_up(flush, "cuptiActivityFlushAll"), look_up(next_record, "cuptiActivityGetNextRecord");
  if (subscribes) {
    CUpti_SubscriberHandle subscriber;
    CUpti_CallbackFunc see = [](void*, CUpti_CallbackDomain, CUpti_CallbackId, const void* data) {
      launches_seen += static_cast<const CUpti_CallbackData*>(data)->callbackSite == CUPTI_API_ENTER;
    };
    decltype(&cuptiSubscribe_v2) newer;
    look_up(newer, "cuptiSubscribe_v2");
    CUptiResult answer =
        mode == "subscribe" ? subscribe(&subscriber, see, nullptr) : newer(&subscriber, see, nullptr, nullptr);
    CUptiResult enabled = enable(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
    std::printf("subscribe %d %d\n", int(answer), int(enabled));
  } else if (!loaded) {
    CUptiResult answer = take_records(
        [](uint8_t** buffer, size_t* size, size_t* records) {
          *buffer = static_cast<uint8_t*>(std::aligned_alloc(8, 1 << 20)), *size = 1 << 20, *records = 0;
        },
        [](CUcontext, uint32_t, uint8_t* buffer, size_t, size_t valid) {
          CUpti_Activity* record = nullptr;
          while (next_record(buffer, valid, &record) == CUPTI_SUCCESS)
            kernels_seen += record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
          std::free(buffer);
        });
    CUptiResult enabled = enable_activity(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    std::printf("activity %d %d\n", int(answer), int(enabled));
  }
  if (early) begin();
  for (int i = 0; i < 7; ++i) work<<<1, 1>>>(data);
  CHECK(cudaDeviceSynchronize());
  if (!subscribes && !loaded) flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  int value;
  CHECK(cudaMemcpy(&value, data, sizeof value, cudaMemcpyDeviceToHost));
  std::printf("counted %d launches %d kernels %d\n", value, launches_seen, kernels_seen);
  return value == 12 && (subscribes ? launches_seen == 7 : kernels_seen == (loaded ? 0 : early ? 12 : 7)) ? 0 : 1;
}
