// A MEP's recorded memory on a device, at the addresses that it had in the application. Kernels run on the live copy;
// the device also holds, elsewhere, the recorded contents before the launch (given) and the original's results
// (answer), so that restoring, poisoning and comparing happen on the device. The known contents of live memory are
// tracked, so that only ranges that may differ are copied; after a mismatch nothing is known. Single-threaded, like the
// device.
#pragma once
#include <filesystem>
#include <map>
#include <memory>
#include <optional>

#include "core/model/mep.h"
#include "sandbox/evaluate/runner/memory/steps.h"
#include "sandbox/evaluate/runner/memory/written_regions.h"
#include "sandbox/jail/channel.h"

namespace kernelift::sandbox {

struct ReplayBuffer {
  std::string name;   ///< Its name in verdicts: "out", "arg 2" or a variable's key.
  uint64_t live = 0;  ///< Device address; 0 for variables, which have another address in every image.
  uint64_t size = 0;
  uint64_t given = 0, answer = 0;  ///< Device addresses; equal if the original changes nothing.
  bool veiled = false;             ///< The answer is veiled (judge/veil.h).
  ErrorBounds bounds;
  std::vector<Row> rows;
  Writes writes = Writes::No;  ///< Whether the kernel writes it; an output may also be unchanged.
  // Learned from the original:
  std::vector<DeviceMemory> states;  ///< Per row: which scalars it writes without reading. Empty: none is poisoned.
  bool all_written = false;          ///< Every byte is written without being read.
  bool rewritten = false;            ///< MepRegion::rewritten.
  bool put_back = false;  ///< Restored before each timed launch: the kernel reads bytes that it writes, or `rewritten`.
  DeviceMemory ranges;    ///< DeviceRanges that copy changed blocks from given to live; none: the whole buffer.
  uint64_t range_count = 0, changed_bytes = 0, written_bytes = 0;

  bool output() const { return writes == Writes::Does; }
  bool changed() const { return given != answer; }
  FloatTolerance tolerance(size_t row) const {
    return row < bounds.tolerances.size() ? bounds.tolerances[row] : FloatTolerance{};
  }
};

/// Reads bytes of a buffer's answer, revealed.
Status read_answer(Device& device, const ReplayBuffer& buffer, uint64_t offset, std::span<std::byte> into);

struct ReplayInstance {
  std::vector<std::byte> arguments;     ///< As recorded, or with relocated pointers.
  std::vector<ReplayBuffer> regions;    ///< By recorded address.
  std::vector<ReplayBuffer> variables;  ///< In the MEP's order.
  std::vector<DeviceTexture> textures;  ///< Objects that are no memory; none on a processor.
  struct Canary {
    uint64_t begin = 0, end = 0;
  };
  std::vector<Canary> canaries;
  struct Slot {
    uint64_t address = 0, given = 0;  ///< Addresses of the eight bytes in live memory, and in the recorded contents.
    size_t symbol = 0;                ///< Index into MepInstance::symbols.
    bool in_arguments = false;        ///< `offset` counts from the arguments' start, and there is no address.
    uint64_t offset = 0;
  };
  std::vector<Slot> slots;  ///< Where recorded memory holds addresses of module variables; each image has its own.
};

class ReplayMemory {
 public:
  /// An Error names the missing bytes of memory, the unavailable address, or the damaged data file.
  /// One that the answer is no says that the deadline has passed meanwhile.
  static Result<std::unique_ptr<ReplayMemory>> place(Device& device, const Mep& mep,
                                                     const std::filesystem::path& folder,
                                                     std::optional<Deadline> deadline = {});

  std::vector<ReplayInstance>& instances() { return instances_; }
  const std::vector<ReplayInstance>& instances() const { return instances_; }
  /// Differences from the application: "relocated…", "managed memory placed as device memory…".
  const std::vector<std::string>& notes() const { return notes_; }

