// The steps in order, each with its reason:
//   plan the patch, query git, check permissions,    all refusals come before any command runs; foreign code must not
//     prove that the host program stays as it is       be built, let alone run, before it is known to stay on the
//     device
//   build and check the unpatched application        a broken application must not be blamed on the patch
//   time a few runs, if the predicted gain is small  a gain that the noise would hide is not worth building
//   patch, run git's hooks, build, check             roll back at once if it does not build or fails its check
//   save the build products, restore the originals,  the original is built last, so that every exit after this step
//     build again, save those products too           leaves the tree as it was
//   swap the two builds in and out, timing runs      A B A B
//   if faster: patch, build, check, commit           the kept programs come from the build, not from a swapped copy
// The build directory is the user's own: a copied tree would break absolute paths (see tree/build_products.h).
#include "reintegrate/apply.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/base/file.h"
#include "core/base/shown/outside_text.h"
#include "core/base/shown/secrets.h"
#include "core/base/within.h"
#include "core/model/kernel_key.h"
#include "core/model/verdict/certificate.h"
#include "reintegrate/app_commands.h"
#include "reintegrate/embed/launch_counts.h"
#include "reintegrate/evidence.h"
#include "reintegrate/flags/flag_watch.h"
#include "reintegrate/interruption.h"
#include "reintegrate/patch/patch_series.h"
#include "reintegrate/patch/text_diff.h"
#include "reintegrate/tree/build_products.h"
#include "reintegrate/tree/git_trees.h"

namespace fs = std::filesystem;

namespace kernelift::reintegrate {
namespace {

/// A patched program that takes this many times as long as the original, and at least the floor, is taken to hang.
constexpr double kHangFactor = 10, kHangFloorSeconds = 60;
/// Largest ratio of measured to predicted gain to allow for. The kernel's share is taken from the recorded run, which
/// includes process start-up; applications have gained up to 1.8 times what was predicted.
constexpr double kPredictionFallsShort = 2;
/// A gain of this size shows beside any usual noise. For smaller gains the noise is measured first, by this many runs.
constexpr double kPlainGain = 0.1;
constexpr size_t kFewestNoiseRuns = 3, kMostNoiseRuns = 9;
constexpr double kNoiseTime = 0.1;            ///< Fraction of the trial's time limit that the noise runs may take.
constexpr std::chrono::seconds kSilence{10};  ///< Longest time without a line of progress while runs are timed.

struct Stop {
  ApplyOutcome outcome;
  std::string why;
};

class Apply {
 public:
  explicit Apply(const ApplyRequest& request) : r_(request), kernels_{&request} {
    for (auto& change : request.with) kernels_.push_back(&change);
  }

  Result<ApplyReport> run() {
    KERNELIFT_TRY(prepare());
    if (auto gain = largest_expected_gain(); !r_.only_check && gain && *gain <= r_.trial.smallest_gain - 1)
      return not_tried("is less than the " + percent(r_.trial.smallest_gain - 1) + " that a patch must prove");
    KERNELIFT_TRY(check_original());
    report_.check_seconds = check_seconds_;
    KERNELIFT_ASSIGN(std::optional<std::string> unseen, why_gain_is_undetectable());
    if (unseen) return not_tried(*unseen);
    auto proven = prove();
    if (!proven.ok()) {
      // If an Error leaves this function, the journal's destructor restores the sources; the programs must be rebuilt
      // here.
      if (!original_is_built_) KERNELIFT_TRY(roll_back({ApplyOutcome::Disturbed, proven.error().message}));
      for (auto& note : late_notes_) say(note);
      return std::move(proven).error();
    }
    if (*proven) {
      KERNELIFT_TRY(roll_back(**proven));
    } else {
      KERNELIFT_TRY(keep());
    }
    if (!report_.kept()) KERNELIFT_TRY(write_report());
    return std::move(report_);
  }

 private:
  Status write_report() {
    report_.notes.insert(report_.notes.end(), late_notes_.begin(), late_notes_.end());
    report_.at = utc_now();
    return write_json(journal_->folder() / "report.json", to_json(report_));
  }

  fs::path certificate_file(size_t kernel) const {  // One for each kernel.
    return journal_->folder() /
           (kernel == 0 ? "certificate.json" : "certificate-" + std::to_string(kernel + 1) + ".json");
  }

