// The largest gains come first, in the patch and in what is left of it. If the check fails, the shortest beginning of
// the list with which it fails is searched by halving: the last kernel of that breaks it, alone or with one before it,
// and is dropped. So the smaller gain of two that do not go together is given up, and one bad kernel costs log2(n)
// builds.
#include "reintegrate/apply_together.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "core/base/shown/outside_text.h"
#include "core/base/words.h"
#include "reintegrate/interruption.h"
#include "reintegrate/patch/patch_series.h"

namespace kernelift::reintegrate {
namespace {

constexpr size_t kMostTogether = 8;  ///< Sets that are timed: minutes each.
constexpr size_t kMostChecks = 40;   ///< Sets that are built and checked only.

/// The part of the application's time that a change saves; 0: not known.
double saved(const Prediction& predicted) {
  auto whole = predicted.whole();
  return whole ? 1 - 1 / *whole : 0;
}

class Together {
 public:
  Together(ApplyRequest request, std::vector<KernelChange> changes)
      : request_(std::move(request)), changes_(std::move(changes)) {
    for (auto& change : changes_)
      report_.kernels.push_back(
          {change.mep.kernel_name, change.run_file, change.candidate_id, change.predicted, false, "", 0});
  }

  Result<TogetherReport> run() {
    Set all(changes_.size());
    std::iota(all.begin(), all.end(), size_t{0});
    std::ranges::sort(all, {}, [&](size_t i) { return std::pair(-saved(changes_[i].predicted), i); });
    Status settled = settle(all);
    if (!settled.ok() && !report_.kept()) return std::move(settled).error();
    if (!settled.ok()) over_ = settled.error().message;  // What was kept stays kept, and is reported.
    for (auto& kernel : report_.kernels)
      if (!kernel.kept && kernel.why.empty()) kernel.why = over_ ? "not tried: " + *over_ : "not tried";
    return std::move(report_);
  }

 private:
  using Set = std::vector<size_t>;  ///< Indices of changes.

  /// Keeps what can be kept of the set, and says for each of it what became of it.
  Status settle(Set set) {
    while (!over_) {
      KERNELIFT_TRY(leave_out_clashes(set));
      if (set.empty()) break;
      if (report_.trials.size() == kMostTogether) {
        over_ = "of the other sets " + std::to_string(kMostTogether) + " were tried";
        break;
      }
      KERNELIFT_ASSIGN(ApplyReport tried, try_patch(set, false));
      for (size_t i : set) report_.kernels[i].trial = report_.trials.size();
      report_.trials.push_back(tried);
      switch (tried.outcome) {
        case ApplyOutcome::Kept: return keep(set);
        case ApplyOutcome::CheckFailed:
        case ApplyOutcome::BuildFailed: KERNELIFT_TRY(drop_breaking(set, tried)); continue;
        case ApplyOutcome::NotFaster: return halve(set, tried);
        case ApplyOutcome::TooSmall: return drop(set, tried.why);
        case ApplyOutcome::Interrupted: report_.interrupted = true; [[fallthrough]];
        case ApplyOutcome::Disturbed:
        case ApplyOutcome::HookRefused:
        case ApplyOutcome::NotBuilt:
        case ApplyOutcome::Checked:
        case ApplyOutcome::NoPatch: over_ = tried.why; return drop(set, tried.why);
      }
    }
    return done();
  }

  /// Two kernels may change the same lines, of a header or a shared function, or define one name: the one with the
  /// smaller gain is dropped. What is left changes nothing of the host program.
  Status leave_out_clashes(Set& set) {
    PatchSeries series;
    Set fitting;
    for (size_t i : set) {
      PatchSeries with = series;
      Status fits = with.add(*changes_[i].planned);
      if (fits.ok()) fits = prove(changes_[i], with.steps().back());
      if (!fits.ok() && fits.error().exit != Exit::Refused) return fits;
      if (!fits.ok()) {
        drop_one(i, (fitting.empty() ? "" : "it does not go together with the others: ") + fits.error().message);
        continue;
      }
      series = std::move(with), fitting.push_back(i);
    }
    set = std::move(fitting);
    return done();
  }

  /// That the host program stays as it is, once for each step.
  Status prove(const KernelChange& change, const SourcePatch& step) {
    if (proven_.contains(step.identity())) return done();
    KERNELIFT_ASSIGN(HostProof proof,
                     prove_host_half({change.mep, request_.scan ? &*request_.scan : nullptr, step, request_.host}));
    if (proof.units > 0) say(change.mep.kernel_name + ": " + proof.text());
    proven_.emplace(step.identity(), proof.notes);
    return done();
  }

  Result<ApplyReport> try_patch(const Set& set, bool only_check) {
    ApplyRequest request = request_;
    static_cast<KernelChange&>(request) = changes_[set[0]];
    for (size_t i = 1; i < set.size(); ++i) request.with.push_back(changes_[set[i]]);
    PatchSeries series;
    for (size_t i : set) KERNELIFT_TRY(series.add(*changes_[i].planned));
    for (auto& step : series.steps()) {
      const std::vector<std::string>& notes = proven_.at(step.identity());  // A beginning of a set has its steps.
      request.notes.insert(request.notes.end(), notes.begin(), notes.end());
    }
    request.proven_patch = series.whole().identity();
    request.only_check = only_check;
    say((only_check ? "checking with " : "trying together: ") + names(set));
    KERNELIFT_ASSIGN(ApplyReport report, apply(request));
    // The original is built again, and was checked.
    if (report.check_seconds > 0) request_.check_seconds = report.check_seconds;
    return report;
  }

