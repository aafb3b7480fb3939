// Damaged texts of kernels: truncated, with pieces missing, and with additional punctuation.
#pragma once
#include <cstdint>
#include <string>

namespace kernelift::tuner {

/// Visits 3000 damaged texts, the same in every run.
template <class Visit>
void for_broken_texts(const std::string& whole, Visit visit) {
  const std::string odd = "(){}[];?=<>-.,#&|\"'/*+";
  uint64_t state = 1;
  auto next = [&](size_t bound) {
    return static_cast<size_t>((state = state * 6364136223846793005u + 1442695040888963407u) >> 33) % bound;
  };
  for (int number = 0; number < 3000; ++number) {
    std::string text = whole.substr(0, number % 3 == 0 ? next(whole.size()) : whole.size());
    for (size_t changes = next(6); changes > 0 && !text.empty(); --changes) {
      const size_t at = next(text.size());
      if (next(2) == 0) text.erase(at, next(12));
      else text.insert(at, 1, odd[next(odd.size())]);
    }
    visit(text);
  }
}

}  // namespace kernelift::tuner
