// The process that measures. It maps a MEP's memory once, learns from the original what may be expected of a candidate
// (how much results vary, what is written without being read, how long it takes), and then tries candidates one after
// the other, each in a child of its own. It runs no candidate code itself, so its comparisons can be believed.
#pragma once
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/model/mep.h"
#include "sandbox/evaluate/trial.h"
#include "sandbox/judge/race.h"

namespace kernelift {

/// What the original did on one instance, buffer by buffer.
struct BufferReport {
  std::string name;
  uint64_t bytes = 0;
  bool pass = true, changed = false;
  std::string detail;     ///< First and worst mismatch.
  std::string tolerance;  ///< FloatTolerance::text: what it was compared within.
};
struct InstanceReport {
  std::string id;
  bool held_out = false, pass = true;
  double weight = 1;
  double recorded_seconds = 0;       ///< In the application; 0 if unknown.
  double seconds = 0, spread = 0;    ///< Median and relative spread of a launch.
  double fastest_write_seconds = 0;  ///< For the bytes that it changes: the physics floor's measure.
  std::string failure;               ///< Set when it did not run at all.
  std::vector<BufferReport> buffers;
};
struct BaselineReport {
  std::vector<InstanceReport> instances;
  bool pass() const;
  /// The first thing that is wrong, as a sentence; empty if nothing is.
  std::string complaint() const;
};

Json to_json(const BaselineReport& report);
Result<BaselineReport> baseline_report_from_json(const Json& from, const std::string& where);

struct RunnerSettings {
  TrialSettings trial;
  RaceRules race;
  std::optional<Tolerance> tolerance;  ///< The user's; wins over the MEP's.
};

class Runner {
 public:
  /// `quiet(true)` is called before something is timed, `quiet(false)` after.
  static Result<std::unique_ptr<Runner>> create(const Mep& mep, const std::filesystem::path& folder,
                                                const RunnerSettings& settings, std::function<void(bool)> quiet);
  /// Runs the original on every instance, compares with the capture, and derives tolerances and write sets.
  /// `roundings`: images of the original that round otherwise.
  Result<BaselineReport> calibrate(const TrialCode& baseline, const std::vector<std::string>& roundings);
  /// EXPECTS: calibrated. `held_out_timed`: a confirmation, which times every instance.
  Verdict evaluate(const TrialCode& candidate, bool confirm);

 private:
  Runner() = default;
  Status calibrate_instance(Trial& trial, size_t instance, InstanceReport& report);
  Status learn_writes(size_t instance, const std::vector<std::vector<std::byte>>& results);
  bool consistent_under_poison(size_t instance, size_t region, const std::vector<std::vector<std::byte>>& results);
  void set_tolerances(size_t instance, const std::vector<std::vector<std::byte>>& once,
                      const std::vector<std::vector<std::byte>>& again);
  /// Runs the original as rounded otherwise, and widens tolerances by how far that moves its results.
  void add_envelopes(const std::vector<std::string>& roundings);
  std::vector<std::vector<std::byte>> snapshot(size_t instance) const;
  std::vector<BufferReport> compare(size_t instance, Verdict* verdict) const;
  /// Restores, runs, checks canaries and compares. False: the verdict says why not.
  bool verify(Trial& trial, size_t instance, Stage stage, Verdict& verdict);
  bool race(Trial& trial, size_t instance, Race& race, Verdict& verdict);
  bool run_trial(const TrialCode& candidate, bool swapped, bool confirm, Verdict& verdict);
  int batch_for(double seconds) const;
  bool timed(size_t instance, bool confirm) const { return confirm || !mep_.instances[instance].held_out; }

  Mep mep_;
  RunnerSettings settings_;
  std::function<void(bool)> quiet_;
  std::unique_ptr<ReplayMemory> memory_;
  TrialCode baseline_;
  BaselineReport report_;
};

}  // namespace kernelift
