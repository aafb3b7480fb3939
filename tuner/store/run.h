// A run: every candidate that one tuning of one MEP tried, in one SQLite file `<state>/runs/<mep name>-<n>.klrun`. Each
// verdict is a transaction of its own, on disk before the next candidate is chosen (WAL, synchronous=FULL: an fsync of
// a millisecond against candidates of tens), so kill -9 or a power cut loses at most the candidates in flight. Readers
// (report, apply, export) may open the file while `tune` writes; a second writer is refused.
#pragma once
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/model/candidate/candidate.h"
#include "core/model/launch/geometry.h"
#include "core/model/verdict/verdict.h"

namespace kernelift::tuner {

/// In format 1 a verdict's figures were numbers by name, in one object; candidates had a note and no steps; there was
/// no TunedKernel.
inline constexpr int kRunVersion = 2;

struct RunMeta {
  std::string mep;        ///< Absolute path of the MEP's folder.
  std::string mep_hash;   ///< hash_mep(), by which a resumed run recognises its MEP.
  std::string kernel;     ///< The MEP's kernel_name.
  std::string device;     ///< The value of --device; each verdict names the device that it ran on.
  std::string kernelift;  ///< Version that created the run; set by create().
  uint64_t seed = 0;
  std::vector<std::string> tiers;
  double time_budget = 0;         ///< Seconds; 0: none.
  int64_t evaluation_budget = 0;  ///< 0: none.
  std::string started;            ///< UTC, ISO 8601.
  double seconds_spent = 0;       ///< Over all sittings.
  double tolerance = 0;           ///< As Verdict::tolerance: given to `tune`.
};

/// The kernel that a run tunes, as a report shows it: by then its MEP may be gone.
struct TunedKernel {
  struct Launch {
    std::string id;
    Geometry geometry;
    bool held_out = false;
    double weight = 1;        ///< Share of the kernel's time that launches like it stand for.
    double microseconds = 0;  ///< In the application.
  };
  std::string place;                   ///< In the application: "src/smooth.cu:12".
  std::string proof;                   ///< What the proof of its slice says.
  std::vector<Launch> launches;        ///< The recorded ones.
  std::vector<std::string> not_tried;  ///< Block sizes that are not tried, and why: a sentence each.
};

struct RunTrial {
  int64_t id = 0;  ///< Counts from 1 in order of completion.
  Candidate candidate;
  Verdict verdict;                   ///< As screened during the search.
  std::optional<Verdict> confirmed;  ///< For finalists: measured again in a fresh process. These figures are reported.
  std::vector<int64_t> parents;
  double at = 0;  ///< Seconds since the run began (all sittings).

  const Verdict& figures() const { return confirmed ? *confirmed : verdict; }
  /// Its gain can be written into the application's source or build: its recipe is one of the application's compiler.
  bool applicable() const { return candidate.recipe.of_application(); }
};

class Run {
 public:
  /// Refuses an existing file.
  static Result<Run> create(const std::filesystem::path& file, const RunMeta& meta);
  /// For tuning on. Fails if another process is tuning into it. A file of an older format gets this one's number, so
  /// that no older Kernelift takes what is added for damage; what it holds stays as it is.
  static Result<Run> resume(const std::filesystem::path& file);
  /// For reading only.
  static Result<Run> open(const std::filesystem::path& file);
  /// `<state>/runs/<name>-<n>.klrun` with n one above the highest existing number; the one with the highest number
  /// (empty if there is none).
  static std::filesystem::path next_path(const std::filesystem::path& state, const std::string& name);
  static std::filesystem::path latest_path(const std::filesystem::path& state, const std::string& name);
  /// All of that name, the latest first.
  static std::vector<std::filesystem::path> paths(const std::filesystem::path& state, const std::string& name);
  /// What a user may type for any of them: the names of kernels and of run files.
  static std::vector<std::string> names(const std::filesystem::path& state);
  /// Whether the file begins as runs do, damaged or not.
  static bool is_one(const std::filesystem::path& file);
  /// The run that was written last, of all kernels or of one, by the kernel's or its MEP's name; empty if there is
  /// none.
  static std::filesystem::path last_written(const std::filesystem::path& state, const std::string& kernel = {});

  Run(Run&&) noexcept;
  Run& operator=(Run&&) noexcept;
  ~Run();

  const RunMeta& meta() const;
  const std::filesystem::path& file() const;
  /// Folder of this run's model transcripts: the file's name with `.transcripts` for `.klrun`.
  std::filesystem::path transcript_folder() const;

  Result<int64_t> record(const Candidate& candidate, const Verdict& verdict, const std::vector<int64_t>& parents,
                         double at);
  Status record_confirmation(int64_t id, const Verdict& verdict);
  Status record_time(double seconds_spent);
  Status record_kernel(const TunedKernel& kernel);
  /// nullopt in runs that were only tuned by a Kernelift that wrote format 1.
  Result<std::optional<TunedKernel>> kernel() const;
  /// State of a proposer (a model's spent tokens), kept across sittings.
  Status put_state(const std::string& key, const std::string& value);
  Result<std::string> get_state(const std::string& key) const;
  /// All of it, by key.
  Result<std::map<std::string, std::string>> states() const;

  Result<std::vector<RunTrial>> history() const;
  /// The original, as first measured.
  Result<std::optional<RunTrial>> baseline() const;
  /// The trial with the highest lower end of its speedup; if any finalist was confirmed, among the confirmed ones.
  /// nullopt if no candidate works. `applicable_only`: among trials that a source patch can express, and of those that
  /// noise does not distinguish from the best, the one that changes the fewest lines.
  Result<std::optional<RunTrial>> best(bool applicable_only = false) const;

 private:
  struct State;
  explicit Run(std::unique_ptr<State>);
  static Result<Run> attach(const std::filesystem::path& file, bool writable);
  std::unique_ptr<State> state_;
};

/// The trial with the shortest patch of `original`, of the best one and the rivals whose gain noise does not
/// distinguish from its gain.
const RunTrial* shortest_patch(const RunTrial& best, const std::vector<const RunTrial*>& rivals,
                               const std::string& original);

/// The choice of Run::best() among trials in memory; nullptr if there is none.
template <class Trials>
const RunTrial* best_of(const Trials& trials, bool applicable_only) {
  const RunTrial *screened = nullptr, *confirmed = nullptr;
  bool confirmed_any = false;
  for (const RunTrial& trial : trials) {
    if ((applicable_only && !trial.applicable()) || trial.candidate.tier == "baseline") continue;
    confirmed_any |= trial.confirmed.has_value();
    const RunTrial*& best = trial.confirmed ? confirmed : screened;
    if (trial.figures().ok() && (!best || trial.figures().speedup_low() > best->figures().speedup_low())) best = &trial;
  }
  const RunTrial* best = confirmed_any ? confirmed : screened;
  if (!best || !applicable_only) return best;
  std::string original;
  std::vector<const RunTrial*> rivals;
  for (const RunTrial& trial : trials) {
    if (trial.candidate.tier == "baseline") original = trial.candidate.source;
    else if (trial.applicable() && trial.figures().ok() && trial.confirmed.has_value() == confirmed_any)
      rivals.push_back(&trial);
  }
  return shortest_patch(*best, rivals, original);
}

}  // namespace kernelift::tuner
