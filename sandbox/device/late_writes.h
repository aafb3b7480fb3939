// Finds out whether a launch goes on writing after it was reported as done, on devices whose kernels run in processes
// beside ours: looks at random places of its results at once, and again when they have been copied or compared. A
// launch that reports its end early leaves places that change afterwards, or results that are not complete.
#pragma once
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

namespace kernelift::sandbox {

class LateWrites {
 public:
  static constexpr const char* kText =
      "it was reported as done, and went on writing its results: its time was not the time of its work";

  void look(uint64_t at, uint64_t bytes) {
    constexpr size_t kPlaces = 96;
    std::array<uint64_t, kPlaces> random{};
    if (getrandom(random.data(), sizeof random, 0) != sizeof random) return;
    const uint64_t lines = (bytes + kLine - 1) / kLine;
    for (uint64_t draw : random) {
      Place& place = places_.emplace_back();
      const uint64_t offset = draw % lines * kLine;
      place.at = at + offset, place.bytes = std::min<uint64_t>(kLine, bytes - offset);
      std::memcpy(place.held.data(), reinterpret_cast<const void*>(place.at), place.bytes);
    }
  }
  /// Forgets the places.
  bool found_none() {
    const bool none = std::ranges::all_of(places_, [](const Place& place) {
      return std::memcmp(place.held.data(), reinterpret_cast<const void*>(place.at), place.bytes) == 0;
    });
    places_.clear();
    return none;
  }

 private:
  static constexpr uint64_t kLine = 64;
  struct Place {
    uint64_t at = 0, bytes = 0;
    std::array<std::byte, kLine> held{};
  };
  std::vector<Place> places_;
};

}  // namespace kernelift::sandbox
