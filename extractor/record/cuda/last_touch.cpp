// See last_touch.h.
#include "extractor/record/cuda/last_touch.h"

#include "extractor/record/reach.h"

namespace kernelift {

/// EXPECTS: turn_ is held.
void LastTouch::touch(uint64_t address, const void* kernel) {
  constexpr size_t kMost = 1 << 16;  // An application that uses more addresses is followed anew from there.
  if (last_.size() >= kMost) last_.clear();
  last_[address] = kernel;
}

ArgumentSet LastTouch::launched(const void* kernel, std::span<const std::byte> arguments,
                                const std::vector<uint32_t>& addresses) {
  ArgumentSet others = 0;
  std::lock_guard lock(turn_);
  for (uint32_t at : addresses) {
    auto last = last_.find(word_at(arguments, at));
    bool counts = at % kArgumentWord == 0 && at / kArgumentWord < kMostArgumentWords;
    if (counts && last != last_.end() && last->second != kernel) others |= ArgumentSet(1) << at / kArgumentWord;
  }
  // Only now: two arguments may be one address.
  for (uint32_t at : addresses) touch(word_at(arguments, at), kernel);
  return others;
}

void LastTouch::written(uint64_t address) {
  std::lock_guard lock(turn_);
  touch(address, nullptr);
}

}  // namespace kernelift
