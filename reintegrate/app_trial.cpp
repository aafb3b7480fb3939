// The interval: resample the pairs with replacement, take the ratio of the medians, keep the middle 95 %. Pairs, not
// single runs, because a machine that slows down for a minute slows down both members of a pair. Looks at the data are
// few and fixed (every third pair), so that stopping early does not turn noise into a gain.
#include "reintegrate/app_trial.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <fstream>
#include <numeric>
#include <random>
#include <thread>

#include "core/base/file.h"

namespace kernelift {
namespace {

constexpr int kResamples = 2000;
constexpr int kFewestPairs = 6;      // That a gain is believed of.
constexpr int kFewestToRefuse = 3;   // All of which show none.
constexpr int kLookEvery = 3;
constexpr size_t kTailBytes = 600;        ///< Of a failed command's output, shown with the reason.
constexpr std::chrono::milliseconds kPoll{30};

std::atomic<bool> stop_requested{false};

void on_signal(int) { stop_requested = true; }

const int kSignals[] = {SIGINT, SIGTERM, SIGHUP};
struct sigaction previous_actions[3];

/// Ends every descendant. Not by process group: a build may give its own children groups of their own.
void stop_descendants(pid_t of) {
  std::error_code code;
  for (auto& task : std::filesystem::directory_iterator("/proc/" + std::to_string(of) + "/task", code)) {
    std::ifstream children(task.path() / "children");
    for (pid_t child; children >> child;) {
      stop_descendants(child);
      kill(child, SIGKILL);
    }
  }
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  size_t half = values.size() / 2;
  return values.empty() ? 0 : values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

std::string tail(std::string text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.pop_back();
  if (text.size() <= kTailBytes) return text;
  size_t line = text.find('\n', text.size() - kTailBytes);
  return "…" + text.substr(line == text.npos ? text.size() - kTailBytes : line);
}

}  // namespace

InterruptGuard::InterruptGuard() {
  stop_requested = false;
  struct sigaction action {};
  action.sa_handler = on_signal;
  for (int i = 0; i < 3; ++i) sigaction(kSignals[i], &action, &previous_actions[i]);
}

InterruptGuard::~InterruptGuard() {
  for (int i = 0; i < 3; ++i) sigaction(kSignals[i], &previous_actions[i], nullptr);
}

bool InterruptGuard::interrupted() { return stop_requested; }

Result<CommandOutcome> AppCommands::run(const std::string& name, const std::string& line,
                                        std::optional<std::chrono::milliseconds> timeout) const {
  ProcessOptions options;
  options.folder = root_;
  options.environment = environment_;
  options.timeout = timeout;
  // Only this thread forks; the watcher ends its child when the user asks us to stop.
  std::atomic<bool> finished{false};
  std::thread watcher([&] {
    while (!finished) {
      if (stop_requested) stop_descendants(getpid());
      std::this_thread::sleep_for(kPoll);
    }
  });
  auto ran = run_process({"/bin/sh", "-c", line}, options);
  finished = true;
  watcher.join();
  if (!ran.ok()) return std::move(ran).error();
  KERNELIFT_TRY(write_atomically(logs_ / (name + ".log"), "$ " + line + "\n" + ran->out + ran->err));
  CommandOutcome outcome;
  outcome.ok = ran->ok();
  outcome.interrupted = stop_requested;
  outcome.seconds = ran->seconds;
  if (!outcome.ok) {
    std::string last = tail(ran->err.empty() ? ran->out : ran->err);
    outcome.why = "`" + line + "` " + ran->describe() + (last.empty() ? "" : ":\n" + last);
  }
  return outcome;
}

Outlook outlook(const TrialOptions& options, const std::vector<double>& runs) {
  double mean = std::accumulate(runs.begin(), runs.end(), 0.0) / static_cast<double>(runs.size()), squares = 0;
  for (double run : runs) squares += (run - mean) * (run - mean);
  double spread = std::sqrt(squares / static_cast<double>(std::max<size_t>(1, runs.size() - 1))) / mean;
  Outlook expected;
  expected.pairs = static_cast<int>(std::clamp<double>(options.time_limit / (2 * mean), kFewestPairs, options.most_pairs));
  // A median of n varies as a mean of n does, times sqrt(pi/2); two of them are divided.
  expected.noise = 1.96 * spread * std::sqrt(M_PI / 2) * std::sqrt(2.0 / expected.pairs);
  return expected;
}

void summarise(AppTiming& timing) {
  timing.before_median = median(timing.before);
  timing.after_median = median(timing.after);
  timing.speedup = timing.after_median > 0 ? timing.before_median / timing.after_median : 1;
  size_t pairs = timing.after.size();
  std::vector<double> ratios;
  if (pairs < kFewestPairs) {
    for (size_t i = 0; i < pairs; ++i) ratios.push_back(timing.before[i] / timing.after[i]);
    if (ratios.empty()) return;
    std::tie(timing.low, timing.high) = std::tuple(*std::min_element(ratios.begin(), ratios.end()), *std::max_element(ratios.begin(), ratios.end()));
    return;
  }
  std::mt19937_64 random(pairs);         // Seeded: the same samples give the same interval.
  std::vector<double> a(pairs), b(pairs);
  for (int resample = 0; resample < kResamples; ++resample) {
    for (size_t i = 0; i < pairs; ++i) {
      size_t pick = random() % pairs;
      a[i] = timing.before[pick], b[i] = timing.after[pick];
    }
    ratios.push_back(median(a) / median(b));
  }
  std::sort(ratios.begin(), ratios.end());
  timing.low = ratios[kResamples * 25 / 1000];
  timing.high = ratios[kResamples * 975 / 1000];
}

Result<AppTiming> time_in_alternation(const TrialOptions& options, const std::function<Status(bool)>& place,
                                      const std::function<Result<double>()>& run,
                                      const std::function<void(const AppTiming&)>& progress) {
  AppTiming timing;
  auto once = [&](bool patched, std::vector<double>* into) -> Status {
    KERNELIFT_TRY(place(patched));
    KERNELIFT_ASSIGN(double seconds, run());
    if (into) into->push_back(seconds);
    return done();
  };
  for (bool patched : {false, true}) KERNELIFT_TRY(once(patched, nullptr));   // Caches and page tables warm for both.
  auto start = std::chrono::steady_clock::now();
  for (int pair = 1; pair <= options.most_pairs; ++pair) {
    // Who goes first changes, or a machine that slows down, or warms up, would speak for one of them.
    for (bool patched : {pair % 2 == 0, pair % 2 == 1}) KERNELIFT_TRY(once(patched, patched ? &timing.after : &timing.before));
    summarise(timing);
    progress(timing);
    double spent = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    int enough = timing.high < options.smallest_gain ? kFewestToRefuse : kFewestPairs;
    if (pair >= enough && spent > options.time_limit) break;
    bool look = pair >= options.first_look && (pair - options.first_look) % kLookEvery == 0;
    if (look && (timing.low > options.smallest_gain || timing.high < options.smallest_gain)) break;
  }
  return timing;
}

Json to_json(const AppTiming& timing) {
  return {{"before_seconds", timing.before},           {"after_seconds", timing.after},
          {"before_median_seconds", timing.before_median}, {"after_median_seconds", timing.after_median},
          {"speedup", timing.speedup},                 {"speedup_low", timing.low},
          {"speedup_high", timing.high}};
}

}  // namespace kernelift
