// See replay_memory.h. Live memory is placed by the device's granules (2 MiB on a GPU, 4 KiB on a processor); bytes of
// a granule that belong to no buffer of the instance hold a canary, and beyond the granules an access faults.
#include "sandbox/evaluate/runner/memory/replay_memory.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <deque>
#include <future>
#include <random>
#include <set>

#include "core/base/bytes.h"
#include "core/base/parallel.h"
#include "core/model/texture.h"
#include "sandbox/evaluate/runner/memory/recorded_file.h"
#include "sandbox/jail/hidden_bytes.h"
#include "sandbox/judge/veil.h"

namespace kernelift::sandbox {
namespace {

constexpr uint64_t kMostHandles = 1 << 20;  // Of a driver; the CPU device's are addresses.

constexpr uint64_t kGrain = 256;          // Bytes of the blocks that are put back between timed launches.
constexpr uint64_t kFewRanges = 1 << 16;  // With more ranges than this the whole buffer is put back.
constexpr uint64_t kNear = 64 << 10;      // Bytes within which an address is described by a buffer.

void put_word(std::span<std::byte> bytes, uint64_t offset, uint64_t word) {
  std::memcpy(&bytes[offset], &word, sizeof word);
}

std::string mebibytes(uint64_t bytes) { return std::to_string((bytes + (1 << 20) - 1) >> 20) + " MiB"; }

/// On all cores.
void copy(std::span<const std::byte> from, std::span<std::byte> to) {
  constexpr uint64_t kPiece = 2 << 20;
  (void)in_pieces(from.size(), kPiece, [&](uint64_t begin, uint64_t end) {
    std::memcpy(&to[begin], &from[begin], end - begin);
    return done();
  });
}

/// Veils the bytes that are to lie at `address`, or reveals those that lay there. On all cores: the pads are a
/// cipher's.
void veil(const Device& device, uint64_t address, std::span<std::byte> bytes) {
  const judging::Veil veil = JudgingKernels::veil_of(device.facts());
  constexpr uint64_t kWord = 8, kPiece = 1 << 20;
  if (!veil.on) return;
  (void)in_pieces(bytes.size(), kPiece, [&](uint64_t begin, uint64_t end) {
    for (uint64_t at = begin; at < end; at += kWord) {
      const auto width = static_cast<judging::u32>(std::min(kWord, end - at));
      auto* word = reinterpret_cast<judging::u8*>(&bytes[at]);
      judging::store(word, width, judging::load(word, width) ^ judging::pad_at(veil, address + at, width));
    }
    return done();
  });
}

/// The block is joined to the last one if it is near.
void add_block(std::vector<DeviceRange>& ranges, uint64_t begin, uint64_t size) {
  if (!ranges.empty() && ranges.back().to + ranges.back().bytes + kGrain >= begin)
    ranges.back().bytes = begin + size - ranges.back().to;
  else ranges.push_back({begin, begin, size});
}

/// Blocks in which two images differ, neighbours joined.
std::vector<DeviceRange> changed_blocks(std::span<const std::byte> given, std::span<const std::byte> answer) {
  constexpr uint64_t kPiece = kGrain << 14;
  std::vector<std::vector<DeviceRange>> of_piece(given.size() / kPiece + 1);
  (void)in_pieces(given.size(), kPiece, [&](uint64_t from, uint64_t to) {
    for (uint64_t begin = from; begin < to; begin += kGrain) {
      const uint64_t size = std::min(kGrain, to - begin);
      if (std::memcmp(&given[begin], &answer[begin], size) != 0) add_block(of_piece[from / kPiece], begin, size);
    }
    return done();
  });
  std::vector<DeviceRange> ranges;
  for (auto& piece : of_piece)
    for (auto& range : piece) add_block(ranges, range.to, range.bytes);
  return ranges;
}

/// A MEP's data files, opened and checked ahead by other threads.
class DataFiles {
 public:
  DataFiles(const Mep& mep, const std::filesystem::path& folder) : folder_(folder) {
    std::set<std::string> seen;
    auto want = [&](auto& memory) {
      if (memory.size == 0) return;
      bool changed = memory.before != memory.after;
      if (seen.insert(memory.before).second || changed) order_.push_back({memory.before, memory.size});
      if (changed) seen.insert(memory.after), order_.push_back({memory.after, memory.size});
    };
    for (auto& instance : mep.instances) {
      for (auto& region : instance.regions) want(region);
      for (auto& variable : instance.variables) want(variable);
    }
    read_ahead();
  }
  /// Any file; files that are requested in the expected order have been opened ahead.
  Result<RecordedFile> open(const std::string& file) {
    if (ahead_.empty() || order_[next_ - ahead_.size()].first != file) return RecordedFile::open(folder_, file);
    ahead_bytes_ -= order_[next_ - ahead_.size()].second;
    auto opened = ahead_.front().get();
    ahead_.pop_front();
    read_ahead();
    return opened;
  }

