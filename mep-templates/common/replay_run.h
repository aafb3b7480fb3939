// ---- replaying --------------------------------------------------------------------------------------------

namespace kl_replay {

/// How many addresses were rewritten because what they point to lies elsewhere now.
struct Rewrites {
  u64 arguments = 0;
  u64 typed = 0;    ///< In memory, where the type says that there is an address.
  u64 guessed = 0;  ///< In memory of unknown type, because the value is an address of what moved.
  u64 symbols = 0;  ///< Of module variables.
};

/// Bytes that the kernel changed, here and in the application.
struct ChangedSet {
  u64 both = 0, only_here = 0, only_there = 0;
};

/// One instance, its data in host memory.
class Replay {
 public:
  typedef std::vector<unsigned char> Bytes;

  Replay(const Program& program, const Instance& instance, const Options& options, Memory& memory)
      : program_(program), instance_(instance), options_(options), memory_(memory) {
    memory.enter(instance);
    for (int r = 0; r < instance.region_count; ++r)
      before_.push_back(load(options.folder, instance.regions[r].before, instance.regions[r].size));
    for (int v = 0; v < instance.variable_count; ++v)
      values_.push_back(load(options.folder, instance.variables[v].before, instance.variables[v].size));
    arguments_.assign(instance.arguments, instance.arguments + instance.argument_bytes);
    for (int s = 0; s < instance.symbol_count; ++s)
      recorded_.push_back(word(holder(instance.symbols[s]), instance.symbols[s].offset));
    for (int r = 0; r < instance.region_count; ++r) rewrite(before_[r], instance.regions[r], true, &rewrites_);
    for (int v = 0; v < instance.variable_count; ++v) rewrite_variable(values_[v], instance.variables[v], true);
    for (int s = 0; s < instance.slot_count; ++s) {
      const Region& region = instance.regions[instance.slots[s].region];
      u64 now = memory.address(instance, instance.slots[s].region);
      if (now == region.address) continue;
      put(arguments_, instance.slots[s].offset, word(arguments_, instance.slots[s].offset) - region.address + now);
      ++rewrites_.arguments;
    }
    for (int s = 0; s < instance.symbol_count; ++s) {
      put(holder(instance.symbols[s]), instance.symbols[s].offset, address_of(instance.symbols[s]));
      ++rewrites_.symbols;
    }
    for (int p = 0; p < instance.parameter_count; ++p)
      pointers_.push_back(arguments_.data() + instance.parameters[p].offset);
  }

  const Instance& instance() const { return instance_; }
  const Rewrites& rewrites() const { return rewrites_; }
  const ChangedSet& changed() const { return changed_; }
  void* at(int region) const { return reinterpret_cast<void*>(memory_.address(instance_, region)); }
  const Bytes& before(int region) const { return before_[region]; }

  /// Puts all memory and variables into the state before the launch.
  void restore() {
    for (int r = 0; r < instance_.region_count; ++r)
      if (!before_[r].empty() && Memory::is_memory(instance_.regions[r]))
        copy(at(r), before_[r].data(), before_[r].size());
    memory_.upload_arrays();
    restore_variables();
  }
  void restore_variables() {
    for (int v = 0; v < instance_.variable_count; ++v)
      if (!program_.write_variable(instance_.variables[v].index, values_[v].data(), values_[v].size()))
        die(std::string("cannot set variable ") + instance_.variables[v].name);
  }

  void upload_arrays() { memory_.upload_arrays(); }
  bool run(std::string& error) {
    error = launch(program_.kernel, instance_, pointers_.data());
    return error.empty();
  }

  /// Compares everything the kernel could reach with what the application saw after its launch. Where that fails the
  /// kernel is run again on the same memory: floating-point buffers are judged once more by how far apart its runs come
  /// out, and what no two runs agree in is said to be so.
  bool verify() { return judge(true); }
  /// The same without a word.
  bool is_right() { return judge(false); }