  /// What the patch rests on, to be checked again.
  Status write_certificates() {
    for (size_t i = 0; i < kernels_.size(); ++i) {
      const KernelChange& change = *kernels_[i];
      if (!change.figures) continue;
      Certificate certificate = Certificate::of(change.mep, change.original, change.candidate, *change.figures);
      certificate.patch = hash_text(report_.diff).hex(), certificate.at = utc_now();
      KERNELIFT_TRY(certificate.write(certificate_file(i)));
      if (report_.certificate.empty()) report_.certificate = certificate_file(i).string();
    }
    return done();
  }

  void say(const std::string& line) const {
    if (r_.progress) r_.progress(line);
  }

  Status prepare() {
    if (r_.build.empty()) return usage_error("apply needs the application's build command: --build CMD");
    if (r_.run.empty() && r_.check.empty())
      return usage_error("apply needs a command that runs the application: --run CMD");
    Restoration leftovers;
    KERNELIFT_ASSIGN(PatchJournal journal, open_restored(r_.state, leftovers, r_.progress));
    journal_.emplace(std::move(journal));
    report_.notes = restoration_notes(leftovers);
    report_.notes.insert(report_.notes.end(), r_.notes.begin(), r_.notes.end());
    report_.passed_over = r_.passed_over;

    for (auto* change : kernels_) {
      KERNELIFT_ASSIGN(SourcePatch planned, plan(*change));
      KERNELIFT_TRY(series_.add(planned));
      for (auto& note : evidence_notes(change->known_figures(), r_.guards))
        report_.notes.push_back((kernels_.size() > 1 ? change->mep.kernel_name + ": " : "") + note);
    }
    patch_ = series_.whole();
    std::vector<fs::path> changed, created;
    for (auto& change : patch_.changes)
      paths_.push_back(change.path), (change.created ? created : changed).push_back(change.path);
    KERNELIFT_TRY(PatchJournal::check_writable(patch_));
    KERNELIFT_TRY(prove_host());
    KERNELIFT_ASSIGN(git_, GitTrees::inspect(changed, created));
    if (!git_.none()) {
      KERNELIFT_TRY(git_.lock());
      KERNELIFT_ASSIGN(report_.branch,
                       git_.free_branch(r_.branch, kernels_.size() > 1 ? "together" : base_name(r_.mep.kernel_key)));
      KERNELIFT_ASSIGN(tracked_, git_.tracked());
      inspect_hooks();
    } else if (!r_.branch.empty()) {
      report_.notes.push_back("--branch has no effect: the patched files are not in a git repository.");
    }
    auto environment = r_.environment;
    const fs::path launches = journal_->folder() / "embedded-launches.txt";
    launches_ = LaunchCounts(launches, series_.launchers());
    if (launches_.any()) environment.emplace_back("KERNELIFT_EMBED_REPORT", launches.string());
    app_build_.command = r_.build, app_build_.folder = r_.root, app_build_.environment = environment;
    environment.push_back(journal_->mark());
    commands_.emplace(r_.root, environment, journal_->folder());
    for (auto* change : kernels_)
      report_.kernel += (report_.kernel.empty() ? "" : ", ") + change->mep.kernel_name,
          report_.kernels.push_back({change->mep.kernel_name, change->run_file, change->candidate_id});
    if (kernels_.size() == 1) report_.candidate = r_.candidate_id;
    report_.diff = patch_.diff();
    report_.embeds = launches_.any();
    for (auto& change : patch_.changes) report_.files.push_back(change.name);
    report_.notes.insert(report_.notes.end(), patch_.notes.begin(), patch_.notes.end());
    if (r_.check.empty())
      report_.notes.push_back("No check command was given: that the run exits with 0 is all that was checked.");
    report_.predicted = predicted_ = predicted_together(kernels_);
    report_.on_cpu = r_.on_cpu;
    report_.originals = journal_->folder().string();
    roots_ = {r_.root};
    for (auto* folders : {&r_.build_folders, &r_.repositories})
      for (auto& folder : *folders)
        if (std::ranges::none_of(roots_, [&](auto& root) { return within(folder, root).has_value(); }))
          roots_.push_back(folder);
    app_build_.roots = roots_, app_build_.without = {r_.state};
    return done();
  }

