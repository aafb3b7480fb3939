// A MEP's recorded memory, mapped in this process where the application had it, so that pointers inside it
// mean what they meant. Three things lie side by side:
//   live     the memory that kernels run on: shared with forked children, canaries between buffers, guard pages around
//   given    what each instance's memory held before the launch; children may read it, to restore from it
//   answers  what the original left; never mapped in a child (MADV_DONTFORK), so that no candidate can copy it
// Restoring and checking happen in the process that never runs a candidate's code.
#pragma once
#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/model/mep.h"
#include "sandbox/evaluate/written_regions.h"
#include "sandbox/judge/yardstick.h"

namespace kernelift {

struct ByteRange {
  uint64_t begin = 0, end = 0;
  uint64_t size() const { return end - begin; }
};

struct MemoryRegion {
  uint64_t address = 0, size = 0;
  const std::byte* given = nullptr;
  const std::byte* answer = nullptr;
  std::string name;                 ///< "out" or "arg 2": how verdicts call it.
  Yardstick yardstick;              ///< Its tolerances are set by calibration.
  std::vector<ByteRange> written;   ///< Offsets that the original writes without reading: poisoned when verifying.
  std::vector<ByteRange> restored;  ///< Offsets to be put back before each timed launch.
  Writes writes = Writes::No;       ///< Whether it is an output, though it may read the same before and after.
  bool output() const { return writes == Writes::Does; }
  bool changed() const { return given != answer; }
  std::byte* live() const { return reinterpret_cast<std::byte*>(address); }
};

struct MemoryVariable {
  std::string name, key;  ///< Mangled and canonical.
  uint64_t size = 0;
  const std::byte* given = nullptr;
  const std::byte* answer = nullptr;
  Yardstick yardstick;
  uint64_t mirror_offset = 0;  ///< Where a child leaves its value after a run.
  bool constant = false;
  bool changed() const { return given != answer; }
};

struct InstanceMemory {
  std::vector<MemoryRegion> regions;  ///< By address.
  std::vector<MemoryVariable> variables;
  std::vector<ByteRange> canaries;  ///< Addresses of live bytes that belong to no buffer of this instance.
};

class ReplayMemory {
 public:
  /// An Error names the address that could not be had, or the data file that is damaged.
  static Result<std::unique_ptr<ReplayMemory>> map(const Mep& mep, const std::filesystem::path& folder);
  ~ReplayMemory();

  std::vector<InstanceMemory>& instances() { return instances_; }
  const std::vector<InstanceMemory>& instances() const { return instances_; }

  /// Everything as before the launch. `poison`: what the original writes anyway is filled with a pattern.
  void restore(size_t instance, bool poison) const;
  /// Poisons what the original writes anyway.
  void poison(size_t instance) const;
  /// Fills one region with a pattern made of `byte`.
  static void fill(const MemoryRegion& region, std::byte byte);
  /// "4 bytes after the end of out" if a canary was overwritten.
  std::optional<std::string> broken_canary(size_t instance) const;
  /// How a stray address relates to the nearest buffer: "8 bytes after the end of out"; empty if it is near none.
  std::string neighbourhood(size_t instance, uint64_t address) const;
  /// Memory that children fill with the values of module variables.
  std::span<std::byte> mirror() const { return {mirror_, mirror_bytes_}; }

 private:
  struct Span {
    uint64_t begin = 0, end = 0;
  };
  ReplayMemory() = default;
  Status map_images(const Mep& mep, const std::filesystem::path& folder);
  Status map_live(const Mep& mep);
  void describe(const Mep& mep);

  std::vector<Span> spans_, guards_;
  std::vector<InstanceMemory> instances_;
  struct Images;
  std::unique_ptr<Images> given_, answers_;
  std::byte* mirror_ = nullptr;
  size_t mirror_bytes_ = 0;
};

}  // namespace kernelift
