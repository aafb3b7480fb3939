// ---- timing -----------------------------------------------------------------------------------------------
// Every sample is of a launch on restored memory, by device events; what two events measure by themselves is taken off.
// Cold: caches flushed by writing twice their size. Warm: what the launch before left in them, and what was put back:
// what the kernel changes, and what in the application other work writes before every launch.

namespace kl_replay {

struct Duration {
  double median = 0, low = 0, high = 0;  ///< Microseconds; the quartiles.
  int samples = 0, batch = 1;            ///< Launches per sample: short ones are timed together.
};

class Stopwatch {
 public:
  explicit Stopwatch(Replay& replay) : replay_(replay) {
    const Instance& instance = replay.instance();
    bool rewritten = false;
    for (int r = 0; r < instance.region_count; ++r) {
      bool put_back = Memory::is_put_back(instance.regions[r]);
      copies_.push_back(put_back ? allocate(instance.regions[r].size) : nullptr);
      rewritten |= instance.regions[r].rewritten;
      if (put_back) copy(copies_.back(), replay.before(r).data(), instance.regions[r].size);
    }
    repeatable_ = !instance.settings.programmatic && !instance.cooperative && !rewritten && leaves_the_same_twice();
  }
  ~Stopwatch() {
    for (void* copy : copies_)
      if (copy) release(copy);
  }

  Duration time(bool cold) {
    constexpr int kFewest = 11, kMost = 101, kBatch = 16;
    constexpr double kMostSeconds = 2, kShort = 10;  // Microseconds: below, one launch is hardly more than its start.
    Duration duration;
    if (!cold && repeatable_ && sample(false, kBatch) < kShort) duration.batch = kBatch;
    else sample(cold, 1);
    std::vector<double> samples;
    auto started = std::chrono::steady_clock::now();
    while (static_cast<int>(samples.size()) < kMost) {
      samples.push_back(sample(cold, duration.batch));
      bool late = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count() > kMostSeconds;
      if (late && static_cast<int>(samples.size()) >= kFewest) break;
    }
    std::sort(samples.begin(), samples.end());
    duration.median = median(samples), duration.samples = static_cast<int>(samples.size());
    duration.low = samples[samples.size() / 4], duration.high = samples[samples.size() * 3 / 4];
    return duration;
  }

 private:
  double sample(bool cold, int launches) {
    restore();
    if (cold) flush_caches();
    need_finish();
    hold_queue();
    mark(from_);
    std::string error;
    for (int i = 0; i < launches; ++i)
      if (!replay_.run(error)) die("launching failed: " + error);
    mark(to_);
    return std::max(microseconds(from_, to_) - bare_interval(), 0.0) / launches;
  }

  void restore() {
    for (size_t r = 0; r < copies_.size(); ++r)
      if (copies_[r]) put_back(replay_.at(static_cast<int>(r)), copies_[r], replay_.before(static_cast<int>(r)).size());
    replay_.restore_variables();
  }

  /// A launch on what the launch before left is the same work only if it leaves the same again.
  bool leaves_the_same_twice() {
    const Instance& instance = replay_.instance();
    for (int v = 0; v < instance.variable_count; ++v) {
      const Variable& variable = instance.variables[v];
      if (!variable.after.file || std::strcmp(variable.before.file, variable.after.file) != 0) return false;
    }
    std::vector<Replay::Bytes> once;
    restore();
    for (int pass = 0; pass < 2; ++pass) {
      std::string error;
      if (!replay_.run(error)) die("launching failed: " + error);
      need_finish();
      for (size_t r = 0, k = 0; r < copies_.size(); ++r) {
        if (!copies_[r]) continue;
        Replay::Bytes now(replay_.before(static_cast<int>(r)).size());
        copy(now.data(), replay_.at(static_cast<int>(r)), now.size());
        if (pass == 0) once.push_back(now);
        else if (once[k++] != now) return false;
      }
    }
    return true;
  }

  static void need_finish() {
    std::string trouble = finish();
    if (!trouble.empty()) die("the kernel failed: " + trouble);
  }

  static void flush_caches() {
    static u64 size = 2 * cache_bytes();
    static void* scratch = size ? allocate(size) : nullptr;
    static int value = 0;
    if (scratch) fill(scratch, ++value & 255, size);
  }

  Replay& replay_;
  std::vector<void*> copies_;
  bool repeatable_ = false;
  Event from_ = make_event(), to_ = make_event();
};

}  // namespace kl_replay