  /// The expected results of a region, each in the place of another one; elsewhere what was there before the launch.
  /// Empty if there are none, or they may be addresses.
  Bytes misplaced_results(int region) {
    const Region& of = instance_.regions[region];
    const Shape& shape = of.shape;
    bool typed = shape.lane_count > 0 || (shape.element != kBytes && shape.element != kPointer);
    for (int l = 0; l < shape.lane_count; ++l) typed &= shape.lanes[l].element != kPointer;
    u64 width = shape.lane_count > 0 ? shape.stride : element_size(shape.element);
    if (!Memory::changes(of) || !of.after.file || !typed || of.pointer_stride || of.size % width != 0) return Bytes();
    Bytes made = before_[region], expected = load(options_.folder, of.after, of.size);
    std::vector<u64> changed;
    for (u64 at = 0; at < made.size(); at += width)
      if (std::memcmp(&made[at], &expected[at], width) != 0) changed.push_back(at);
    for (size_t i = 0; i < changed.size(); ++i)
      std::memcpy(&made[changed[i]], &expected[changed[(i + changed.size() / 2 + 1) % changed.size()]], width);
    return made == expected ? Bytes() : made;
  }

 private:
  bool judge(bool aloud) {
    bool good = true;
    std::vector<Seen> seen = look();
    std::vector<Repeats> repeats;
    for (size_t i = 0; i < seen.size(); ++i) {
      const Seen& one = seen[i];
      Bytes expected = load(options_.folder, *one.after, one.got.size());
      if (aloud) note_changes(load(options_.folder, *one.before, one.got.size()), expected, one.got);
      Allowance allowed;
      allowed.given = options_.tolerance;
      Difference difference = compare(expected, one.got, *one.shape, allowed);
      if (difference.count > 0 && repeats.empty()) repeats = run_again(seen);
      if (difference.count > 0 && difference.needed > 0 && allowed.given < 0) {
        allowed.spread = repeats[i].needed;
        difference = compare(expected, one.got, *one.shape, allowed);
      }
      good &= difference.count == 0;
      if (!aloud) continue;
      report(one.name, *one.shape, difference, allowed.spread);
      if (difference.count > 0 && repeats[i].differing > 0)
        std::printf(
            "        The kernel itself does not repeat: %llu of these differ between two runs of it here, on the same "
            "memory (threads\n"
            "        race for an order, or it reads what nothing wrote). There is no one answer to hold it to.\n",
            repeats[i].differing);
    }
    if (aloud && seen.empty()) std::printf("  ----  nothing to compare with: the expected results are not known\n");
    return good;
  }

  /// A buffer as it is now, addresses as they were in the application, and what is known of it.
  struct Seen {
    const char* name;
    const Shape* shape;
    const Data *before, *after;
    Bytes got;
  };

  std::vector<Seen> look() {
    memory_.download_arrays();
    std::vector<Seen> seen;
    for (int r = 0; r < instance_.region_count; ++r) {
      const Region& region = instance_.regions[r];
      if (!region.after.file || !Memory::is_memory(region)) continue;
      Bytes got(region.size);
      if (region.size) copy(got.data(), at(r), region.size);
      rewrite(got, region, false, nullptr);
      undo_symbols(got, r, -1);
      seen.push_back(Seen{region.name, &region.shape, &region.before, &region.after, std::move(got)});
    }
    for (int v = 0; v < instance_.variable_count; ++v) {
      const Variable& variable = instance_.variables[v];
      if (!variable.after.file || variable.constant) continue;
      Bytes got(variable.size);
      if (!program_.read_variable(variable.index, got.data(), got.size()))
        die(std::string("cannot read variable ") + variable.name);
      rewrite_variable(got, variable, false);
      undo_symbols(got, -1, v);
      seen.push_back(Seen{variable.name, &variable.shape, &variable.before, &variable.after, std::move(got)});
    }
    return seen;
  }

