// Runs the application's own commands, and times two builds of it against each other. Commands are shell lines, run in
// the application's root, their output kept in log files. Ctrl-C or a termination request ends the running command and
// is reported, so that the caller can put everything back first.
#pragma once
#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/base/process.h"
#include "core/base/result.h"

namespace kernelift {

/// While it lives, SIGINT, SIGTERM and SIGHUP stop the running child instead of this process.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  static bool interrupted();
};

struct CommandOutcome {
  bool ok = false, interrupted = false;
  double seconds = 0;
  std::string why;             ///< "exited with 2: <its last lines>", empty when ok.
};

class AppCommands {
 public:
  AppCommands(std::filesystem::path root, std::vector<std::pair<std::string, std::string>> environment, std::filesystem::path logs)
      : root_(std::move(root)), environment_(std::move(environment)), logs_(std::move(logs)) {}
  /// `name` is the log's: "build-patched". No timeout means none.
  Result<CommandOutcome> run(const std::string& name, const std::string& line, std::optional<std::chrono::milliseconds> timeout = {}) const;

 private:
  std::filesystem::path root_;
  std::vector<std::pair<std::string, std::string>> environment_;
  std::filesystem::path logs_;
};

/// Whole runs of the application, before and after the patch, taken in alternation. Seconds.
struct AppTiming {
  std::vector<double> before, after;
  double before_median = 0, after_median = 0;
  double speedup = 1, low = 1, high = 1;    ///< Ratio of medians, and its 95 % interval.
};

struct TrialOptions {
  int first_look = 6;          ///< Pairs before the first decision.
  int most_pairs = 12;         ///< Then the answer is "not measurably faster".
  double smallest_gain = 1.01; ///< The interval's lower bound must exceed it.
  double time_limit = 600;     ///< Seconds of timing; but a gain is believed of six pairs, and three that show none refuse it.
};

/// What a few runs of one build let expect of the pairs.
struct Outlook {
  int pairs = 0;               ///< As many as there would be.
  double noise = 0;            ///< Half the interval's width then, as a fraction: 0.012 is ±1.2 %.
};
Outlook outlook(const TrialOptions& options, const std::vector<double>& runs);

/// Fills medians and interval from the samples: bootstrap over pairs from six on, the extremes of the pairs below, which
/// are no interval to keep a patch by.
void summarise(AppTiming& timing);

/// Alternates until the interval is clear of `smallest_gain` on either side, or pairs or time run out. `place(true)` puts
/// the patched build in place, `run` runs the application.
Result<AppTiming> time_in_alternation(const TrialOptions& options, const std::function<Status(bool patched)>& place,
                                      const std::function<Result<double>()>& run,
                                      const std::function<void(const AppTiming&)>& progress);

Json to_json(const AppTiming&);

}  // namespace kernelift
