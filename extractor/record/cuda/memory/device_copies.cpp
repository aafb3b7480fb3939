// See device_copies.h.
#include "extractor/record/cuda/memory/device_copies.h"

#include "extractor/record/cuda/memory/allocations.h"

namespace kernelift::record {

Status DeviceCopies::check(CUresult result, const char* what) const {
  if (result == CUDA_SUCCESS) return done();
  return environment_error(std::string(what) + " failed: " + cuda_error_text(driver_, result));
}

Result<std::vector<std::byte*>> DeviceCopies::buffers(size_t count, size_t bytes) {
  KERNELIFT_TRY(check(driver_.cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), "creating a stream for the images"));
  for (size_t i = 0; i < count; ++i) {
    void* memory = nullptr;
    CUevent event = nullptr;
    KERNELIFT_TRY(check(driver_.cuMemAllocHost(&memory, bytes), "allocating pinned memory for the images"));
    KERNELIFT_TRY(check(driver_.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), "creating an event for the images"));
    buffers_.push_back(static_cast<std::byte*>(memory));
    events_.push_back(event);
  }
  return buffers_;
}

const std::byte* DeviceCopies::direct(uint64_t address, MemoryKind kind) {
  if (kind != MemoryKind::HostMapped) return nullptr;
  return reinterpret_cast<const std::byte*>(classify(driver_, address).host);
}

Status DeviceCopies::start(size_t buffer, uint64_t address, uint64_t size) {
  KERNELIFT_TRY(check(textures_.holds(address) ? textures_.copy(buffers_[buffer], address, size, stream_)
                                               : driver_.cuMemcpyDtoHAsync(buffers_[buffer], address, size, stream_),
                      "reading device memory"));
  return check(driver_.cuEventRecord(events_[buffer], stream_), "reading device memory");
}

Status DeviceCopies::finish(size_t buffer) {
  return check(driver_.cuEventSynchronize(events_[buffer]), "reading device memory");
}

}  // namespace kernelift::record