  /// Before anything is written or built: what is built with the patch runs with the user's rights.
  Status prove_host() {
    if (r_.proven_patch == patch_.identity()) return done();
    for (size_t i = 0; i < kernels_.size(); ++i) {
      KERNELIFT_ASSIGN(HostProof proof,
                       prove_host_half({kernels_[i]->mep, r_.scan ? &*r_.scan : nullptr, series_.steps()[i], r_.host}));
      report_.notes.insert(report_.notes.end(), proof.notes.begin(), proof.notes.end());
      if (proof.units > 0) say((kernels_.size() > 1 ? kernels_[i]->mep.kernel_name + ": " : "") + proof.text());
    }
    return done();
  }

  Result<SourcePatch> plan(const KernelChange& change) const {
    if (change.planned) return *change.planned;
    return plan_patch(patch_question(r_, change));
  }

  void inspect_hooks() {
    git_.set_hook_limit(longest());
    const std::string hooks = git_.hook_names();
    if (hooks.empty()) return;
    if (r_.run_hooks) return say("the repository's hooks (" + hooks + ") are run before the trial and at the commit");
    report_.notes.push_back("The repository's hooks (" + hooks +
                            ") are not run, as asked; `git commit --amend --no-edit` on the new branch runs them.");
    say(report_.notes.back());
  }

  /// Before anything is built: a commit that the repository would not take is not worth hours.
  Result<std::optional<Stop>> try_hooks() {
    const std::string hooks = git_.hook_names();
    if (!r_.run_hooks || hooks.empty()) return std::optional<Stop>();
    say("running the repository's hooks (" + hooks + ") on the patch");
    Status passed = git_.try_hooks([&](auto& one) { return commit_message(one); }, journal_->folder());
    KERNELIFT_ASSIGN(auto changed, journal_->write_patched_again());
    std::string why = passed.ok() ? "" : passed.error().message;
    if (InterruptGuard::interrupted()) return why.empty() ? stopped() : Stop{ApplyOutcome::Interrupted, why};
    if (passed.ok() && !changed.empty())
      why = "the repository's hooks (" + hooks + ") change the patched file; what they made of it is in " + changed[0];
    if (why.empty()) return std::optional<Stop>();
    why += ". With --hooks skip the commit is made without them, and they are left to `git commit --amend`";
    return std::optional(Stop{ApplyOutcome::HookRefused, why});
  }

  static std::string percent(double fraction) {
    char text[32];
    std::snprintf(text, sizeof text, "%.1f %%", 100 * fraction);
    return text;
  }
  /// The largest gain of the application to hope for, as a fraction (0.02 is 1.02x); nothing if none was predicted.
  std::optional<double> largest_expected_gain() const {
    auto whole = predicted_.whole();
    return whole ? std::optional(kPredictionFallsShort * (*whole - 1)) : std::nullopt;
  }
  Result<ApplyReport> not_tried(const std::string& why) {
    report_.outcome = ApplyOutcome::TooSmall;
    report_.why = "even twice the gain of " + percent(*largest_expected_gain() / kPredictionFallsShort) +
                  " that is predicted for the application " + why;
    report_.branch.clear();
    KERNELIFT_TRY(write_report());
    return std::move(report_);
  }

  /// Why the application's noise would hide the predicted gain; nothing if it would not.
  Result<std::optional<std::string>> why_gain_is_undetectable() {
    auto gain = largest_expected_gain();
    if (r_.only_check || !gain || *gain >= kPlainGain) return std::optional<std::string>();
    say("the predicted gain is small: timing the application as it is, to see whether its noise would hide it");
    std::vector<AppRun> runs;
    double spent = 0;
    for (bool cold = true;
         runs.size() < kFewestNoiseRuns || (runs.size() < kMostNoiseRuns && spent < kNoiseTime * r_.trial.time_limit);
         cold = false) {
      KERNELIFT_ASSIGN(CommandOutcome ran, commands_->run("run", run_line(), longest()));
      if (ran.interrupted) return interrupted();
      if (!ran.ok) return fails_unpatched("the application's run fails before any patch", ran);
      spent += ran.seconds;
      KERNELIFT_ASSIGN(AppRun figure, figure_of(ran));
      if (!cold) runs.push_back(figure);
    }
    TrialForecast expected = forecast(r_.trial, runs);
    double needed = r_.trial.smallest_gain - 1 + expected.noise;
    if (*gain > needed) {
      say(std::to_string(expected.pairs) + " pairs of runs should show " + percent(needed) + " or more, and up to " +
          percent(*gain) + " may come: going on");
      return std::optional<std::string>();
    }
    return std::optional("is within the noise of ±" + percent(expected.noise) + " that remains after " +
                         std::to_string(expected.pairs) +
                         " pairs of runs; give --run a case in which the kernel has a larger share");
  }

