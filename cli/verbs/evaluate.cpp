// `kernelift evaluate`: judges candidates from files: kernels written by hand, one per file, or JSON objects, one per
// line (docs/formats.md). Used for trying an idea, in scripts, and for measuring how many candidates are judged per
// second.
#include <chrono>
#include <deque>

#include "cli/judging/candidate_stream.h"
#include "cli/judging/certificate_check.h"
#include "cli/mep_addresses.h"
#include "cli/mep_folder.h"
#include "cli/verbs.h"
#include "core/base/file.h"
#include "sandbox/evaluate/evaluate.h"
#include "tuner/space/kernel_template.h"
#include "tuner/tuner.h"

namespace fs = std::filesystem;

namespace kernelift::cli {
namespace {

/// Fewer candidates than this are reported one by one; for more, only the summary is printed, except with -v.
constexpr size_t kFew = 20;

struct Options {
  std::string mep;
  std::vector<std::string> files;
  std::string certificate;
  bool cold = false, separately = false, confirm = false, as_built = false, stream = false, keep = false;
  bool allow_weak_jail = false;
  unsigned workers = 0;
  double tolerance = 0;
};

struct Candidates {
  std::vector<Candidate> all;
  bool by_hand = false;  ///< At least one is a kernel written by hand, whose gain is confirmed without --confirm.
};

Result<Candidate> candidate_of(const Json& json, const std::string& where, const Mep& mep,
                               const std::string& original) {
  KERNELIFT_ASSIGN(Candidate candidate, candidate_from_json(json, where));
  auto setting = tuner::setting_as_given(mep, original, std::move(candidate));
  if (!setting.ok()) return std::move(setting).error().in(where);
  return setting;
}

Result<Candidate> read_line(const std::string& line, const std::string& where, const Mep& mep,
                            const std::string& original) {
  KERNELIFT_ASSIGN(Json json, parse_json(line, where));
  return candidate_of(json, where, mep, original);
}

Status add(Result<Candidate> candidate, const std::string& where, Candidates& into) {
  if (!candidate.ok()) return usage_error(candidate.error().message);  // A user's file, hence a usage error.
  if (candidate->steps.empty()) candidate->steps = {Step::described(where)};
  into.all.push_back(*std::move(candidate));
  return done();
}

/// A list of candidates: `[{…}, {…}]`.
Status read_list(const std::string& file, const std::string& text, const Mep& mep, const std::string& original,
                 Candidates& into) {
  auto list = parse_json(text, file);
  if (!list.ok()) return usage_error(list.error().message);
  for (size_t at = 0; at < list->size(); ++at) {
    const std::string where = file + ", candidate " + std::to_string(at + 1);
    KERNELIFT_TRY(add(candidate_of((*list)[at], where, mep, original), where, into));
  }
  return done();
}

Status read_lines(const std::string& file, const std::string& text, const Mep& mep, const std::string& original,
                  Candidates& into) {
  size_t number = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::string where = file + ":" + std::to_string(++number);
    if (line.empty()) continue;
    KERNELIFT_TRY(add(read_line(line, where, mep, original), where, into));
  }
  return done();
}

/// A kernel written by hand; what it declares for tuning says how it is launched (docs/templates.md).
Result<Candidate> candidate_by_hand(const std::string& file, std::string text, const Mep& mep,
                                    const std::string& original) {
  Candidate candidate;
  if (tuner::is_template(text)) {
    auto made = tuner::candidate_of_template(mep, original, text, file);
    if (!made.ok()) return std::move(made).error().in(file);
    candidate = *std::move(made);
  } else {
    candidate.source = std::move(text), candidate.tier = "source", candidate.steps = {Step::described(file)};
    auto launched = tuner::setting_as_given(mep, original, std::move(candidate));
    if (!launched.ok()) return std::move(launched).error().in(file);
    candidate = *std::move(launched);
  }
  candidate.proposer = "hand";
  return candidate;
}

/// A file that begins with a brace is JSON, a line for each candidate, or one that begins with `[{`, a list of them; no
/// kernel's source begins so.
Result<Candidates> read_candidates(const std::vector<std::string>& files, const Mep& mep, const fs::path& folder) {
  Candidates read;
  KERNELIFT_ASSIGN(const Candidate original, tuner::original_candidate(mep, folder));
  for (auto& file : files) {
    auto text = read_text(file);
    if (!text.ok()) return usage_error("cannot read " + file);
    size_t first = text->find_first_not_of(" \t\r\n");
    if (first == text->npos)
      return usage_error(
          file + " is empty; it must contain a kernel's source, or candidates as JSON: one object per line, or a list");
    const size_t second = (*text)[first] == '[' ? text->find_first_not_of(" \t\r\n", first + 1) : text->npos;
    if ((*text)[first] == '{' || (second != text->npos && (*text)[second] == '{')) {
      auto read_json = (*text)[first] == '{' ? read_lines : read_list;
      KERNELIFT_TRY(read_json(file, *text, mep, original.source, read));
      continue;
    }
    KERNELIFT_ASSIGN(Candidate candidate, candidate_by_hand(file, *std::move(text), mep, original.source));
    read.all.push_back(std::move(candidate)), read.by_hand = true;
  }
  return read;
}

/// The evaluation in words for the author of a kernel: the outcome, and how certain it is.
std::string in_words(const Evaluation& evaluation, bool confirmed) {
  if (auto* none = std::get_if<NotJudged>(&evaluation))
    return "could not be judged (not the candidate's fault): " + none->why;
  const Verdict& verdict = std::get<Verdict>(evaluation);
  if (!verdict.ok()) return verdict.text();
  bool gained = verdict.gains(), lost = verdict.speedup_high() < 1;
  char figures[160];
  std::snprintf(figures, sizeof figures, "%.3fx [%.3f, %.3f], %.1f us (%s)", verdict.speedup(), verdict.speedup_low(),
                verdict.speedup_high(), verdict.seconds() * 1e6, verdict.device.c_str());
  return std::string("correct, ") +
         (gained ? "faster: "
          : lost ? "slower: "
                 : "no significant speedup: ") +
         figures + (gained ? confirmed ? ", confirmed in a fresh process" : ", not confirmed (see --confirm)" : "");
}

Result<Exit> run(const Options& options, const Context& context) {
  using Clock = std::chrono::steady_clock;
  auto seconds_since = [](Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
  };
  auto started = Clock::now();
  KERNELIFT_ASSIGN(fs::path folder, find_mep(options.mep, context.state_folder()));
  KERNELIFT_ASSIGN(Mep mep, Mep::read(folder));
  restart_if_addresses_taken(mep, context);
  if (int(!options.files.empty()) + int(!options.certificate.empty()) + int(options.stream) != 1)
    return usage_error("name files with candidates, or a certificate (--certificate FILE), or give --stream");
  sandbox::EvaluatorOptions how;
  how.device = context.device, how.cold = options.cold, how.compile_workers = options.workers;
  how.share_measurements = !options.separately, how.as_built = options.as_built || !options.certificate.empty();
  how.allow_weak_jail = options.allow_weak_jail;
  if (options.tolerance > 0) how.tolerance = Tolerance{options.tolerance, 0};
  if (options.keep && (options.cold || !options.certificate.empty()))
    return usage_error(
        "a run holds figures of a search, which times with warm caches: --keep goes with neither --cold "
        "nor --certificate");
  if (!options.certificate.empty()) return check_certificate(mep, folder, options.certificate, how, context);
  std::optional<JudgedRun> kept;
  auto open_run = [&](Evaluator& evaluator) -> Status {
    if (options.keep) {
      KERNELIFT_ASSIGN(kept, JudgedRun::of(mep, folder, options.tolerance, evaluator, context));
    }
    return done();
  };
  if (options.stream) {
    KERNELIFT_ASSIGN(auto evaluator, make_evaluator(mep, folder, how));
    KERNELIFT_TRY(open_run(*evaluator));
    context.emit_line({{"format", "kernelift-evaluations"},
                       {"version", 1},
                       {"oldest_reader", 1},
                       {"kernel", mep.kernel_name},
                       {"ready_seconds", seconds_since(started)}});
    KERNELIFT_ASSIGN(const Candidate original, tuner::original_candidate(mep, folder));
    return judge_stream(*evaluator, mep, original.source, kept ? &*kept : nullptr, context);
  }
  KERNELIFT_ASSIGN(auto read, read_candidates(options.files, mep, folder));
  std::vector<Candidate>& candidates = read.all;
  bool confirm = options.confirm || read.by_hand;
  how.few_candidates = candidates.size() < 4;
  context.progress("compiling and measuring the original");
  auto made = make_evaluator(mep, folder, how);
  context.progress("");
  KERNELIFT_ASSIGN(auto evaluator, std::move(made));
  KERNELIFT_TRY(open_run(*evaluator));
  double ready = seconds_since(started);

  auto begin = Clock::now();
  std::map<std::string, int> outcomes;
  Status not_kept;
  Json verdicts = Json::array();
  double best = 0, compile_seconds = 0;
  std::string best_note;
  std::deque<std::pair<const Candidate*, std::future<Evaluation>>> flying;
  auto land = [&] {
    auto& [candidate, future] = flying.front();
    context.progress("judging " + candidate->note());
    Evaluation evaluation = future.get();
    const bool confirms = confirm && is_right(evaluation);
    std::optional<Evaluation> screened;
    if (kept && confirms) screened = evaluation;
    if (confirms) context.progress("confirming " + candidate->note() + " in a fresh process, and at other sizes");
    if (confirm) evaluation = confirmed(*evaluator, std::move(evaluation), *candidate);
    else if (options.as_built) evaluation = evaluator->with_other_sizes(std::move(evaluation), *candidate);
    context.progress("");
    auto* verdict = std::get_if<Verdict>(&evaluation);
    int64_t trial = 0;
    if (kept) {
      auto stored = kept->keep(*candidate, screened ? *screened : evaluation,
                               screened ? std::optional(evaluation) : std::nullopt);
      if (stored.ok()) trial = *stored;
      else if (not_kept.ok()) not_kept = stored.error();
    }
    ++outcomes[verdict ? name(verdict->outcome) : kNotJudged];
    if (verdict) compile_seconds += verdict->compile_seconds;
    if (verdict && verdict->ok() && (best == 0 || verdict->seconds() < best))
      best = verdict->seconds(), best_note = candidate->note();
    if (context.json) {
      Json entry = kernelift::to_json(evaluation);
      entry["note"] = candidate->note(), entry["key"] = candidate->key().hex();
      if (trial > 0) entry["trial"] = trial;
      verdicts.push_back(std::move(entry));
    } else if (context.verbosity > 0 || candidates.size() < kFew) {
      context.say(candidate->note() + ": " + in_words(evaluation, confirm) +
                  (trial > 0 ? " (#" + std::to_string(trial) + ")" : ""));
      for (auto& line : verdict ? verdict->beyond_recorded() : std::vector<std::string>()) context.say("  " + line);
    }
    flying.pop_front();
  };
  for (auto& candidate : candidates) {
    while (static_cast<int>(flying.size()) >= evaluator->parallelism()) land();
    flying.push_back({&candidate, evaluator->submit(candidate)});
  }
  while (!flying.empty()) land();
  double spent = seconds_since(begin);

  std::string words;
  for (auto& [outcome, count] : outcomes) words += (words.empty() ? "" : ", ") + std::to_string(count) + " " + outcome;
  char line[320];
  std::snprintf(
      line, sizeof line,
      "%zu candidates in %.2f s: %.1f per second (%s); evaluator ready after %.2f s; compile time %.1f ms each; best "
      "%.2f us%s%s",
      candidates.size(), spent, static_cast<double>(candidates.size()) / spent, words.c_str(), ready,
      1e3 * compile_seconds / static_cast<double>(candidates.size()), best * 1e6, best_note.empty() ? "" : ": ",
      best_note.c_str());
  if (context.verbosity > 0 || candidates.size() >= kFew) context.say(line);
  if (kept && !kept->file().empty())
    context.say("Kept in " + kept->file().string() + ": kernelift apply " + kept->file().filename().string() +
                " [--candidate NUMBER]");
  Json document = {{"candidates", candidates.size()},
                   {"seconds", spent},
                   {"ready_seconds", ready},
                   {"compile_seconds", compile_seconds},
                   {"best_seconds", best},
                   {"best", best_note},
                   {"outcomes", outcomes},
                   {"verdicts", verdicts}};
  if (kept && !kept->file().empty()) document["run"] = kept->file().string();
  context.emit(document);
  KERNELIFT_TRY(not_kept);
  return outcomes.contains(name(Outcome::Ok)) ? Exit::Done : Exit::No;
}

Action setup(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("MEP", options->mep, "Folder made by `kernelift extract`, or its kernel's name")->required();
  app.add_option("CANDIDATES", options->files,
                 "Kernels written by hand, each a complete file like MEP/kernel.cu; or files with one JSON object per "
                 "line (docs/formats.md)");
  app.add_option("--certificate", options->certificate,
                 "Confirm the candidate of this certificate, which `kernelift apply` leaves beside a patch, and say "
                 "what agrees with it");
  app.add_flag("--stream", options->stream,
               "Judge candidates as they come in on stdin, with an evaluator that stays up (docs/formats.md)");
  app.add_flag("--keep", options->keep,
               "Keep what is timed in a run, from which apply, report and further tuning go on");
  app.add_flag("--cold", options->cold, "Time with caches flushed before every launch");
  app.add_flag("--separately", options->separately,
               "Time every candidate, even if its machine code is identical to another's");
  app.add_flag(
      "--as-built", options->as_built,
      "Build and time the most promising candidates with the application's own compiler too, as tune does (GPUs)");
  app.add_flag("--confirm", options->confirm,
               "Measure candidates with a gain again in a fresh process (always done for kernels written by hand)");
  add_allow_weak_jail(app, options->allow_weak_jail);
  app.add_option("--workers", options->workers, "Number of compile workers (default: one per core)");
  app.add_option("--tolerance", options->tolerance,
                 "Largest relative error accepted in floating-point buffers (default: derived from the original)")
      ->check(CLI::PositiveNumber);
  return [options](const Context& context) { return run(*options, context); };
}

}  // namespace

const Verb kEvaluate = {"evaluate", "Judge kernels that you changed by hand: correct? faster, and by how much?",
                        "cp .kernelift/mep/smooth-*/kernel.cu mine.cu   # then change it\n"
                        "  kernelift evaluate smooth mine.cu",
                        setup};

}  // namespace kernelift::cli
