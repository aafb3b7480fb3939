// ---- memory -----------------------------------------------------------------------------------------------
// Addresses are reserved for all launches at once, before the device is opened, so that nothing of this process lies
// there; memory is mapped for one launch at a time, so that the largest decides how much is needed. What cannot have
// its address lies elsewhere, and whatever is known to point to it is rewritten.

namespace kl_replay {

class Memory {
 public:
  Memory(const Program& program, const Options& options) {
    std::vector<Range> wanted;
    for (int i = 0; i < program.instance_count; ++i)
      for (int r = 0; r < program.instances[i].region_count; ++r)
        if (is_memory(program.instances[i].regions[r]) &&
            (options.only.empty() || options.only == program.instances[i].id))
          wanted.push_back(rounded(program.instances[i].regions[r], kReserveGranule));
    for (const Range& range : merged(wanted))
      reservations_.push_back({range, !options.relocate && reserve_range(range)});
  }

  /// Maps what `instance` needs. Dies, with the byte count, where the device has too little memory.
  void enter(const Instance& instance) {
    leave();
    std::vector<Range> wanted;
    u64 needed = 0, most = free_bytes();
    for (int r = 0; r < instance.region_count; ++r) {
      const Region& region = instance.regions[r];
      if (!is_memory(region)) continue;
      if (at_recorded(region)) wanted.push_back(rounded(region, kMapGranule));
      else needed += region.size;
      if (is_put_back(region)) needed += region.size;  // A pristine copy.
    }
    wanted = merged(wanted);
    for (const Range& range : wanted) needed += range.end - range.begin;
    if (most && needed > most)
      die(std::string("instance ") + instance.id + " needs " + grouped(needed) + " bytes of device memory and " +
          grouped(most) + " are free; choose a smaller one (--list shows sizes) or a larger device");
    for (const Range& range : wanted) {
      std::string trouble = map_range(range);
      if (!trouble.empty()) die("memory at " + hex(range.begin) + " cannot be mapped: " + trouble);
      mapped_.push_back(range);
    }
    for (int r = 0; r < instance.region_count; ++r)
      if (is_memory(instance.regions[r]) && !at_recorded(instance.regions[r]))
        moved_.push_back({&instance.regions[r], reinterpret_cast<u64>(allocate(instance.regions[r].size))});
    textures_.make(instance, [this](u64 address) { return translated(address); });
    for (int r = 0; r < instance.region_count; ++r)
      if (!is_memory(instance.regions[r]) && textures_.handle(instance.regions[r]) != instance.regions[r].address)
        moved_.push_back({&instance.regions[r], textures_.handle(instance.regions[r])});
  }
  void leave() {
    textures_.destroy();
    for (const Range& range : mapped_) unmap_range(range);
    for (const Moved& moved : moved_)
      if (is_memory(*moved.region)) release(reinterpret_cast<void*>(moved.to));
    mapped_.clear(), moved_.clear();
  }

  /// False: a texture or surface object, which has a handle and no bytes.
  static bool is_memory(const Region& region) { return !region.texture || Textures::kAreMemory; }
  /// What launches read and write beside memory: behind every change of memory, and before memory is read.
  void upload_arrays() { textures_.upload(); }
  void download_arrays() { textures_.download(); }

  /// Recorded addresses that could not be had.
  bool refused_any() const {
    return std::any_of(reservations_.begin(), reservations_.end(), [](const Reservation& one) { return !one.granted; });
  }
  static bool changes(const Region& region) {
    return region.size && (!region.after.file || std::strcmp(region.before.file, region.after.file) != 0);
  }
  /// Between timed launches.
  static bool is_put_back(const Region& region) { return changes(region) || (region.size && region.rewritten); }
  bool moved_any() const { return !moved_.empty(); }
  int moved_count() const { return static_cast<int>(moved_.size()); }

  /// Where region `index` of the entered instance lies now.
  u64 address(const Instance& instance, int index) const {
    for (const Moved& moved : moved_)
      if (moved.region == &instance.regions[index]) return moved.to;
    return instance.regions[index].address;
  }
  /// The present address of recorded address `value`; `value` where it lies in nothing that moved.
  u64 translated(u64 value) const {
    for (const Moved& moved : moved_)
      if (value - moved.region->address < moved.region->size) return moved.to + (value - moved.region->address);
    return value;
  }
  u64 translated_back(u64 value) const {
    for (const Moved& moved : moved_)
      if (value - moved.to < moved.region->size) return moved.region->address + (value - moved.to);
    return value;
  }

 private:
  struct Reservation {
    Range range;
    bool granted;
  };
  struct Moved {
    const Region* region;
    u64 to;
  };
  bool at_recorded(const Region& region) const {
    for (const Reservation& one : reservations_)
      if (region.address >= one.range.begin && region.address < one.range.end) return one.granted;
    return false;
  }
  static Range rounded(const Region& region, u64 granule) {
    u64 size = region.size ? region.size : 1;
    return {region.address / granule * granule, (region.address + size + granule - 1) / granule * granule};
  }
  /// Overlapping ranges become one; neighbours stay two, so that one that is refused does not cost the other.
  static std::vector<Range> merged(std::vector<Range> ranges) {
    std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
    std::vector<Range> out;
    for (const Range& range : ranges)
      if (!out.empty() && range.begin < out.back().end) out.back().end = std::max(out.back().end, range.end);
      else out.push_back(range);
    return out;
  }
  std::vector<Reservation> reservations_;
  std::vector<Range> mapped_;
  std::vector<Moved> moved_;
  Textures textures_;
};

}  // namespace kl_replay