 private:
  void read_ahead() {
    constexpr size_t kFiles = 6;
    constexpr uint64_t kBytes = 4ull << 30;  // Limit of bytes read ahead; a single file may be larger.
    while (next_ < order_.size() && ahead_.size() < kFiles &&
           (ahead_.empty() || ahead_bytes_ + order_[next_].second <= kBytes)) {
      ahead_bytes_ += order_[next_].second;
      ahead_.push_back(std::async(std::launch::async, [folder = folder_, file = order_[next_++].first] {
        return RecordedFile::open(folder, file);
      }));
    }
  }
  const std::filesystem::path folder_;
  std::vector<std::pair<std::string, uint64_t>> order_;
  std::deque<std::future<Result<RecordedFile>>> ahead_;
  size_t next_ = 0;  ///< Index in order_ of the first file that is not being read.
  uint64_t ahead_bytes_ = 0;
};

}  // namespace

Status read_answer(Device& device, const ReplayBuffer& buffer, uint64_t offset, std::span<std::byte> into) {
  KERNELIFT_TRY(device.read(buffer.answer + offset, into));
  if (buffer.veiled) veil(device, buffer.answer + offset, into);
  return done();
}

uint64_t ReplayMemory::down(uint64_t address) const {
  return address / device_.facts().granule * device_.facts().granule;
}
uint64_t ReplayMemory::up(uint64_t address) const { return down(address + device_.facts().granule - 1); }

Status ReplayMemory::check_recording(const Mep& mep, const std::filesystem::path& folder) const {
  for (auto& instance : mep.instances) {
    if (device_.facts().processor && !instance.symbols.empty())
      return refused("instance " + instance.id + " holds the address of module variable " +
                     instance.symbols.front().key +
                     ", which lies elsewhere in every image; the CPU device cannot put its own there: replay and tune "
                     "it on the GPU (--device cuda)");
    // The CPU device's handles are addresses of what they stand for.
    auto of_driver = [](auto& region) { return region.kind == MemoryKind::Texture && region.address < kMostHandles; };
    if (device_.facts().processor && std::ranges::any_of(instance.regions, of_driver))
      return refused("instance " + instance.id +
                     " uses a texture or surface object of a GPU, whose handle means nothing to the CPU device: replay "
                     "and tune it on the GPU (--device cuda)");
    auto unanswered = [](auto& memory) { return memory.after.empty() && memory.size > 0; };
    if (std::ranges::any_of(instance.regions, unanswered) || std::ranges::any_of(instance.variables, unanswered))
      return answer_is_no((folder / "mep.json").string() +
                          ": the answers of this MEP are not known (its README.md says why), so nothing can be "
                          "verified with it; record a run of the application instead");
  }
  return done();
}

Result<std::unique_ptr<ReplayMemory>> ReplayMemory::place(Device& device, const Mep& mep,
                                                          const std::filesystem::path& folder,
                                                          std::optional<Deadline> deadline) {
  std::unique_ptr<ReplayMemory> memory(new ReplayMemory(device));
  KERNELIFT_TRY(memory->check_recording(mep, folder));
  KERNELIFT_TRY(memory->check_room(mep));
  KERNELIFT_TRY(memory->place_live(mep));
  KERNELIFT_TRY(memory->load_images(mep, folder, deadline));
  return memory;
}

void ReplayMemory::note(const std::string& what) {
  if (std::find(notes_.begin(), notes_.end(), what) == notes_.end()) notes_.push_back(what);
}

Status ReplayMemory::check_room(const Mep& mep) {
  std::set<std::string> files;
  uint64_t wanted = 0, live = 0;
  auto image = [&](const std::string& file, uint64_t size) {
    if (files.insert(file).second) wanted += size;
  };
  std::vector<std::pair<uint64_t, uint64_t>> spans;
  for (auto& instance : mep.instances)
    for (auto& region : instance.regions) {
      image(region.before, region.size);
      if (region.after != region.before) image("answer " + region.after, region.size);
      spans.push_back({down(region.address), up(region.address + region.size)});
    }
  std::sort(spans.begin(), spans.end());
  uint64_t reached = 0;
  for (auto [begin, end] : spans) {
    begin = std::max(begin, reached);
    if (end > begin) live += end - begin, reached = end;
  }
  vault_bytes_wanted_ = wanted + files.size() * kGrain;
  uint64_t free = device_.facts().free_bytes;
  if (free == 0 || wanted + live <= free) return done();
  return environment_error("replaying takes " + mebibytes(wanted + live) + " of device memory (" + mebibytes(live) +
                           " that the kernel sees, " + mebibytes(wanted) + " of recorded images), and " +
                           mebibytes(free) + " of " + device_.facts().name +
                           " are free; free some, use a larger GPU, or extract fewer instances");
}

Status ReplayMemory::place_live(const Mep& mep) {
  std::vector<Span> wanted;
  for (auto& instance : mep.instances)
    for (auto& region : instance.regions) {
      if (region.size == 0 || is_object(region)) continue;
      if (region.address + region.size < region.address)
        return environment_error("mep.json: a region wraps around the address space");
      wanted.push_back({down(region.address), up(region.address + region.size), 0, {}});
      if (region.kind == MemoryKind::Managed || region.kind == MemoryKind::HostMapped)
        note(std::string(name(region.kind)) +
             " memory of the application is placed as plain device memory at the same address");
    }
  std::sort(wanted.begin(), wanted.end(), [](auto& a, auto& b) { return a.begin < b.begin; });
  // Two spans are at least two guards apart, or merged.
  const uint64_t apart = 2 * device_.facts().guard;
  for (auto& span : wanted) {
    if (!spans_.empty() && span.begin <= spans_.back().end + apart)
      spans_.back().end = std::max(spans_.back().end, span.end);
    else spans_.push_back(span);
  }
  for (auto& span : spans_) {
    auto placed = device_.place(span.begin, span.end - span.begin);
    if (!placed.ok()) {
      if (device_.facts().processor) return std::move(placed).error();
      std::string why = placed.error().message;
      auto elsewhere = device_.place(0, span.end - span.begin + device_.facts().granule);
      if (!elsewhere.ok()) return std::move(elsewhere).error();
      span.shift = static_cast<int64_t>(up(elsewhere->address)) - static_cast<int64_t>(span.begin);
      span.memory = std::move(*elsewhere);
      relocates_ = true;
      note(kRelocated + why + "; pointers of known type were rewritten");
    } else {
      span.memory = std::move(*placed);
    }
  }
  return done();
}

uint64_t ReplayMemory::relocated(uint64_t address) const {
  for (auto& span : spans_)
    if (address >= span.begin && address < span.end) return address + static_cast<uint64_t>(span.shift);
  return address;
}

void ReplayMemory::relocate(std::span<std::byte> bytes, const PointerLayout& pointers) const {
  if (!relocates(pointers)) return;
  for (uint64_t element = 0; element + pointers.stride <= bytes.size(); element += pointers.stride)
    for (uint32_t offset : pointers.offsets)
      if (offset + sizeof(uint64_t) <= pointers.stride)
        put_word(bytes, element + offset, relocated(word_at(bytes, element + offset)));
}

void ReplayMemory::relocate_arguments(const MepInstance& recorded, std::span<std::byte> arguments) const {
  for (auto& slot : recorded.argument_slots()) {
    // Relocated by its region: a pointer to a region's end may lie outside all spans.
    uint64_t region = recorded.regions[slot.region].address;
    put_word(arguments, slot.offset, word_at(arguments, slot.offset) - region + relocated(region));
  }
}

Result<uint64_t> ReplayMemory::upload(std::span<const std::byte> bytes, Reach reach) {
  constexpr int kTries = 8;
  constexpr uint64_t kVault = 64 << 20, kAlignment = 256, kUnit = 32 << 20;
  Vault& vault = vaults_[reach == Reach::Hidden];
  if (vault.memory.empty() || vault.used + bytes.size() > vault.memory.back().size) {
    static std::random_device entropy;
    uint64_t wanted = std::max<uint64_t>(bytes.size(), std::min(kVault, vault_bytes_wanted_));
    DeviceMemory fresh;
    for (int i = 0; i < kTries && fresh.size == 0 && !device_.facts().processor; ++i) {
      uint64_t hint = (uint64_t(1) << 43 | (uint64_t(entropy()) << 11)) / kUnit * kUnit;
      auto placed = device_.place(hint, wanted, reach);
      if (placed.ok()) fresh = std::move(*placed);
    }
    if (fresh.size == 0) {
      KERNELIFT_ASSIGN(fresh, device_.place(0, wanted, reach));
    }
    vault.memory.push_back(std::move(fresh));
    vault.used = 0;
  }
  uint64_t address = vault.memory.back().address + vault.used;
  vault.used += (bytes.size() + kAlignment - 1) / kAlignment * kAlignment;
  if (reach == Reach::Launches) {
    KERNELIFT_TRY(device_.write(address, bytes));
    return address;
  }
  constexpr uint64_t kPiece = 32 << 20;
  const HiddenBytes veiled(std::min<uint64_t>(bytes.size(), kPiece));
  for (uint64_t at = 0; at < bytes.size(); at += kPiece) {
    const uint64_t size = std::min(kPiece, bytes.size() - at);
    copy(bytes.subspan(at, size), veiled.bytes());
    veil(device_, address + at, veiled.bytes().first(size));
    KERNELIFT_TRY(device_.write(address + at, veiled.bytes().first(size)));
  }
  return address;
}

/// Uploads recorded images: each file once, since regions and instances share files. A region whose pointers were
/// relocated has a copy of its own.
class ReplayMemory::Images {
 public:
  Images(ReplayMemory& memory, const Mep& mep, const std::filesystem::path& folder)
      : memory_(memory), files_(mep, folder) {}