  const std::string& check_line() const { return r_.check.empty() ? r_.run : r_.check; }
  const std::string& run_line() const { return !r_.timed.empty() ? r_.timed : r_.run.empty() ? r_.check : r_.run; }

  Status check_original() {
    if (r_.check_seconds) {
      check_seconds_ = *r_.check_seconds, original_is_built_ = true;
      return done();
    }
    say("building the application as it is");
    KERNELIFT_ASSIGN(CommandOutcome built, commands_->run("build-original", r_.build, longest()));
    if (built.interrupted) return interrupted();
    if (!built.ok) return fails_unpatched("the application does not build, even without the patch", built);
    say("checking the application as it is");
    KERNELIFT_ASSIGN(CommandOutcome checked, commands_->run("check-original", check_line(), longest()));
    if (checked.interrupted) return interrupted();
    if (!checked.ok) return fails_unpatched("the application's check fails before any patch", checked);
    check_seconds_ = checked.seconds;
    original_is_built_ = true;
    if (!r_.trial.metric) return done();
    say("running the application as it is for its figure");
    KERNELIFT_ASSIGN(CommandOutcome ran, commands_->run("run", run_line(), longest()));
    if (ran.interrupted) return interrupted();
    if (!ran.ok) return fails_unpatched("the application's run fails before any patch", ran);
    KERNELIFT_ASSIGN([[maybe_unused]] AppRun figure, figure_of(ran));
    return done();
  }

  /// What a run that ended well says of itself.
  Result<AppRun> figure_of(const CommandOutcome& ran) const {
    if (!r_.trial.metric) return AppRun(ran.seconds);
    KERNELIFT_ASSIGN(double figure, r_.trial.metric->read(ran.output));
    return AppRun(ran.seconds, figure);
  }

  void note_launches(const std::string& when, const std::string& if_none) {
    if (!launches_.any()) return;
    report_.notes.push_back(launches_.take_note(when, if_none));
    say(report_.notes.back());
  }

  static Error fails_unpatched(const std::string& what, const CommandOutcome& failed) {
    return answer_is_no(what + "; nothing was changed: " + failed.why +
                        (failed.timed_out ? "; --limit allows it more time" : ""));
  }
  std::chrono::milliseconds longest() const { return std::chrono::milliseconds(static_cast<int64_t>(1000 * r_.limit)); }

  static Error interrupted() { return {"interrupted; nothing was changed", Exit::Interrupted}; }
  static std::optional<Stop> stopped() { return Stop{ApplyOutcome::Interrupted, "interrupted by the user"}; }

  std::chrono::milliseconds limit(double usual) const {
    return std::chrono::milliseconds(static_cast<int64_t>(1000 * std::max(kHangFloorSeconds, kHangFactor * usual)));
  }