  /// Finds the kernel with which the check or the build fails, and drops it from the set.
  Status drop_breaking(Set& set, const ApplyReport& failed) {
    size_t right = 0,
           wrong = set.size();  // Lengths of beginnings of the set; without a patch the application is right.
    std::string why = failed.why;
    while (wrong - right > 1) {
      if (report_.checks++ == kMostChecks) {
        over_ = why;
        return drop(set, why);
      }
      const size_t middle = (right + wrong) / 2;
      KERNELIFT_ASSIGN(ApplyReport checked,
                       try_patch(Set(set.begin(), set.begin() + static_cast<ptrdiff_t>(middle)), true));
      switch (checked.outcome) {
        case ApplyOutcome::Checked: right = middle; break;
        case ApplyOutcome::CheckFailed:
        case ApplyOutcome::BuildFailed: wrong = middle, why = checked.why; break;
        default:
          report_.interrupted |= checked.outcome == ApplyOutcome::Interrupted, over_ = checked.why;
          return drop(set, checked.why);
      }
    }
    const size_t culprit = set[right];
    const Set before(set.begin(), set.begin() + static_cast<ptrdiff_t>(right));
    drop_one(culprit, (right > 0 ? "it fails together with " + names(before) + ": " : "it fails by itself: ") + why);
    set.erase(set.begin() + static_cast<ptrdiff_t>(right));
    return done();
  }

  Status halve(const Set& set, const ApplyReport& tried) {
    if (set.size() == 1) return drop(set, tried.why);
    const auto middle = set.begin() + static_cast<ptrdiff_t>((set.size() + 1) / 2);
    say("the sum of " + counted(set.size(), "kernel") + " is not measurably faster; each half is tried for itself");
    for (auto& half : {Set(set.begin(), middle), Set(middle, set.end())}) {
      KERNELIFT_TRY(settle(half));
      for (size_t i : half)  // The half was not tried any more.
        if (!report_.kernels[i].kept && report_.kernels[i].why.empty()) report_.kernels[i].why = tried.why;
    }
    return done();
  }

  Status keep(const Set& set) {
    for (size_t i : set) {
      Set others = set;
      std::erase(others, i);
      report_.kernels[i].kept = true;
      report_.kernels[i].why = others.empty() ? "kept" : "kept together with " + names(others);
    }
    request_.check_seconds.reset();  // Another application from here on.
    return done();
  }

  Status drop(const Set& set, const std::string& why) {
    for (size_t i : set) drop_one(i, why, false);
    return done();
  }
  void drop_one(size_t i, const std::string& why, bool tell = true) {
    report_.kernels[i].why = "dropped: " + why;
    if (tell) say(report_.kernels[i].kernel + ": " + report_.kernels[i].why);
  }

  std::string names(const Set& set) const {
    std::vector<std::string> all;
    for (size_t i : set) all.push_back(report_.kernels[i].kernel);
    return listed(all);
  }
  void say(const std::string& line) const {
    if (request_.progress) request_.progress(line);
  }

  ApplyRequest request_;
  const std::vector<KernelChange> changes_;
  TogetherReport report_;
  std::map<Hash, std::vector<std::string>> proven_;  ///< Steps that leave the host program as it is, with notes.
  std::optional<std::string> over_;                  ///< Why nothing more is tried.
};

}  // namespace

bool TogetherReport::kept() const { return std::ranges::any_of(trials, &ApplyReport::kept); }

double TogetherReport::speedup() const {
  double product = 1;
  for (auto& trial : trials)
    if (trial.kept() && trial.measured) product *= trial.measured->speedup;
  return product;
}

std::string TogetherReport::way_back() const {
  WaysBack ways;
  for (auto& trial : trials)
    for (auto& way : trial.ways_back()) ways.push_back(way);
  return joined(ways);
}

std::string TogetherReport::branch() const {
  std::string last;
  for (auto& trial : trials)
    if (trial.kept()) last = trial.branch;
  return last;
}

std::string TogetherReport::text() const {
  std::string text;
  for (auto& trial : trials) text += trial.text() + "\n";
  for (auto& one : kernels) {
    char gain[32] = "";
    if (one.predicted.kernel_gain > 0) std::snprintf(gain, sizeof gain, ", %.3fx by itself", one.predicted.kernel_gain);
    text += shown_line(one.kernel + " (#" + std::to_string(one.candidate) + gain + "): " + one.why) + "\n";
  }
  return text;
}

Json to_json(const TogetherReport& report) {
  Json kernels = Json::array(), trials = Json::array();
  for (auto& one : report.kernels) {
    auto whole = one.predicted.whole();
    kernels.push_back({{"kernel", one.kernel},
                       {"run", one.run},
                       {"candidate", one.candidate},
                       {"kernel_gain", one.predicted.kernel_gain},
                       {"predicted", whole ? Json(*whole) : Json(nullptr)},
                       {"kept", one.kept},
                       {"trial", one.trial},
                       {"why", one.why}});
  }
  for (auto& trial : report.trials) trials.push_back(to_json(trial));
  return {{"kept", report.kept()},     {"speedup", report.speedup()},
          {"branch", report.branch()}, {"way_back", report.way_back()},
          {"kernels", kernels},        {"trials", trials},
          {"checks", report.checks},   {"interrupted", report.interrupted}};
}

Result<TogetherReport> apply_together(ApplyRequest request, std::vector<KernelChange> changes) {
  InterruptGuard guard;
  return Together(std::move(request), std::move(changes)).run();
}

}  // namespace kernelift::reintegrate