  /// Fills in a region's or a variable's buffer. EXPECTS: a size that is not 0.
  Status fill_in(ReplayBuffer& buffer, const std::string& before, const std::string& after,
                 const PointerLayout& pointers) {
    buffer.rows = rows_of(buffer.bounds.layout, buffer.size);
    buffer.put_back = buffer.rewritten || before != after;
    std::string own = memory_.relocates(pointers) ? "@" + std::to_string(buffer.live) : "";
    const bool compare = before != after;
    RecordedFile given, answer;
    if (compare || !placed_.contains({before + own, Reach::Launches})) {
      KERNELIFT_ASSIGN(given, read(before, buffer, pointers));
    }
    KERNELIFT_ASSIGN(buffer.given, placed(before + own, given.bytes(), Reach::Launches));
    buffer.answer = buffer.given;
    if (!compare) return done();
    KERNELIFT_ASSIGN(answer, read(after, buffer, pointers));
    KERNELIFT_ASSIGN(buffer.answer, placed(after + own, answer.bytes(), Reach::Hidden));
    buffer.veiled = JudgingKernels::veil_of(memory_.device_.facts()).on;
    return find_changes(buffer, given.bytes(), answer.bytes());
  }

 private:
  Result<RecordedFile> read(const std::string& file, const ReplayBuffer& buffer, const PointerLayout& pointers) {
    KERNELIFT_ASSIGN(RecordedFile recorded, files_.open(file));
    if (recorded.bytes().size() != buffer.size || memory_.relocates(pointers))
      memory_.relocate(recorded.own(buffer.size), pointers);
    return recorded;
  }
  Result<uint64_t> placed(const std::string& name, std::span<const std::byte> bytes, Reach reach) {
    // An image that is the answer of one launch and the input of another is uploaded twice.
    auto known = placed_.find({name, reach});
    if (known != placed_.end()) return known->second;
    KERNELIFT_ASSIGN(uint64_t address, memory_.upload(bytes, reach));
    return placed_[{name, reach}] = address;
  }
  /// Finds the blocks to put back between timed launches; none are stored if they make up most of the buffer.
  Status find_changes(ReplayBuffer& buffer, std::span<const std::byte> given, std::span<const std::byte> answer) {
    std::vector<DeviceRange> ranges = changed_blocks(given, answer);
    for (auto& range : ranges) buffer.changed_bytes += range.bytes;
    if (buffer.live == 0 || buffer.rewritten || ranges.size() > kFewRanges || buffer.changed_bytes * 2 > buffer.size)
      return done();
    for (auto& range : ranges) range.to += buffer.live, range.from += buffer.given;
    buffer.range_count = ranges.size();
    KERNELIFT_ASSIGN(buffer.ranges, memory_.device_.place(0, ranges.size() * sizeof(DeviceRange)));
    return memory_.device_.write(buffer.ranges.address, std::as_bytes(std::span(ranges)));
  }

