// ---- timing -----------------------------------------------------------------------------------------------
// By device events; what two events measure by themselves is taken off. A launch that is timed cannot know what it
// finds, nor whether it is looked at: instances, cold and warm samples come in an order that is drawn at random, and
// before every launch variables are put back, and by chance what the kernel changes is as recorded or, if the kernel
// overwrites it whatever it holds, filled with results in wrong places. So no launch finds its answer, and some are
// compared in full. What lays memory within a sample is timed without the kernel, and taken off.
// Cold: caches flushed by writing twice their size. Warm: what the launch before left in them, and what was put back.

namespace kl_replay {

struct Duration {
  double median = 0, low = 0, high = 0;  ///< Microseconds; the quartiles.
  int samples = 0, batch = 1;            ///< Launches per sample: short ones are timed together.
};

/// The samples of one instance, from all of its turns.
struct Timings {
  std::vector<double> cold, warm;  ///< Microseconds.
  int batch = 0;                   ///< Launches per warm sample; 0: not decided yet.
  bool passed = false;             ///< Its first launch, which was not timed.
  int compared = 0, wrong = 0;     ///< Timed launches whose results were compared.

  static Duration duration(std::vector<double> samples, int batch) {
    Duration found;
    std::sort(samples.begin(), samples.end());
    found.samples = static_cast<int>(samples.size()), found.batch = batch;
    if (samples.empty()) return found;
    found.median = median(samples);
    found.low = samples[samples.size() / 4], found.high = samples[samples.size() * 3 / 4];
    return found;
  }
};

/// Not a generator with a state: nothing in this process can know what comes next.
inline unsigned draw(unsigned below) {
  static std::random_device source;
  return static_cast<unsigned>(source()) % below;
}

template <class T>
void shuffle(std::vector<T>& all) {
  for (size_t i = all.size(); i > 1; --i) std::swap(all[i - 1], all[draw(static_cast<unsigned>(i))]);
}

/// One turn of an instance, whose memory is in place.
class Stopwatch {
 public:
  Stopwatch(Replay& replay, Timings& timings) : replay_(replay), timings_(timings) {
    const Instance& instance = replay.instance();
    bool rewritten = false;
    for (int r = 0; r < instance.region_count; ++r) {
      bool put_back = Memory::is_put_back(instance.regions[r]);
      recorded_.push_back(put_back ? device_copy(replay.before(r)) : nullptr);
      rewritten |= instance.regions[r].rewritten;
    }
    misplaced_.resize(recorded_.size());
    find_what_is_overwritten();
    bool variables = false;  // Setting one waits for the device.
    for (int v = 0; v < instance.variable_count; ++v) variables |= !instance.variables[v].constant;
    batches_ = !instance.settings.programmatic && !instance.cooperative && !rewritten && !variables;
  }
  ~Stopwatch() {
    for (auto* copies : {&recorded_, &misplaced_})
      for (void* copy : *copies)
        if (copy) release(copy);
  }

  /// Takes samples, cold and warm ones as it falls: at most `most` of each, and no more once `seconds` are over.
  void take(int fewest, int most, double seconds) {
    constexpr int kBatch = 16, kSeldom = 8;
    constexpr double kShort = 10;  // Microseconds: below, one launch is hardly more than its start.
    bare_ = 0;
    sample(false, 1);
    if (timings_.batch == 0) timings_.batch = batches_ && sample(false, 1) < kShort ? kBatch : 1;
    if (timings_.batch > 1) bare_ = bare(timings_.batch);
    std::vector<char> order(2 * static_cast<size_t>(most), 0);
    std::fill_n(order.begin(), most, 1);
    shuffle(order);
    int taken[2] = {0, 0};
    auto started = std::chrono::steady_clock::now();
    for (char cold : order) {
      bool late = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count() > seconds;
      if (late && taken[0] >= fewest && taken[1] >= fewest) break;
      double time = sample(cold, cold ? 1 : timings_.batch);
      (cold ? timings_.cold : timings_.warm).push_back(time);
      if (taken[static_cast<int>(cold)]++ == 0 || draw(kSeldom) == 0) look();
    }
  }

 private:
  double sample(bool cold, int launches) {
    prepare(cold);
    mark(from_);
    std::string error;
    for (int i = 0; i < launches; ++i) {
      if (i > 0) lay();
      if (!replay_.run(error)) die("launching failed: " + error);
    }
    mark(to_);
    double laying = launches > 1 ? bare_ : bare_interval();
    return std::max(microseconds(from_, to_) - laying, 0.0) / launches;
  }

  /// What a sample of so many launches takes without them.
  double bare(int launches) {
    constexpr int kTimes = 11;
    std::vector<double> all;
    for (int k = 0; k < kTimes; ++k) {
      prepare(false);
      mark(from_);
      for (int i = 1; i < launches; ++i) lay();
      mark(to_);
      all.push_back(microseconds(from_, to_));
    }
    std::sort(all.begin(), all.end());
    return median(all);
  }

  void prepare(bool cold) {
    lay();
    replay_.restore_variables();
    if (cold) flush_caches();
    need_finish();
    hold_queue();
  }

  /// Puts memory into a state in which no result is there yet.
  void lay() {
    bool misplaced = overwrites_ && draw(2) == 0;
    for (size_t r = 0; r < recorded_.size(); ++r) {
      void* from = misplaced && misplaced_[r] ? misplaced_[r] : recorded_[r];
      if (from) put_back(replay_.at(static_cast<int>(r)), from, replay_.before(static_cast<int>(r)).size());
    }
    replay_.upload_arrays();
  }

  /// Compares what the launch that was timed last has left. The next one finds caches as that left them.
  void look() {
    if (!timings_.passed) return;
    need_finish();
    ++timings_.compared;
    timings_.wrong += !replay_.is_right();
    prepare(false);
    std::string error;
    if (!replay_.run(error)) die("launching failed: " + error);
  }

  /// Launches over results in wrong places: are they right all the same?
  void find_what_is_overwritten() {
    for (size_t r = 0; r < recorded_.size(); ++r) {
      Replay::Bytes bytes = replay_.misplaced_results(static_cast<int>(r));
      u64 most = free_bytes();
      if (!bytes.empty() && (most == 0 || bytes.size() < most / 2))
        misplaced_[r] = device_copy(bytes), overwrites_ = true;
    }
    if (!overwrites_) return;
    replay_.restore();
    for (size_t r = 0; r < misplaced_.size(); ++r)
      if (misplaced_[r])
        put_back(replay_.at(static_cast<int>(r)), misplaced_[r], replay_.before(static_cast<int>(r)).size());
    replay_.upload_arrays();
    std::string error;
    if (!replay_.run(error)) die("launching failed: " + error);
    need_finish();
    overwrites_ = replay_.is_right();
    replay_.restore();
  }

  static void* device_copy(const Replay::Bytes& bytes) {
    void* made = allocate(bytes.size());
    copy(made, bytes.data(), bytes.size());
    return made;
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
  Timings& timings_;
  std::vector<void*> recorded_, misplaced_;  ///< Per region, on the device: what may be put there before a launch.
  bool overwrites_ = false;                  ///< The kernel is right over misplaced results, too.
  bool batches_ = false;
  double bare_ = 0;  ///< Microseconds.
  Event from_ = make_event(), to_ = make_event();
};

}  // namespace kl_replay
