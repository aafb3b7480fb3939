// See staged_upload.h.
#include "sandbox/device/cuda/staged_upload.h"

#include <algorithm>
#include <cstring>

#include "core/base/parallel.h"

namespace kernelift::sandbox {

StagedUpload::~StagedUpload() {
  for (auto& stage : stages_) {
    if (stage.memory) driver_.cuMemFreeHost(stage.memory);
    if (stage.fetched) driver_.cuEventDestroy(stage.fetched);
  }
}

bool StagedUpload::ready() {
  if (std::exchange(tried_, true)) return made_;
  made_ = std::ranges::all_of(stages_, [&](Stage& stage) {
    void* memory = nullptr;
    if (driver_.cuMemAllocHost(&memory, kStageBytes) != CUDA_SUCCESS) return false;
    stage.memory = static_cast<std::byte*>(memory);
    return driver_.cuEventCreate(&stage.fetched, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS;
  });
  return made_;
}

CUresult StagedUpload::write(CUstream stream, uint64_t to, std::span<const std::byte> bytes) {
  constexpr size_t kPiece = 1 << 20;
  CUresult result = CUDA_SUCCESS;
  for (size_t at = 0, turn = 0; at < bytes.size() && result == CUDA_SUCCESS; at += kStageBytes, ++turn) {
    const Stage& stage = stages_[turn % 2];
    const auto part = bytes.subspan(at, std::min(kStageBytes, bytes.size() - at));
    if (turn >= 2) result = driver_.cuEventSynchronize(stage.fetched);
    if (result != CUDA_SUCCESS) break;
    (void)in_pieces(part.size(), kPiece, [&](uint64_t begin, uint64_t end) {
      std::memcpy(stage.memory + begin, &part[begin], end - begin);
      return done();
    });
    result = driver_.cuMemcpyHtoDAsync(to + at, stage.memory, part.size(), stream);
    if (result == CUDA_SUCCESS) result = driver_.cuEventRecord(stage.fetched, stream);
  }
  const CUresult ended = driver_.cuStreamSynchronize(stream);
  return result == CUDA_SUCCESS ? ended : result;
}

}  // namespace kernelift::sandbox