  /// Why the patch must be rolled back, or nothing if it may stay. On success the originals are in place and built.
  Result<std::optional<Stop>> prove() {
    KERNELIFT_TRY(journal_->begin(patch_, app_build_));
    KERNELIFT_ASSIGN(Listing at_first, list_files(roots_, {r_.state}));
    KERNELIFT_TRY(journal_->write_patched());
    original_is_built_ = false;
    KERNELIFT_ASSIGN(std::optional<Stop> refused_by_hooks, try_hooks());
    if (refused_by_hooks) return refused_by_hooks;
    const FlagWatch watch = watch_flags(r_.state, kernels_);
    say("building with the patch");
    KERNELIFT_ASSIGN(CommandOutcome built, commands_->run("build-patched", r_.build, longest()));
    if (built.interrupted) return stopped();
    if (!built.ok)
      return std::optional(
          Stop{ApplyOutcome::BuildFailed, "the application does not build with the patch: " + built.why});
    if (std::string astray = watch.astray(); !astray.empty())
      return std::optional(Stop{ApplyOutcome::NotBuilt, std::move(astray)});
    KERNELIFT_ASSIGN(Listing with_patch, list_files(roots_, {r_.state}));
    say("checking with the patch");
    launches_.read(false);
    KERNELIFT_ASSIGN(CommandOutcome checked, commands_->run("check-patched", check_line(), limit(check_seconds_)));
    launches_.read(true);
    if (checked.interrupted) return stopped();
    if (!checked.ok)
      return std::optional(
          Stop{ApplyOutcome::CheckFailed, "the application's check fails with the patch: " + checked.why});
    if (r_.only_check)
      return std::optional(Stop{ApplyOutcome::Checked, "the application passes its check with the patch"});
    note_launches("the check", "so the check did not test the embedded code; only the MEP's verification did");
    KERNELIFT_ASSIGN(Listing checked_tree, list_files(roots_, {r_.state}));
    for (auto& file : written_between(with_patch, checked_tree))
      if (!is_executable(file)) not_built_.insert(file);

    BuildProducts& products = products_.emplace(journal_->folder() / "products");
    std::vector<fs::path> patched_products = own_products(written_between(at_first, with_patch));
    KERNELIFT_TRY(products.save(BuildProducts::After, patched_products));
    say("building without it again, to time both");
    KERNELIFT_ASSIGN(std::optional<Stop> back, back_to_original());
    if (back) return back;
    KERNELIFT_ASSIGN(Listing without_it, list_files(roots_, {r_.state}));
    KERNELIFT_TRY(products.save(BuildProducts::Before, own_products(written_between(with_patch, without_it))));
    KERNELIFT_ASSIGN(bool differ, products.compare());
    if (!differ)
      return std::optional(Stop{
          ApplyOutcome::NotBuilt,
          products.count() == 0
              ? "the build command wrote no program under " + r_.root.string() +
                    " after the patch: it does not compile the patched files, or it builds elsewhere (name that folder "
                    "with --build-folder)"
              : "the build makes the same programs with and without the patch: it does not compile the patched files"});
    // From here on a killed apply can be undone without a build.
    KERNELIFT_TRY(products.write_list());
    KERNELIFT_TRY(journal_->note_programs(Programs::Swapped));
    return time(products);
  }

  /// The written files that are build products: not the patched sources, not files that are also written outside of the
  /// build, and files tracked by git only if they are programs.
  std::vector<fs::path> own_products(std::vector<fs::path> written) const {
    std::erase_if(written, [&](const fs::path& file) {
      bool tracked = std::binary_search(tracked_.begin(), tracked_.end(), file);
      return (tracked && !is_program(file)) || not_built_.contains(file) ||
             std::find(paths_.begin(), paths_.end(), file) != paths_.end();
    });
    return written;
  }

  /// Restores the originals and builds them.
  Result<std::optional<Stop>> back_to_original() {
    KERNELIFT_ASSIGN(Restoration restored, journal_->write_originals(false));
    if (!restored.left.empty())
      return std::optional(
          Stop{ApplyOutcome::Disturbed, restored.left[0] + " was changed by another program while apply was running"});
    KERNELIFT_ASSIGN(CommandOutcome built, commands_->run("build-original-again", r_.build, longest()));
    original_is_built_ = built.ok;
    if (built.interrupted) return stopped();
    if (!built.ok)
      return std::optional(Stop{ApplyOutcome::Disturbed, "the original does not build any more: " + built.why});
    return std::optional<Stop>();
  }

