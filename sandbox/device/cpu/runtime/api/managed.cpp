// Hints about managed memory. There is one memory, so a hint moves nothing; but its arguments are checked, and what was
// advised can be asked back, as programs that test their own setup do.
#include <cstring>
#include <map>

#include "sandbox/device/cpu/runtime/api/alias.h"
#include "sandbox/device/cpu/runtime/errors.h"
#include "sandbox/device/cpu/runtime/memory/ranges.h"
#include "sandbox/device/cpu/runtime/order/stream.h"
#include "sandbox/device/cpu/runtime/state.h"

using namespace kernelift::cudart;

namespace {

enum {
  kSetReadMostly = 1,
  kUnsetReadMostly = 2,
  kSetPreferred = 3,
  kUnsetPreferred = 4,
  kSetAccessedBy = 5,
  kUnsetAccessedBy = 6
};
enum { kRangeReadMostly = 1, kRangePreferred = 2, kRangeAccessedBy = 3, kRangeLastPrefetch = 4 };
constexpr int kLocationDevice = 1, kInvalidDevice = -2, kCpuDevice = -1;

struct Advice {
  int read_mostly = 0, preferred = kInvalidDevice, accessed_by = kInvalidDevice, last_prefetch = kInvalidDevice;
};
/// By the allocation's address. EXPECTS: State::mutex.
std::map<uint64_t, Advice>& advice_table() {
  static auto& table = *new std::map<uint64_t, Advice>;
  return table;
}

cudaError_t check_managed(const void* pointer, size_t count, uint64_t* begin) {
  MemoryRange range = classify(pointer);
  if (count == 0 || range.kind != MemoryClass::Managed) return cudaErrorInvalidValue;
  *begin = range.begin;
  return check_device(pointer, count);
}

int device_number(cudaMemLocation location) { return location.type == kLocationDevice ? location.id : kCpuDevice; }
bool valid(cudaMemLocation location) {
  return location.type == kLocationDevice ? location.id == 0 : location.type >= 0 && location.type <= 4;
}

}  // namespace

KL_API cudaError_t cudaMemAdvise(const void* pointer, size_t count, int advice, cudaMemLocation location) {
  KL_ENTER();
  StateLock lock;
  uint64_t begin = 0;
  if (cudaError_t error = check_managed(pointer, count, &begin)) return leave(error);
  bool needs_location = advice >= kSetPreferred && advice != kUnsetPreferred;
  if (needs_location && !valid(location)) return leave(cudaErrorInvalidDevice);
  Advice& known = advice_table()[begin];
  switch (advice) {
    case kSetReadMostly:
    case kUnsetReadMostly: known.read_mostly = advice == kSetReadMostly; break;
    case kSetPreferred: known.preferred = device_number(location); break;
    case kUnsetPreferred: known.preferred = kInvalidDevice; break;
    case kSetAccessedBy: known.accessed_by = device_number(location); break;
    case kUnsetAccessedBy: known.accessed_by = kInvalidDevice; break;
    default: return leave(cudaErrorInvalidValue);
  }
  return cudaSuccess;
}

KL_API cudaError_t cudaMemPrefetchAsync(const void* pointer, size_t count, cudaMemLocation location, unsigned flags,
                                        cudaStream_t stream) {
  KL_ENTER();
  StateLock lock;
  uint64_t begin = 0;
  if (!find_stream(stream)) return leave(cudaErrorInvalidResourceHandle);
  if (flags != 0) return leave(cudaErrorInvalidValue);
  if (!valid(location)) return leave(cudaErrorInvalidDevice);
  if (cudaError_t error = check_managed(pointer, count, &begin)) return leave(error);
  advice_table()[begin].last_prefetch = device_number(location);
  return cudaSuccess;
}
KL_PTSZ(cudaMemPrefetchAsync);

KL_API cudaError_t cudaMemRangeGetAttribute(void* data, size_t size, int attribute, const void* pointer, size_t count) {
  KL_ENTER();
  StateLock lock;
  uint64_t begin = 0;
  if (!data || size < sizeof(int)) return leave(cudaErrorInvalidValue);
  if (cudaError_t error = check_managed(pointer, count, &begin)) return leave(error);
  auto found = advice_table().find(begin);
  Advice advice = found == advice_table().end() ? Advice() : found->second;
  int value = 0;
  switch (attribute) {
    case kRangeReadMostly: value = advice.read_mostly; break;
    case kRangePreferred: value = advice.preferred; break;
    case kRangeLastPrefetch: value = advice.last_prefetch; break;
    case kRangeAccessedBy:
      for (size_t i = 0; i < size / sizeof(int); ++i) static_cast<int*>(data)[i] = kInvalidDevice;
      value = advice.accessed_by;
      break;
    default: return leave(not_supported("cudaMemRangeGetAttribute", "this attribute is not kept"));
  }
  std::memcpy(data, &value, sizeof value);
  return cudaSuccess;
}

KL_API cudaError_t cudaMemRangeGetAttributes(void** data, size_t* sizes, int* attributes, size_t attribute_count,
                                             const void* pointer, size_t count) {
  if (!data || !sizes || !attributes) return leave(cudaErrorInvalidValue);
  for (size_t i = 0; i < attribute_count; ++i)
    if (cudaError_t error = cudaMemRangeGetAttribute(data[i], sizes[i], attributes[i], pointer, count)) return error;
  return cudaSuccess;
}

KL_API cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void* pointer, size_t length, unsigned) {
  KL_ENTER();
  uint64_t begin = 0;
  if (!find_stream(stream)) return leave(cudaErrorInvalidResourceHandle);
  return leave(check_managed(pointer, length ? length : 1, &begin));
}
KL_PTSZ(cudaStreamAttachMemAsync);
