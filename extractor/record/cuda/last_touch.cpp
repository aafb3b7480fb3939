// See last_touch.h.
#include "extractor/record/cuda/last_touch.h"

#include <array>

#include "extractor/record/reach.h"

namespace kernelift::record {
namespace {

constexpr char copied_or_filled = 0;
constexpr const void* kWritten = &copied_or_filled;

}  // namespace

ArgumentSet LastTouch::launched(const void* kernel, std::span<const std::byte> arguments,
                                const std::vector<uint32_t>& addresses) {
  ArgumentSet others = 0;
  std::array<const void**, kMostArgumentWords> touched;
  size_t count = 0;
  std::lock_guard lock(turn_);
  make_room();
  for (uint32_t at : addresses) {
    bool counts = at % kArgumentWord == 0 && at / kArgumentWord < kMostArgumentWords;
    const void*& last = last_[word_at(arguments, at)];
    if (counts && last && last != kernel) others |= ArgumentSet(1) << at / kArgumentWord;
    if (count < touched.size()) touched[count++] = &last;
  }
  // Only now: two arguments may be one address.
  for (size_t i = 0; i < count; ++i) *touched[i] = kernel;
  return others;
}

void LastTouch::written(uint64_t address) {
  std::lock_guard lock(turn_);
  make_room();
  last_[address] = kWritten;
}

/// EXPECTS: turn_ is held.
void LastTouch::make_room() {
  constexpr size_t kMost = 1 << 16;  // An application that uses more addresses is followed anew from there.
  if (last_.size() >= kMost) last_.clear();
}

}  // namespace kernelift::record