  Result<std::optional<Stop>> time(BuildProducts& products) {
    Error* failed = nullptr;
    Error reason;
    bool patched_stands = false;
    auto run = [&]() -> Result<AppRun> {
      KERNELIFT_ASSIGN(CommandOutcome outcome,
                       commands_->run("run", run_line(), usual_seconds_ > 0 ? limit(usual_seconds_) : longest()));
      launches_.read(patched_stands);
      if (!outcome.ok || outcome.interrupted) return answer_is_no(outcome.interrupted ? "interrupted" : outcome.why);
      if (usual_seconds_ == 0) usual_seconds_ = outcome.seconds;
      return figure_of(outcome);
    };
    auto install = [&](bool patched) -> Status {
      patched_stands = patched;
      return products.install(patched ? BuildProducts::After : BuildProducts::Before);
    };
    auto said = std::chrono::steady_clock::now();
    auto progress = [&](const AppTiming& timing, int most) {
      auto now = std::chrono::steady_clock::now();
      if (now - said < kSilence) return;
      said = now;
      say("timing: pair " + std::to_string(timing.after.size()) + " of at most " + std::to_string(most) + ", " +
          timing.shown(timing.before.back()) + " -> " + timing.shown(timing.after.back()));
    };
    say("timing the two in alternation");
    auto timed = time_in_alternation(r_.trial, install, run, progress);
    if (!timed.ok()) reason = timed.error(), failed = &reason;
    const bool never_ran = launches_.none_tuned();
    note_launches("the timed runs", "so the runs timed the original kernel");
    bool during_patched = patched_stands;
    Status placed = products.install(BuildProducts::Before);
    original_is_built_ = placed.ok();  // If not, some programs may still be the patched ones.
    if (!placed.ok()) return std::optional(Stop{ApplyOutcome::Disturbed, placed.error().message});
    if (InterruptGuard::interrupted()) return stopped();
    if (failed && failed->exit != Exit::No) return std::optional(Stop{ApplyOutcome::Disturbed, failed->message});
    if (failed)
      return std::optional(Stop{ApplyOutcome::CheckFailed, std::string("a timed run ") +
                                                               (during_patched ? "with" : "without") +
                                                               " the patch failed: " + failed->message});
    report_.measured = *timed;
    note_implausible_gain();
    if (never_ran)
      return std::optional(Stop{ApplyOutcome::NotFaster,
                                "no timed run ran the embedded code: what differs between "
                                "the runs is not its gain"});
    if (timed->low <= r_.trial.smallest_gain) {
      char why[160];
      std::snprintf(why, sizeof why,
                    "the application is not measurably faster: the interval [%.3f, %.3f] of %zu pairs of runs is not "
                    "all above %.2f",
                    timed->low, timed->high, timed->after.size(), r_.trial.smallest_gain);
      const bool turned = timed->metric && timed->high < 1 && predicted_.kernel_gain > 1;
      return std::optional(
          Stop{ApplyOutcome::NotFaster,
               why + std::string(turned ? "; the figure became worse, where the kernel is faster: is " +
                                              std::string(timed->metric->better_text()) + " better (--metric-better)?"
                                        : "")});
    }
    return std::optional<Stop>();
  }

  /// Notes a speedup that exceeds what Amdahl's law allows even if the kernel took no time at all.
  void note_implausible_gain() {
    double share = kPredictionFallsShort * predicted_.kernel_share;
    if (share <= 0 || share >= 1 || report_.measured->low * (1 - share) <= 1) return;
    report_.notes.push_back("The kernel is " + percent(predicted_.kernel_share) +
                            " of the application's time, which cannot account for this speedup: check what else "
                            "differs between the two builds or their runs.");
    say(report_.notes.back());
  }

  /// Installs the patch for good: writes it, builds it with the application's build, checks once more, commits.
  Status keep() {
    say("keeping the patch: last build and check");
    if (auto written = journal_->write_patched(); !written.ok())
      return roll_back({ApplyOutcome::Disturbed, written.error().message});
    original_is_built_ = false;
    auto built = commands_->run("build-kept", r_.build, longest());
    if (!built.ok()) return roll_back({ApplyOutcome::Disturbed, built.error().message});
    if (built->interrupted) return roll_back(*stopped());
    if (!built->ok)
      return roll_back({ApplyOutcome::BuildFailed, "the last build with the patch failed: " + built->why});
    auto checked = commands_->run("check-kept", check_line(), limit(check_seconds_));
    if (!checked.ok()) return roll_back({ApplyOutcome::Disturbed, checked.error().message});
    if (checked->interrupted) return roll_back(*stopped());
    if (!checked->ok)
      return roll_back({ApplyOutcome::CheckFailed, "the last check with the patch failed: " + checked->why});
    // The build and check took minutes: an edit that the user saved meanwhile was not checked and must not be
    // committed.
    if (auto same = journal_->check_patched(); !same.ok())
      return roll_back({ApplyOutcome::Disturbed, same.error().message});
    if (!git_.none()) {
      if (auto committed = commit(); !committed.ok())
        return roll_back(
            {ApplyOutcome::Disturbed, "the patch is good, but git refused it: " + committed.error().message});
    }
    report_.outcome = ApplyOutcome::Kept;
    report_.why = std::string("the application ") +
                  (r_.check.empty() ? "ends with exit code 0 (nothing else checks its results)" : "passes its check") +
                  " and is measurably faster, " + report_.measured->text();
    // The commit cannot be taken back, so from here on the patch counts as kept even if the report cannot be written.
    KERNELIFT_TRY(journal_->finish(true));
    if (Status written = write_certificates(); !written.ok())
      report_.notes.push_back("The certificate could not be written: " + written.error().message);
    if (Status written = write_report(); !written.ok())
      report_.notes.push_back("The report could not be written: " + written.error().message), say(report_.notes.back());
    return done();
  }

