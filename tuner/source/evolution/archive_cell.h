// Where a candidate lies in an archive: what kind of kernel it is, not how fast. A candidate competes with those of its
// own cell only, so that a text that is slow yet, but different, is kept as something to start from.
#pragma once
#include <compare>
#include <cstdint>
#include <string>

#include "core/model/candidate/candidate.h"
#include "core/model/verdict/verdict.h"

namespace kernelift::tuner {

struct ArchiveCell {
  enum class Reuse : uint8_t { None, Registers, Shared };               ///< Where a thread keeps what is used again.
  enum class Synchronisation : uint8_t { None, Warp, Block, Atomics };  ///< The farthest-reaching that it uses.
  enum class Class : uint8_t { Unknown, Lowest, Low, High, Highest };   ///< Unknown: the device does not tell.
  Reuse reuse = Reuse::None;
  uint8_t vector = 1;  ///< Elements of its widest vector type: 1, 2 or 4.
  Synchronisation synchronisation = Synchronisation::None;
  Class occupancy = Class::Unknown;  ///< In quarters of the most resident threads.
  Class registers = Class::Unknown;  ///< At most 32, 64, 128, or more, per thread.
  auto operator<=>(const ArchiveCell&) const = default;
  std::string text() const;  ///< "shared memory, vectors of 4, barriers of the block".
};

/// From the candidate's text, and from what its verdict tells of registers, shared memory and occupancy.
ArchiveCell cell_of(const Candidate& candidate, const Verdict& verdict);

}  // namespace kernelift::tuner
