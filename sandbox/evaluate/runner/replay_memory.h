// A MEP's recorded memory on a GPU, where the application had it. Beside what kernels run on (live) lie, out
// of their way, what it held before (given) and what the original left (answer), so that restoring, poisoning and
// comparing never leave the device. What every live byte is known to hold is kept track of: only what may differ is
// copied, and after a mismatch nothing is known. Single-threaded, like the device.
#pragma once
#include <filesystem>
#include <map>
#include <memory>
#include <optional>

#include "core/model/mep.h"
#include "sandbox/evaluate/runner/steps.h"
#include "sandbox/evaluate/runner/written_regions.h"

namespace kernelift {

struct ReplayBuffer {
  std::string name;   ///< "out", "arg 2" or a variable's key: how verdicts call it.
  uint64_t live = 0;  ///< Device address; of a variable: 0, since every image has its own.
  uint64_t size = 0;
  uint64_t given = 0, answer = 0;  ///< Device addresses; equal when the original changes nothing.
  ErrorBounds bounds;
  std::vector<Row> rows;
  Writes writes = Writes::No;  ///< Whether it is an output, though it may read the same before and after.
  // Learned from the original:
  std::vector<DeviceMemory> states;  ///< Per row: which scalars it writes without reading. Empty: none is poisoned.
  bool all_written = false;          ///< Every byte is.
  bool rewritten = false;            ///< MepRegion::rewritten.
  bool put_back = false;  ///< To be restored before each timed launch: it reads what it writes, or that is rewritten.
  DeviceMemory ranges;    ///< Of DeviceRange: the changed blocks, from given to live; none: the whole buffer.
  uint64_t range_count = 0, changed_bytes = 0, written_bytes = 0;

  bool output() const { return writes == Writes::Does; }
  bool changed() const { return given != answer; }
  FloatTolerance tolerance(size_t row) const {
    return row < bounds.tolerances.size() ? bounds.tolerances[row] : FloatTolerance{};
  }
};

struct ReplayInstance {
  std::vector<std::byte> arguments;     ///< As recorded, or with relocated pointers.
  std::vector<ReplayBuffer> regions;    ///< By recorded address.
  std::vector<ReplayBuffer> variables;  ///< In the MEP's order.
  struct Canary {
    uint64_t begin = 0, end = 0;
  };
  std::vector<Canary> canaries;
  struct Slot {
    uint64_t address = 0, given = 0;  ///< Live address of eight bytes, and of what was recorded there.
    size_t symbol = 0;                ///< Index into MepInstance::symbols.
    bool in_arguments = false;
    uint64_t offset = 0;
  };
  std::vector<Slot> slots;  ///< Where addresses of the image's own variables go.
};

class ReplayMemory {
 public:
  /// An Error names the bytes that do not fit, the address that cannot be had, or the data file that is damaged.
  static Result<std::unique_ptr<ReplayMemory>> place(Device& device, const Mep& mep,
                                                     const std::filesystem::path& folder);

  std::vector<ReplayInstance>& instances() { return instances_; }
  const std::vector<ReplayInstance>& instances() const { return instances_; }
  /// What is not as it was in the application: "relocated…", "managed memory placed as device memory…".
  const std::vector<std::string>& notes() const { return notes_; }

  /// Steps that make live memory what the instance's launch saw. `poison`: but for what the original writes anyway.
  void restore(Steps& steps, size_t instance, bool poison);
  /// Steps after restore(): what the original writes without reading holds the answer of another entry, `of`.
  void make_stale(Steps& steps, size_t instance, size_t of);
  /// A launch of this instance may have changed what its original changes, or (`anything`) whatever there is.
  void launched(size_t instance, bool anything);
  /// A launch that was found right has altered this one within its tolerance: the next begins with it as recorded.
  void altered(size_t instance, size_t region) {
    hold(instances_[instance].regions[region].live, instances_[instance].regions[region].size, 0);
  }
  /// Steps that put back what a timed launch of the original's kind leaves changed.
  void put_back(Steps& steps, size_t instance) const;
  /// Steps that compare all regions with their answers, and check the canaries. Returns how many findings they use;
  /// the first is the canaries'.
  size_t compare(Steps& steps, size_t instance) const;
  /// "4 bytes after the end of out": where a stray address is.
  std::string neighbourhood(size_t instance, uint64_t address) const;
  /// The same; empty where no buffer is near.
  std::string near_buffer(size_t instance, uint64_t address) const;

 private:
  explicit ReplayMemory(Device& device) : device_(device) {}
  uint64_t down(uint64_t address) const;  ///< To the device's granule.
  uint64_t up(uint64_t address) const;
  /// An Error says what of the recording this device cannot replay.
  Status check_recording(const Mep& mep, const std::filesystem::path& folder) const;
  Status place_live(const Mep& mep);
  Status load_images(const Mep& mep, const std::filesystem::path& folder);
  Status check_room(const Mep& mep);
  /// Into memory whose address nobody can guess and which is read-only in the end: whoever looks for answers faults.
  Result<uint64_t> upload(std::span<const std::byte> bytes, Reach reach);
  uint64_t relocated(uint64_t address) const;
  /// Where the elements of a buffer hold addresses, as far as its type tells.
  struct PointerLayout {
    uint64_t stride = 0;
    std::vector<uint32_t> offsets = {};
  };
  void relocate(std::span<std::byte> bytes, const PointerLayout& pointers) const;
  void relocate_arguments(const MepInstance& recorded, std::span<std::byte> arguments) const;
  /// Where addresses of module variables lie in an instance's memory, by its recorded regions.
  void find_slots(const MepInstance& recorded, const std::vector<uint64_t>& live_of,
                  const std::vector<uint64_t>& given_of, ReplayInstance& instance);
  /// Around its regions, in all that is mapped.
  void lay_canaries(ReplayInstance& instance) const;
  void note(const std::string& what);

  struct Span {
    uint64_t begin = 0, end = 0;  ///< Recorded addresses.
    int64_t shift = 0;            ///< To where it lies.
    DeviceMemory memory;
  };
  class Images;
  struct Held {
    uint64_t end = 0, image = 0;
  };
  void hold(uint64_t begin, uint64_t size, uint64_t image);
  bool holds(uint64_t begin, uint64_t size, uint64_t image) const;

  Device& device_;
  std::vector<Span> spans_;
  /// Recorded images; the last piece of memory has room after `used` bytes.
  struct Vault {
    std::vector<DeviceMemory> memory;
    uint64_t used = 0;
  };
  Vault vaults_[2];  ///< [1]: what launches must not see.
  uint64_t vault_bytes_wanted_ = 0;
  std::vector<ReplayInstance> instances_;
  std::vector<std::string> notes_;
  std::map<uint64_t, Held> held_;      ///< begin → what live memory is known to hold.
  std::optional<size_t> canaries_of_;  ///< The instance whose canaries are known to be whole.
  bool relocates_ = false;
};

inline constexpr const char* kRelocated = "relocated: ";  ///< How notes() of memory that lies elsewhere begin.
inline constexpr std::byte kCanary{0xc9};
inline constexpr std::byte kPoison{0xc5};  ///< As a float about -6317: no NaN, which fmax would swallow.

}  // namespace kernelift
