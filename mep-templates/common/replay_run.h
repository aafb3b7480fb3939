// ---- replaying --------------------------------------------------------------------------------------------

namespace kl_replay {

/// One instance, its data in host memory.
class Replay {
 public:
  Replay(const Program& program, const Instance& instance, const Options& options, Memory& memory)
      : program_(program), instance_(instance), options_(options), memory_(memory) {
    for (int r = 0; r < instance.region_count; ++r) {
      const Region& region = instance.regions[r];
      before_.push_back(load(options.folder, region.before, region.size));
      if (region.element == kPointer) rewrite(before_.back(), true);
    }
    arguments_.assign(instance.arguments, instance.arguments + instance.argument_bytes);
    for (int s = 0; s < instance.slot_count; ++s) {
      u64 value;
      std::memcpy(&value, arguments_.data() + instance.slots[s].offset, 8);
      const Region& region = instance.regions[instance.slots[s].region];
      value = value - region.address + memory.address(instance, instance.slots[s].region);
      std::memcpy(arguments_.data() + instance.slots[s].offset, &value, 8);
    }
    for (int p = 0; p < instance.parameter_count; ++p)
      pointers_.push_back(arguments_.data() + instance.parameters[p].offset);
    prepare_kernel(program.kernel, instance.shared);
  }

  /// Puts all memory and variables into the state before the launch.
  void restore() {
    for (int r = 0; r < instance_.region_count; ++r)
      if (!before_[r].empty()) copy(at(r), before_[r].data(), before_[r].size());
    restore_variables();
  }

  bool run(std::string& error) {
    error = launch(program_.kernel, instance_, pointers_.data());
    return error.empty();
  }

  /// Compares everything the kernel could reach with what the application saw after its launch.
  bool verify() {
    bool good = true;
    int known = 0;
    for (int r = 0; r < instance_.region_count; ++r) {
      const Region& region = instance_.regions[r];
      if (!region.after.file) continue;
      ++known;
      std::vector<unsigned char> got(region.size), expected = load(options_.folder, region.after, region.size);
      if (region.size) copy(got.data(), at(r), region.size);
      if (region.element == kPointer) rewrite(got, false);
      good &= report(region.name, region.element_name, region.element, expected, got, options_.tolerance);
    }
    for (int v = 0; v < instance_.variable_count; ++v) {
      const Variable& variable = instance_.variables[v];
      if (!variable.after.file || variable.constant) continue;
      ++known;
      std::vector<unsigned char> got(variable.size), expected = load(options_.folder, variable.after, variable.size);
      if (!program_.read_variable(variable.index, got.data(), got.size()))
        die(std::string("cannot read variable ") + variable.name);
      good &= report(variable.name, variable.element_name, variable.element, expected, got, options_.tolerance);
    }
    if (known == 0) std::printf("  ----  nothing to compare with: the expected results are not known\n");
    return good;
  }

  /// Median microseconds of launches on restored memory, with the caches cold (flushed) or warm.
  double time(bool cold) {
    constexpr int kSamples = 21;
    constexpr double kMostSeconds = 2;
    Event from = make_event(), to = make_event();
    std::vector<double> samples;
    keep_copies();
    auto started = std::chrono::steady_clock::now();
    for (int i = 0; i < kSamples; ++i) {
      for (size_t r = 0; r < copies_.size(); ++r)
        if (copies_[r]) copy(at(static_cast<int>(r)), copies_[r], before_[r].size());
      restore_variables();
      if (cold) flush_caches();
      finish();
      std::string error;
      mark(from);
      if (!run(error)) die("launching failed: " + error);
      mark(to);
      samples.push_back(microseconds(from, to));
      if (std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count() > kMostSeconds) break;
    }
    return median(samples);
  }

 private:
  void* at(int region) { return reinterpret_cast<void*>(memory_.address(instance_, region)); }

  void restore_variables() {
    for (int v = 0; v < instance_.variable_count; ++v) {
      const Variable& variable = instance_.variables[v];
      if (values_.size() <= static_cast<size_t>(v))
        values_.push_back(load(options_.folder, variable.before, variable.size));
      if (!program_.write_variable(variable.index, values_[v].data(), values_[v].size()))
        die(std::string("cannot set variable ") + variable.name);
    }
  }

