// ---- memory -----------------------------------------------------------------------------------------------

namespace kl_replay {

/// Memory of one instance on the device. Placed once and never given back: one process replays one instance's addresses
/// after another's, and regions of several instances may share a page.
class Memory {
 public:
  explicit Memory(const Program& program) {
    std::vector<Range> reserve, map;
    for (int i = 0; i < program.instance_count; ++i)
      for (int r = 0; r < program.instances[i].region_count; ++r) {
        const Region& region = program.instances[i].regions[r];
        reserve.push_back(rounded(region, kReserveGranule));
        map.push_back(rounded(region, kMapGranule));
      }
    at_recorded_ = place_ranges(merged(reserve), merged(map));
  }
  bool at_recorded() const { return at_recorded_; }

  /// Where region `index` of `instance` lies now.
  u64 address(const Instance& instance, int index) {
    const Region& region = instance.regions[index];
    if (at_recorded_) return region.address;
    for (const Moved& moved : moved_)
      if (moved.region == &region) return moved.to;
    moved_.push_back({&region, reinterpret_cast<u64>(allocate(region.size))});
    return moved_.back().to;
  }
  /// The present address of recorded address `value`, which lies in (or ends) one of the instance's regions; else
  /// `value`.
  u64 translated(const Instance& instance, u64 value) {
    if (at_recorded_) return value;
    for (int r = 0; r < instance.region_count; ++r) {
      const Region& region = instance.regions[r];
      if (value >= region.address && value < region.address + region.size)
        return address(instance, r) + (value - region.address);
    }
    return value;
  }
  u64 translated_back(const Instance& instance, u64 value) {
    if (at_recorded_) return value;
    for (int r = 0; r < instance.region_count; ++r) {
      u64 now = address(instance, r);
      if (value >= now && value < now + instance.regions[r].size) return instance.regions[r].address + (value - now);
    }
    return value;
  }

 private:
  struct Moved {
    const Region* region;
    u64 to;
  };
  static Range rounded(const Region& region, u64 granule) {
    return {region.address / granule * granule, (region.address + region.size + granule) / granule * granule};
  }
  static std::vector<Range> merged(std::vector<Range> ranges) {
    std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
    std::vector<Range> out;
    for (const Range& range : ranges)
      if (!out.empty() && range.begin <= out.back().end) out.back().end = std::max(out.back().end, range.end);
      else out.push_back(range);
    return out;
  }
  bool at_recorded_ = false;
  std::vector<Moved> moved_;
};

}  // namespace kl_replay