  /// Steps that give live memory its contents before the instance's launch. `poison`: bytes that the original writes
  /// without reading are poisoned.
  void restore(Steps& steps, size_t instance, bool poison);
  /// Steps after restore(): bytes that the original writes without reading get the answer of another entry, `of`.
  void make_stale(Steps& steps, size_t instance, size_t of);
  /// Steps that overwrite results that launches left in recorded outputs, so that a candidate does not meet the
  /// original's.
  void wipe(Steps& steps);
  /// Notes that a launch may have changed the buffers that the original changes, or (`anything`) any memory.
  void launched(size_t instance, bool anything);
  /// Notes that a right launch changed this region within its tolerance, so that it is restored for the next one.
  void altered(size_t instance, size_t region) {
    hold(instances_[instance].regions[region].live, instances_[instance].regions[region].size, 0);
  }
  /// Steps that restore the buffers that have `put_back`, between timed launches.
  void put_back(Steps& steps, size_t instance) const;
  /// The same for one buffer.
  static void put_back(Steps& steps, const ReplayBuffer& buffer);
  /// Steps that compare all regions with their answers, and check the canaries. Returns the number of findings used;
  /// the first is that of the canaries.
  size_t compare(Steps& steps, size_t instance) const;
  /// The instance's buffers, and what is placed around them.
  CheckedExtents extents(size_t instance) const;
  /// Describes an address by the nearest buffer: "4 bytes after the end of out".
  std::string neighbourhood(size_t instance, uint64_t address) const;
  /// The same; empty if no buffer is near.
  std::string near_buffer(size_t instance, uint64_t address) const;

 private:
  explicit ReplayMemory(Device& device) : device_(device) {}
  uint64_t down(uint64_t address) const;  ///< To the device's granule.
  uint64_t up(uint64_t address) const;
  /// An Error names the part of the recording that this device cannot replay.
  Status check_recording(const Mep& mep, const std::filesystem::path& folder) const;
  Status place_live(const Mep& mep);
  Status load_images(const Mep& mep, const std::filesystem::path& folder, std::optional<Deadline> deadline);
  Status check_room(const Mep& mep);
  /// Copies an image to memory at a random address, which becomes read-only in the end: code that searches memory for
  /// answers faults.
  Result<uint64_t> upload(std::span<const std::byte> bytes, Reach reach);
  uint64_t relocated(uint64_t address) const;
  /// Offsets of pointers in the elements of a buffer, as far as its type is known.
  struct PointerLayout {
    uint64_t stride = 0;
    std::vector<uint32_t> offsets = {};
  };
  bool relocates(const PointerLayout& pointers) const { return relocates_ && pointers.stride > 0; }
  void relocate(std::span<std::byte> bytes, const PointerLayout& pointers) const;
  void relocate_arguments(const MepInstance& recorded, std::span<std::byte> arguments) const;
  /// Finds the slots of `instance`; `live_of`, `given_of`: addresses per recorded region.
  bool is_object(const MepRegion& region) const;
  Status take_object(const MepRegion& region, const std::filesystem::path& folder, ReplayInstance& instance);
  void find_slots(const MepInstance& recorded, const std::vector<uint64_t>& live_of,
                  const std::vector<uint64_t>& given_of, ReplayInstance& instance);
  /// Computes the canaries: all placed memory that belongs to no region of the instance.
  void lay_canaries(ReplayInstance& instance) const;
  void note(const std::string& what);

  struct Span {
    uint64_t begin = 0, end = 0;  ///< Recorded addresses.
    int64_t shift = 0;            ///< Actual minus recorded address.
    DeviceMemory memory;
  };
  class Images;
  struct Held {
    uint64_t end = 0, image = 0;  ///< End of a live range, and the address of the equal recorded contents.
  };
  void hold(uint64_t begin, uint64_t size, uint64_t image);
  bool holds(uint64_t begin, uint64_t size, uint64_t image) const;

  Device& device_;
  std::vector<Span> spans_;
  /// Memory for recorded images; the last piece is free after `used` bytes.
  struct Vault {
    std::vector<DeviceMemory> memory;
    uint64_t used = 0;
  };
  Vault vaults_[2];  ///< [1]: images that launches must not see.
  uint64_t vault_bytes_wanted_ = 0;
  std::vector<ReplayInstance> instances_;
  std::vector<std::string> notes_;
  std::map<uint64_t, Held> held_;      ///< Known contents of live memory, by begin of range.
  std::optional<size_t> canaries_of_;  ///< The instance whose canaries are known to be intact.
  bool relocates_ = false;
};

inline constexpr const char* kRelocated = "relocated: ";  ///< Prefix of notes() about relocated memory.
inline constexpr std::byte kPoison{0xc5};                 ///< About -6317 as a float; not NaN, which fmax would ignore.

}  // namespace kernelift::sandbox