  /// Addresses in memory that is known to hold addresses follow the memory they point into.
  void rewrite(std::vector<unsigned char>& bytes, bool forth) {
    for (size_t offset = 0; offset + 8 <= bytes.size(); offset += 8) {
      u64 value;
      std::memcpy(&value, bytes.data() + offset, 8);
      value = forth ? memory_.translated(instance_, value) : memory_.translated_back(instance_, value);
      std::memcpy(bytes.data() + offset, &value, 8);
    }
  }

  /// Pristine copies of what the kernel changes, on the device, so that restoring between launches costs the host
  /// nothing.
  void keep_copies() {
    if (!copies_.empty()) return;
    for (int r = 0; r < instance_.region_count; ++r) {
      const Region& region = instance_.regions[r];
      bool changes = !region.after.file || std::strcmp(region.before.file, region.after.file) != 0;
      copies_.push_back(changes && region.size ? allocate(region.size) : nullptr);
      if (copies_.back()) copy(copies_.back(), before_[r].data(), region.size);
    }
  }

  void flush_caches() {
    static u64 size = 2 * cache_bytes();
    static void* scratch = size ? allocate(size) : nullptr;
    static int value = 0;
    if (scratch) fill(scratch, ++value & 255, size);
  }

  const Program& program_;
  const Instance& instance_;
  const Options& options_;
  Memory& memory_;
  std::vector<std::vector<unsigned char>> before_, values_;
  std::vector<unsigned char> arguments_;
  std::vector<void*> pointers_;
  std::vector<void*> copies_;
};

inline int usage(const char* program) {
  std::fprintf(stderr,
               "usage: %s [FOLDER] [--instance ID] [--tolerance R] [--no-timing] [--list]\n"
               "FOLDER holds data/; by default the folder of main, of the program, or the present one.\n",
               program);
  return kUsage;
}

inline int run_all(const Program& program, int argc, char** argv) {
  Options options;
  options.folder = find_folder(program, argv[0]);
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    bool more = i + 1 < argc;
    if (word == "--instance" && more) options.only = argv[++i];
    else if (word == "--tolerance" && more) options.tolerance = std::atof(argv[++i]);
    else if (word == "--no-timing") options.timing = false;
    else if (word == "--list") {
      for (int k = 0; k < program.instance_count; ++k) std::printf("%s\n", program.instances[k].id);
      return kPass;
    } else if (!word.empty() && word[0] == '-') return usage(argv[0]);
    else options.folder = word;
  }
  std::string device = open_device();
  Memory memory(program);
  std::printf("%s\non %s, captured on %s\n", program.kernel_name, device.c_str(), program.captured_on);
  if (!memory.at_recorded())
    std::printf(
        "NOTE: the recorded addresses were refused; memory was moved and the addresses in arguments and in buffers of\n"
        "pointers were rewritten. Addresses hidden elsewhere (in structs in memory) still point to where memory "
        "was.\n");
  bool good = true, any = false;
  for (int k = 0; k < program.instance_count; ++k) {
    const Instance& instance = program.instances[k];
    if (!options.only.empty() && options.only != instance.id) continue;
    any = true;
    std::printf("instance %s  <<<(%u,%u,%u), (%u,%u,%u)>>>%s\n", instance.id, instance.grid[0], instance.grid[1],
                instance.grid[2], instance.block[0], instance.block[1], instance.block[2],
                instance.held_out ? "  held out" : "");
    Replay replay(program, instance, options, memory);
    replay.restore();
    finish();
    std::string error;
    if (!replay.run(error)) {
      std::printf("  FAIL  the launch was refused: %s\n", error.c_str());
      good = false;
      continue;
    }
    finish();
    good &= replay.verify();
    if (!options.timing) continue;
    double cold = replay.time(true), warm = replay.time(false);
    std::printf("  time  cold %.3f us, warm %.3f us (in the application: %.3f us)\n", cold, warm,
                instance.microseconds);
  }
  if (!any) {
    std::fprintf(stderr, "no instance is called '%s'; see --list\n", options.only.c_str());
    return kUsage;
  }
  std::printf("%s\n", good ? "PASS" : "FAIL");
  return good ? kPass : kFail;
}

}  // namespace kl_replay
