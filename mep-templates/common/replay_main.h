// ---- the program ------------------------------------------------------------------------------------------

namespace kl_replay {

inline int usage(const char* program) {
  std::fprintf(stderr,
               "usage: %s [FOLDER] [--instance ID] [--tolerance R] [--no-timing] [--relocate] [--list]\n"
               "FOLDER holds data/; by default the folder of main, of the program, or the present one.\n"
               "--relocate puts memory elsewhere than recorded, as where the driver refuses its addresses.\n",
               program);
  return kUsage;
}

inline bool parse(const Program& program, int argc, char** argv, Options& options, bool& list) {
  options.folder = find_folder(program, argv[0]);
  options.tolerance = program.tolerance;
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    bool more = i + 1 < argc;
    if (word == "--instance" && more) options.only = argv[++i];
    else if (word == "--tolerance" && more) options.tolerance = std::atof(argv[++i]);
    else if (word == "--no-timing") options.timing = false;
    else if (word == "--relocate") options.relocate = true;
    else if (word == "--list") list = true;
    else if (!word.empty() && word[0] == '-') return false;
    else options.folder = word;
  }
  return true;
}

/// "same", or what lies elsewhere and what that means.
inline void report_addresses(const Instance& instance, const Memory& memory, const Rewrites& rewrites) {
  int moved = memory.moved_count();
  std::printf("  fidelity  addresses: %s", moved == 0                       ? "same as recorded"
                                           : moved == instance.region_count ? "RELOCATED"
                                                                            : "PARTLY RELOCATED");
  if (moved)
    std::printf(" (%d of %d buffers; rewritten: %llu in arguments, %llu in memory by type, %llu by value alone)", moved,
                instance.region_count, rewrites.arguments, rewrites.typed, rewrites.guessed);
  if (rewrites.symbols) std::printf("; %llu addresses of module variables set to this program's", rewrites.symbols);
  std::printf("\n");
  for (int r = 0; moved && r < instance.region_count; ++r)
    if (memory.address(instance, r) != instance.regions[r].address)
      std::printf("            %s: %s lies at %s\n", instance.regions[r].name, hex(instance.regions[r].address).c_str(),
                  hex(memory.address(instance, r)).c_str());
}

inline void report_changes(const ChangedSet& set) {
  if (set.only_here == 0 && set.only_there == 0)
    std::printf("            changed: the same %llu bytes as in the application\n", set.both);
  else
    std::printf("            changed: %llu bytes as in the application, %llu only here, %llu only there\n", set.both,
                set.only_here, set.only_there);
}

/// The recorded duration against the one in the cache mode that was chosen when it was recorded: never the nearer one.
inline void report_duration(const Program& program, const Instance& instance, const Timings& timings) {
  const Duration cold = Timings::duration(timings.cold, 1), warm = Timings::duration(timings.warm, timings.batch);
  constexpr double kGate = 0.15, kShortest = 10, kShortGate = 1.5;
  std::printf(
      "  time  cold %.3f us (%.3f .. %.3f), warm %.3f us (%.3f .. %.3f), medians and quartiles of %d and %d samples",
      cold.median, cold.low, cold.high, warm.median, warm.low, warm.high, cold.samples, warm.samples);
  if (warm.batch > 1) std::printf(" (warm: of %d launches each)", warm.batch);
  std::printf("\n");
  if (timings.wrong > 0)
    std::printf(
        "  FAIL  %d of %d launches that were timed and compared left something else than was expected, although "
        "the\n        first launch was right: what they compute depends on launches before, or they do less "
        "when timed\n",
        timings.wrong, timings.compared);
  else if (timings.passed)
    std::printf("            %d launches that were timed were compared in full, and right\n", timings.compared);
  if (instance.microseconds <= 0) {
    std::printf("            duration: none was recorded\n");
    return;
  }
  if (!is_device(program.captured_on)) {
    std::printf("            duration: recorded on %s, so not compared\n", program.captured_on);
    return;
  }
  bool is_cold = std::strcmp(instance.cache_mode, "cold") == 0;
  double here = is_cold ? cold.median : warm.median, apart = here - instance.microseconds;
  bool within = instance.microseconds >= kShortest ? std::fabs(apart) <= kGate * instance.microseconds
                                                   : std::fabs(apart) <= kShortGate;
  std::printf("            duration: %.3f us %s here, %.3f us in the application (%s): %+.1f %%, %s\n", here,
              is_cold ? "cold" : "warm", instance.microseconds, instance.measured_by,
              100 * apart / instance.microseconds,
              !within                              ? "NOT WITHIN BOUNDS: timings here do not stand for the application"
              : instance.microseconds >= kShortest ? "within 15 %"
                                                   : "within 1.5 us");
}

/// Faults leave nothing to go on with: the device is lost to this process.
inline int faulted(const std::string& trouble, const Instance& instance) {
  std::printf("  FAIL  the kernel failed: %s\n", trouble.c_str());
  std::printf(
      "        Instance %s ran with %d recorded buffers and nothing else mapped. If the kernel is right, it reached "
      "memory\n"
      "        that the recorder did not find, by an address kept in another form than eight plain bytes; then this "
      "MEP does\n"
      "        not stand for the launch. compute-sanitizer ./a.out --instance %s --no-timing names the address.\n",
      instance.id, instance.region_count, instance.id);
  for (int r = 0; r < instance.region_count; ++r)
    std::printf("        mapped: %s .. %s  %s\n", hex(instance.regions[r].address).c_str(),
                hex(instance.regions[r].address + instance.regions[r].size).c_str(), instance.regions[r].name);
  if (*instance.unreached) std::printf("        not mapped: %s.\n", instance.unreached);
  std::printf("        No further launch can run in this process.\n");
  std::printf("FAIL\n");
  return kFail;
}

