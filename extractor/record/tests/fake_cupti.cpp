// A CUPTI for tests: remembers who subscribed, and lets a fake application deliver calls and kernels. Built as a
// library of its own, since the recorder opens CUPTI by its path.
#include <cupti.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace {
CUpti_CallbackFunc callback = nullptr;
CUpti_BuffersCallbackRequestFunc request = nullptr;
CUpti_BuffersCallbackCompleteFunc complete = nullptr;
std::vector<CUpti_ActivityKernel10> kernels;
std::map<uint32_t, const char*> names = {
    {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, "cuLaunchKernel"},
    {CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2, "cuMemAlloc_v2"},
    {CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2, "cuMemFree_v2"},
    {CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoD_v2, "cuMemcpyHtoD_v2"},
    {CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2, "cuStreamBeginCapture_v2"},
    {CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture, "cuStreamEndCapture"},
    {CUPTI_DRIVER_TRACE_CBID_cuMemMap, "cuMemMap"},
    {CUPTI_DRIVER_TRACE_CBID_cuIpcOpenMemHandle_v2, "cuIpcOpenMemHandle_v2"},
    {CUPTI_DRIVER_TRACE_CBID_cuStreamDestroy_v2, "cuStreamDestroy_v2"},
    {CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch, "cuGraphLaunch"},
    {CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithFlags, "cuGraphInstantiateWithFlags"},
    {CUPTI_DRIVER_TRACE_CBID_cuGraphExecUpdate_v2, "cuGraphExecUpdate_v2"},
    {CUPTI_DRIVER_TRACE_CBID_cuGraphExecKernelNodeSetParams_v2, "cuGraphExecKernelNodeSetParams_v2"},
    {CUPTI_DRIVER_TRACE_CBID_cuGraphDestroy, "cuGraphDestroy"}};
bool tracing = false;
}  // namespace

extern "C" {

CUptiResult CUPTIAPI cuptiSubscribe(CUpti_SubscriberHandle* into, CUpti_CallbackFunc function, void*) {
  if (callback) return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  callback = function;
  *into = reinterpret_cast<CUpti_SubscriberHandle>(&callback);
  return CUPTI_SUCCESS;
}
#if CUPTI_API_VERSION >= 130000
CUptiResult CUPTIAPI cuptiSubscribe_v2(CUpti_SubscriberHandle* into, CUpti_CallbackFunc function, void* data,
                                       CUpti_SubscriberParams*) {
  return cuptiSubscribe(into, function, data);
}
#endif
CUptiResult CUPTIAPI cuptiUnsubscribe(CUpti_SubscriberHandle) { return callback = nullptr, CUPTI_SUCCESS; }
CUptiResult CUPTIAPI cuptiEnableCallback(uint32_t, CUpti_SubscriberHandle, CUpti_CallbackDomain, CUpti_CallbackId) {
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiGetCallbackName(CUpti_CallbackDomain, uint32_t cbid, const char** name) {
  auto found = names.find(cbid);
  if (found == names.end()) return CUPTI_ERROR_INVALID_PARAMETER;
  return *name = found->second, CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiGetResultString(CUptiResult, const char** text) {
  return *text = "a fake's error", CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc r,
                                                    CUpti_BuffersCallbackCompleteFunc c) {
  return request = r, complete = c, CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiActivityEnable(CUpti_ActivityKind) { return tracing = true, CUPTI_SUCCESS; }
CUptiResult CUPTIAPI cuptiActivityDisable(CUpti_ActivityKind) { return tracing = false, CUPTI_SUCCESS; }
CUptiResult CUPTIAPI cuptiActivityFlushPeriod(uint32_t) { return CUPTI_SUCCESS; }
void (*fake_delivered)() = nullptr;  ///< Called when a buffer has been taken, before whoever asked for it hears of it.
int fake_silent = 0;                 ///< Whoever asks for records never comes back.
CUptiResult CUPTIAPI cuptiActivityFlushAll(uint32_t) {
  while (fake_silent) pause();
  if (kernels.empty() || !request) return CUPTI_SUCCESS;
  uint8_t* buffer = nullptr;
  size_t size = 0, most = 0;
  request(&buffer, &size, &most);
  size_t bytes = kernels.size() * sizeof kernels[0];
  if (bytes > size) return CUPTI_ERROR_OUT_OF_MEMORY;
  std::memcpy(buffer, kernels.data(), bytes);
  kernels.clear();
  complete(nullptr, 0, buffer, size, bytes);
  if (fake_delivered) fake_delivered();
  return CUPTI_SUCCESS;
}
int fake_slow = 0;  ///< Milliseconds for each record.
CUptiResult CUPTIAPI cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid, CUpti_Activity** record) {
  if (fake_slow) usleep(useconds_t(fake_slow) * 1000);
  auto* next = *record ? reinterpret_cast<uint8_t*>(*record) + sizeof(CUpti_ActivityKernel10) : buffer;
  if (next + sizeof(CUpti_ActivityKernel10) > buffer + valid) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(next);
  return CUPTI_SUCCESS;
}

/// For the fake application.
void fake_deliver(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void* data) {
  if (callback) callback(nullptr, domain, cbid, data);
}
void fake_kernel_ran(const CUpti_ActivityKernel10* kernel) {
  if (tracing) kernels.push_back(*kernel);
}
}
