// What check mode of the CPU device finds wrong about a kernel's accesses to memory and its barriers: what a GPU may
// answer differently from run to run, or faults on, though the CPU device runs it. And what it is told of memory.
#pragma once
#include <compare>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/model/launch/geometry.h"

namespace kernelift {

/// Memory that is one object to a kernel, and that it may access.
struct CheckedObject {
  std::string name;
  uint64_t begin = 0, bytes = 0;
  bool unwritten = false;  ///< Its contents mean nothing until a kernel writes them.
};

/// All objects of a program of launches, and memory near them that kernels may not access: [begin, end). Other memory
/// is not looked at. Objects do not overlap.
struct CheckedExtents {
  std::vector<CheckedObject> objects;
  std::vector<std::pair<uint64_t, uint64_t>> forbidden;
  /// Reads of objects to which no block has written so far are followed, too: for the run after one of which this was
  /// found to matter.
  bool follow_all_reads = false;
};

enum class FindingKind {
  Race,              ///< Two threads of one block, at least one writes, and nothing orders them.
  BlockRace,         ///< The same of threads of different blocks.
  OutOfBounds,       ///< Outside of every object, or of the shared variable that the source names.
  Uninitialised,     ///< A read of shared or scratch memory to which nothing was written before.
  Misaligned,        ///< The address is no multiple of what the access's type requires.
  DivergentBarrier,  ///< Threads of one block wait at different barriers.
};

/// Where code of the checked kernel's source begins.
struct CodePlace {
  uint32_t line = 0, column = 0;
  auto operator<=>(const CodePlace&) const = default;
};

struct CheckedAccess {
  std::string place;  ///< "kernel.cu:12"
  Dim3 block{0, 0, 0}, thread{0, 0, 0};
  bool write = false, atomic = false;
};

struct AccessFinding {
  FindingKind kind = FindingKind::Race;
  std::string object;                  ///< "partial", "shared memory"; empty for a barrier.
  int64_t element = 0;                 ///< Of as many bytes as the access has, counted from the object's start.
  CheckedAccess access;                ///< The access that showed it.
  std::optional<CheckedAccess> other;  ///< Races and barriers: the one before, of another thread.
  /// Whether another finding is of the same kind about the same object.
  bool is_like(const AccessFinding& one) const { return kind == one.kind && object == one.object; }
  /// "race: threads (3,0,0) and (7,0,0) of block (0,0,0) write partial[0] at kernel.cu:12 without a barrier between
  /// them"
  std::string text() const;
};

}  // namespace kernelift