  ReplayMemory& memory_;
  DataFiles files_;
  std::map<std::pair<std::string, Reach>, uint64_t> placed_;
};

Status ReplayMemory::load_images(const Mep& mep, const std::filesystem::path& folder,
                                 std::optional<Deadline> deadline) {
  Images images(*this, mep, folder);
  const WrittenRegions written(mep);
  for (auto& recorded : mep.instances) {
    if (recorded.settings.programmatic)
      note("the application allowed this launch to begin before the one before it ended; here it runs alone");
    for (auto& attribute : recorded.settings.other) note("launch attribute not replayed: " + attribute);
    ReplayInstance instance;
    instance.arguments = recorded.arguments;
    relocate_arguments(recorded, instance.arguments);
    std::vector<uint64_t> live_of, given_of;
    for (auto& region : recorded.regions) {
      if (is_object(region)) {
        KERNELIFT_TRY(take_object(region, folder, instance));
        live_of.push_back(0), given_of.push_back(0);
        continue;
      }
      ReplayBuffer buffer;
      bool named = region.parameter >= 0 && static_cast<size_t>(region.parameter) < mep.parameters.size();
      buffer.name = named ? mep.parameters[region.parameter].name : "";
      if (buffer.name.empty()) buffer.name = region.reached_from.empty() ? "memory" : region.reached_from.text();
      buffer.live = relocated(region.address), buffer.size = region.size;
      buffer.writes = written.of(recorded, region), buffer.rewritten = region.rewritten;
      buffer.bounds = ErrorBounds(ElementLayout::parse(region.element));
      if (region.size > 0)
        KERNELIFT_TRY(
            images.fill_in(buffer, region.before, region.after, {region.pointer_stride, region.pointer_offsets}));
      // Behind it, so that what is damaged or missing is said first.
      if (deadline && Deadline::clock::now() >= *deadline)
        return answer_is_no(
            "the time was over before all of the recorded memory had been placed, so nothing could be tried; give it "
            "more time (--time)");
      live_of.push_back(buffer.live), given_of.push_back(buffer.given);
      if (region.size > 0) instance.regions.push_back(std::move(buffer));
    }
    for (auto& variable : recorded.variables) {
      ReplayBuffer buffer;
      buffer.name = variable.key, buffer.size = variable.size;
      buffer.bounds = ErrorBounds(ElementLayout::parse(variable.element));
      PointerLayout pointers;
      if (variable.element == "pointer") pointers = {sizeof(uint64_t), {0}};
      KERNELIFT_TRY(images.fill_in(buffer, variable.before, variable.after, pointers));
      instance.variables.push_back(std::move(buffer));
    }
    find_slots(recorded, live_of, given_of, instance);
    std::sort(instance.regions.begin(), instance.regions.end(), [](auto& a, auto& b) { return a.live < b.live; });
    lay_canaries(instance);
    instances_.push_back(std::move(instance));
  }
  for (auto& vault : vaults_)
    for (auto& memory : vault.memory)
      if (memory.seal && !memory.seal() && device_.facts().processor)
        return environment_error("recorded memory cannot be made read-only");
  return done();
}

/// A texture or surface object that is made by the driver, and not memory.
bool ReplayMemory::is_object(const MepRegion& region) const {
  return region.kind == MemoryKind::Texture && !device_.facts().processor;
}

Status ReplayMemory::take_object(const MepRegion& region, const std::filesystem::path& folder,
                                 ReplayInstance& instance) {
  KERNELIFT_ASSIGN(auto bytes, Mep::load(folder, region.before));
  auto object = read_texture(bytes);
  if (!object) return environment_error("the texture object in " + region.before + " is damaged; extract again");
  // In memory the CPU device's handles are not looked for.
  if (region.address >= kMostHandles && region.reached_from.root != Origin::Root::Argument)
    return refused("the handle of " + texture_text(*object) + " was recorded on the CPU device and lies in " +
                   region.reached_from.text() + ", where a GPU's cannot be put: record on the GPU");
  object->memory = relocated(object->memory);
  instance.textures.push_back({region.address, *object});
  return done();
}

void ReplayMemory::find_slots(const MepInstance& recorded, const std::vector<uint64_t>& live_of,
                              const std::vector<uint64_t>& given_of, ReplayInstance& instance) {
  for (size_t i = 0; i < recorded.symbols.size(); ++i) {
    auto& symbol = recorded.symbols[i];
    ReplayInstance::Slot slot;
    slot.symbol = i, slot.offset = symbol.offset;
    slot.in_arguments = symbol.region < 0 && symbol.variable < 0;
    if (symbol.region >= 0 && static_cast<size_t>(symbol.region) < live_of.size())
      slot.address = live_of[symbol.region] + symbol.offset, slot.given = given_of[symbol.region] + symbol.offset;
    if (slot.in_arguments || slot.address != 0) instance.slots.push_back(slot);
    else note("a pointer to " + symbol.spelling + " inside a module variable is left as recorded");
  }
}

void ReplayMemory::lay_canaries(ReplayInstance& instance) const {
  for (auto& span : spans_) {
    uint64_t begin = span.begin + static_cast<uint64_t>(span.shift), end = span.end + static_cast<uint64_t>(span.shift),
             at = begin;
    for (auto& region : instance.regions) {
      if (region.live < begin || region.live >= end) continue;
      if (region.live > at) instance.canaries.push_back({at, region.live});
      at = std::max(at, region.live + region.size);
    }
    if (at < end) instance.canaries.push_back({at, end});
  }
}

void ReplayMemory::hold(uint64_t begin, uint64_t size, uint64_t image) {
  uint64_t end = begin + size;
  auto at = held_.lower_bound(begin);
  if (at != held_.begin() && std::prev(at)->second.end > begin) --at;
  while (at != held_.end() && at->first < end) at = held_.erase(at);
  if (image != 0) held_[begin] = {end, image};
}

bool ReplayMemory::holds(uint64_t begin, uint64_t size, uint64_t image) const {
  auto at = held_.find(begin);
  return at != held_.end() && at->second.end == begin + size && at->second.image == image;
}

void ReplayMemory::restore(Steps& steps, size_t instance, bool poison) {
  ReplayInstance& wanted = instances_[instance];
  if (canaries_of_ != instance) {
    for (auto& canary : wanted.canaries) {
      steps.fill(canary.begin, kCanary, canary.end - canary.begin);
      hold(canary.begin, canary.end - canary.begin, 0);
    }
    canaries_of_ = instance;
  }
  for (auto& region : wanted.regions) {
    bool poisoned = poison && (region.all_written || !region.states.empty());
    if (!(poisoned && region.all_written) && !holds(region.live, region.size, region.given)) {
      steps.copy(region.live, region.given, region.size);
      hold(region.live, region.size, region.given);
    }
    if (!poisoned) continue;
    if (region.all_written) steps.fill(region.live, kPoison, region.size);
    else
      for (size_t row = 0; row < region.states.size(); ++row)
        if (region.states[row].size > 0)
          steps.poison(region.rows[row], region.live, region.states[row].address, kPoison);
    hold(region.live, region.size, 0);
  }
}

void ReplayMemory::make_stale(Steps& steps, size_t instance, size_t of) {
  for (size_t i = 0; i < instances_[instance].regions.size(); ++i) {
    ReplayBuffer& region = instances_[instance].regions[i];
    const ReplayBuffer& other = instances_[of].regions[i];
    if (region.all_written && other.veiled) steps.veil(region.live, other.answer, region.size, other.answer);
    else if (region.all_written) steps.copy(region.live, other.answer, region.size);
    for (size_t row = 0; row < region.states.size(); ++row)
      if (region.states[row].size > 0)
        steps.copy_written(region.rows[row], other.answer, region.live, region.states[row].address, other.veiled);
    if (region.all_written || !region.states.empty()) hold(region.live, region.size, 0);
  }
}

void ReplayMemory::wipe(Steps& steps) {
  for (auto& instance : instances_)
    for (auto& region : instance.regions) {
      if (!region.output() || holds(region.live, region.size, region.given)) continue;
      steps.fill(region.live, kPoison, region.size);
      hold(region.live, region.size, 0);
    }
}

void ReplayMemory::launched(size_t instance, bool anything) {
  if (anything) {
    held_.clear();
    canaries_of_.reset();
    return;
  }
  for (auto& region : instances_[instance].regions)
    if (region.output()) hold(region.live, region.size, 0);
  for (auto& slot : instances_[instance].slots)
    for (auto& region : instances_[instance].regions)
      if (slot.address >= region.live && slot.address < region.live + region.size) hold(region.live, region.size, 0);
}

void ReplayMemory::put_back(Steps& steps, const ReplayBuffer& buffer) {
  if (buffer.range_count > 0) steps.copy_ranges(buffer.ranges.address, buffer.range_count);
  else steps.put(buffer.live, buffer.given, buffer.size);
}

void ReplayMemory::put_back(Steps& steps, size_t instance) const {
  for (auto& region : instances_[instance].regions)
    if (region.put_back) put_back(steps, region);
}

size_t ReplayMemory::compare(Steps& steps, size_t instance) const {
  const ReplayInstance& checked = instances_[instance];
  size_t findings = 1;
  for (auto& canary : checked.canaries) steps.check_canary(canary.begin, canary.end - canary.begin, kCanary, 0);
  for (auto& region : checked.regions)
    for (size_t row = 0; row < region.rows.size(); ++row)
      steps.compare(region.rows[row], region.tolerance(row), region.answer, region.live, findings++, region.veiled);
  return findings;
}

std::string ReplayMemory::near_buffer(size_t instance, uint64_t address) const {
  const ReplayBuffer* nearest = nullptr;
  uint64_t distance = device_.facts().granule + kNear;
  bool behind = true;
  for (auto& region : instances_[instance].regions) {
    uint64_t end = region.live + region.size;
    if (address >= region.live && address < end) return "inside " + region.name;
    uint64_t away = address >= end ? address - end : region.live - address;
    if (away >= distance) continue;
    nearest = &region, distance = away, behind = address >= end;
  }
  if (!nearest) return {};
  return std::to_string(distance) + " bytes " + (behind ? "after the end of " : "before the start of ") + nearest->name;
}

CheckedExtents ReplayMemory::extents(size_t instance) const {
  CheckedExtents extents;
  for (auto& region : instances_[instance].regions) extents.objects.push_back({region.name, region.live, region.size});
  for (auto& canary : instances_[instance].canaries) extents.forbidden.push_back({canary.begin, canary.end});
  return extents;
}

std::string ReplayMemory::neighbourhood(size_t instance, uint64_t address) const {
  if (std::string near = near_buffer(instance, address); !near.empty()) return near;
  char text[64];
  std::snprintf(text, sizeof text, "0x%llx, near no buffer", (unsigned long long)address);
  return text;
}

}  // namespace kernelift::sandbox