  /// How further runs leave a buffer: the tolerance with which they would agree, and the most elements that are too far
  /// off for any.
  struct Repeats {
    double needed = 0;
    u64 differing = 0;
  };
  std::vector<Repeats> run_again(const std::vector<Seen>& seen) {
    constexpr int kRuns = 8;
    Allowance widest;
    widest.spread = std::numeric_limits<double>::infinity();
    std::vector<Repeats> repeats(seen.size());
    for (int k = 0; k < kRuns; ++k) {
      restore();
      std::string error;
      if (!run(error) || !(error = finish()).empty()) die("a further run of the kernel failed: " + error);
      std::vector<Seen> again = look();
      for (size_t i = 0; i < seen.size(); ++i) {
        Difference apart = compare(seen[i].got, again[i].got, *seen[i].shape, widest);
        repeats[i].needed = std::max(repeats[i].needed, apart.needed);
        repeats[i].differing = std::max(repeats[i].differing, apart.count);
      }
    }
    return repeats;
  }

  static u64 word(const Bytes& bytes, u64 at) {
    u64 value;
    std::memcpy(&value, bytes.data() + at, 8);
    return value;
  }
  static void put(Bytes& bytes, u64 at, u64 value) { std::memcpy(bytes.data() + at, &value, 8); }

  Bytes& holder(const Symbol& symbol) {
    return symbol.region >= 0 ? before_[symbol.region] : symbol.variable >= 0 ? values_[symbol.variable] : arguments_;
  }
  u64 address_of(const Symbol& symbol) {
    u64 address = 0;
    if (!program_.find_variable(instance_.variables[symbol.target].index, &address))
      die(std::string("cannot find variable ") + instance_.variables[symbol.target].name);
    return address + symbol.addend;
  }
  /// What holds this program's address of a variable is shown as if it held the application's.
  void undo_symbols(Bytes& got, int region, int variable) {
    for (int s = 0; s < instance_.symbol_count; ++s) {
      const Symbol& symbol = instance_.symbols[s];
      if (symbol.region == region && symbol.variable == variable && word(got, symbol.offset) == address_of(symbol))
        put(got, symbol.offset, recorded_[s]);
    }
  }

  /// Addresses follow the memory they point into, forth or back.
  void rewrite(Bytes& bytes, const Region& region, bool forth, Rewrites* count) {
    if (!memory_.moved_any()) return;
    auto one = [&](u64 at, u64 Rewrites::* kind) {
      u64 value = word(bytes, at), now = forth ? memory_.translated(value) : memory_.translated_back(value);
      if (now == value) return;
      put(bytes, at, now);
      if (count) ++(count->*kind);
    };
    if (region.pointer_stride)
      for (u64 base = 0; base + region.pointer_stride <= bytes.size(); base += region.pointer_stride)
        for (int p = 0; p < region.pointer_count; ++p) one(base + region.pointers[p], &Rewrites::typed);
    else if (region.shape.element == kBytes && region.shape.lane_count == 0)
      for (u64 at = 0; at + 8 <= bytes.size(); at += 8) one(at, &Rewrites::guessed);
  }
  void rewrite_variable(Bytes& bytes, const Variable& variable, bool forth) {
    static const unsigned kStart[] = {0};
    Region like = {0, bytes.size(), {nullptr, 0}, {nullptr, 0}, variable.name, variable.shape, 0, kStart,
                   1, false,        nullptr};
    if (variable.shape.element == kPointer) like.pointer_stride = 8;
    rewrite(bytes, like, forth, forth ? &rewrites_ : nullptr);
  }

  void note_changes(const Bytes& before, const Bytes& expected, const Bytes& got) {
    for (size_t i = 0; i < before.size(); ++i) {
      bool there = expected[i] != before[i], here = got[i] != before[i];
      changed_.both += here && there, changed_.only_here += here && !there, changed_.only_there += there && !here;
    }
  }

  const Program& program_;
  const Instance& instance_;
  const Options& options_;
  Memory& memory_;
  std::vector<Bytes> before_, values_;
  std::vector<u64> recorded_;  ///< What each symbol's eight bytes held in the application.
  Bytes arguments_;
  std::vector<void*> pointers_;
  Rewrites rewrites_;
  ChangedSet changed_;
};

}  // namespace kl_replay