constexpr const char* kBegunAnew = "KERNELIFT_REPLAY_BEGUN_ANEW";
inline int times_begun_anew() {
  const char* told = std::getenv(kBegunAnew);
  return told ? std::max(0, std::atoi(told)) : 0;
}

/// An address is refused where something of this process lies already. A process that is begun anew lies elsewhere: so
/// it is, a few times, before memory is moved; the last time where nothing is put at random, high up, so that chance
/// refuses nothing that was not refused before. Returns where that is over, or cannot be done. EXPECTS: no device is
/// open.
inline void begin_anew(char** argv) {
  constexpr int kTimes = 3;
  int times = times_begun_anew();
  if (times >= kTimes || setenv(kBegunAnew, std::to_string(times + 1).c_str(), 1) != 0) return;
  std::fflush(stdout);
  int before = personality(0xffffffff);
  if (times + 1 == kTimes && before != -1) personality(static_cast<unsigned long>(before) | ADDR_NO_RANDOMIZE);
  execv("/proc/self/exe", argv);
  if (before != -1) personality(static_cast<unsigned long>(before));
  setenv(kBegunAnew, std::to_string(times).c_str(), 1);
}

/// Times the instances in turns, in an order that is drawn. False: a launch that was timed left something wrong, though
/// the instance had passed.
inline bool time_all(const Program& program, const Options& options, Memory& memory, std::map<int, Timings>& timings) {
  constexpr int kTurns = 3, kFewest = 4, kMost = 34;
  constexpr double kSeconds = 1.3;  // Of a turn, at most.
  std::vector<int> turns;
  for (int turn = 0; turn < kTurns; ++turn)
    for (const auto& one : timings) turns.push_back(one.first);
  shuffle(turns);
  for (int k : turns) {
    Replay replay(program, program.instances[k], options, memory);
    replay.restore();
    Stopwatch(replay, timings[k]).take(kFewest, kMost, kSeconds);
  }
  bool good = true;
  for (const auto& one : timings) {
    std::printf("instance %s\n", program.instances[one.first].id);
    report_duration(program, program.instances[one.first], one.second);
    good &= one.second.wrong == 0;
  }
  return good;
}

inline int run_all(const Program& program, int argc, char** argv) {
  Options options;
  bool list = false;
  if (!parse(program, argc, argv, options, list)) return usage(argv[0]);
  if (list) {
    for (int k = 0; k < program.instance_count; ++k) {
      u64 bytes = 0;
      for (int r = 0; r < program.instances[k].region_count; ++r) bytes += program.instances[k].regions[r].size;
      std::printf("%s  %s bytes\n", program.instances[k].id, grouped(bytes).c_str());
    }
    return kPass;
  }
  open_driver();
  Memory memory(program, options);
  if (memory.refused_any() && !options.relocate) begin_anew(argv);
  std::string device = open_device();
  std::printf("%s\non %s, captured on %s\n", program.kernel_name, device.c_str(), program.captured_on);
  if (int times = times_begun_anew())
    std::printf("  NOTE  recorded addresses were refused; this program was begun anew %d time%s, %s\n", times,
                times == 1 ? "" : "s", memory.refused_any() ? "and they still are" : "and has them now");
  set_limits(program);
  bool good = true, any = false;
  std::map<int, Timings> timings;
  for (int k = 0; k < program.instance_count; ++k) {
    const Instance& instance = program.instances[k];
    if (!options.only.empty() && options.only != instance.id) continue;
    any = true;
    std::printf("instance %s  <<<(%u,%u,%u), (%u,%u,%u)>>>%s\n", instance.id, instance.grid[0], instance.grid[1],
                instance.grid[2], instance.block[0], instance.block[1], instance.block[2],
                instance.held_out ? "  held out" : "");
    std::vector<std::string> notes;
    std::string forbidden = prepare_kernel(program.kernel, instance, notes);
    if (!forbidden.empty()) die("this launch needs " + forbidden);
    for (const std::string& note : notes) std::printf("  NOTE  %s\n", note.c_str());
    Replay replay(program, instance, options, memory);
    replay.restore();
    std::string error = finish();
    if (!error.empty()) die("restoring memory failed: " + error);
    if (!replay.run(error)) {
      std::printf("  FAIL  the launch was refused: %s\n", error.c_str());
      good = false;
      continue;
    }
    error = finish();
    if (!error.empty()) return faulted(error, instance);
    bool right = replay.verify();
    good &= right;
    if (options.timing) timings[k].passed = right;
    report_addresses(instance, memory, replay.rewrites());
    report_changes(replay.changed());
  }
  good &= time_all(program, options, memory, timings);
  if (!any) {
    std::fprintf(stderr, "no instance is called '%s'; see --list\n", options.only.c_str());
    return kUsage;
  }
  std::printf("%s\n", good ? "PASS" : "FAIL");
  return good ? kPass : kFail;
}

}  // namespace kl_replay