  /// Before the trial, for hooks that judge it, without the trial's figures.
  std::string commit_message(const GitTrees::Repository& of) const {
    CommitMessage message;
    const fs::path from = top_seen_from(r_.root, of.tree.top()).empty() ? r_.root : of.tree.top();
    for (size_t i = 0; i < kernels_.size(); ++i) {
      CommittedKernel tuned = committed_kernel(*kernels_[i], series_.steps()[i], r_.guards);
      if (i > 0) message.with.push_back(std::move(tuned));
      else static_cast<CommittedKernel&>(message) = std::move(tuned);
      auto trailers = trailers_of(*kernels_[i], certificate_file(i).lexically_proximate(from).string());
      message.trailers.insert(message.trailers.end(), trailers.begin(), trailers.end());
    }
    message.measured = "The whole application, measured" + report_.where() + ": " +
                       (report_.measured ? report_.measured->text() : "1.000x") + ".";
    for (auto& other : git_.repositories())
      if (other.tree.top() != of.tree.top()) message.also_in.push_back(other.tree.top().filename().string());
    message.branch = report_.branch;
    return shown_lines(without_secrets(message.text()));
  }

  Status commit() {
    auto message = [&](auto& repository) { return commit_message(repository); };
    KERNELIFT_ASSIGN(std::vector<PatchCommit> commits, git_.commit(message, journal_->folder(), r_.run_hooks));
    if (git_.wants_signatures())
      report_.notes.push_back(
          "The commit is not signed although commit.gpgsign is set, because signing may ask for a passphrase; `git "
          "commit --amend --no-edit` signs it.");
    KERNELIFT_TRY(journal_->note_commits(report_.branch, commits));
    Status switched = switch_to(report_.branch, commits);
    if (!switched.ok()) (void)journal_->note_commits("", {});
    else
      for (auto& one : commits) report_.commits.push_back({top_seen_from(r_.root, one.top), one.commit, one.previous});
    return switched;
  }

  Status roll_back(const Stop& stop) {
    report_.outcome = stop.outcome;
    report_.why = stop.why;
    report_.branch.clear(), report_.commits.clear();
    say("rolling back: " + stop.why);
    KERNELIFT_ASSIGN(Restoration restored, journal_->write_originals(original_is_built_));
    for (auto& file : restored.left)
      late_notes_.push_back("Left alone, because it was changed while apply was running: " + file);
    if (original_is_built_) return journal_->finish(false);
    std::string again =
        "The programs may still be those of the patch: `kernelift apply --rollback` builds the original again.";
    if (stop.outcome != ApplyOutcome::Interrupted) {
      auto built = commands_->run("build-rolled-back", r_.build, longest());
      if (built.ok() && built->ok) return journal_->finish(false);
      again = "Building the original again failed; see " + (journal_->folder() / "build-rolled-back.log").string() +
              ". " + again;
    }
    late_notes_.push_back("The sources are restored. " + again);
    if (!restored.left.empty()) return journal_->finish(false);
    if (products_) products_->leave();
    journal_->leave_debt();
    return done();
  }

  const ApplyRequest& r_;
  std::vector<const KernelChange*> kernels_;
  Prediction predicted_;  ///< Of all kernels' changes together.
  ApplyReport report_;
  std::optional<PatchJournal> journal_;
  PatchSeries series_;  ///< One step for each kernel.
  SourcePatch patch_;   ///< The whole of it.
  std::vector<fs::path> paths_, tracked_, roots_;
  std::set<fs::path>
      not_built_;  ///< Files that are also written while no build runs, such as a log: not build products.
  GitTrees git_;
  AppBuild app_build_;
  std::optional<AppCommands> commands_;
  std::optional<BuildProducts> products_;  ///< Until the end: an interruption of the last build needs the original's.
  LaunchCounts launches_;
  std::vector<std::string> late_notes_;
  double check_seconds_ = 0, usual_seconds_ = 0;
  bool original_is_built_ = false;
};

}  // namespace

Result<ApplyReport> apply(const ApplyRequest& request) {
  InterruptGuard guard;
  return Apply(request).run();
}

}  // namespace kernelift::reintegrate
