// `kernelift evaluate`: verdicts on candidates that somebody else made: one JSON object per line, as `export --to json`
// writes them. For scripts, for trying a hand-written version, and for measuring how many candidates per second there are.
#include <chrono>
#include <deque>
#include <fstream>

#include "cli/verbs.h"
#include "sandbox/evaluate/evaluate.h"

namespace fs = std::filesystem;

namespace kernelift::cli {
namespace {

struct Options {
  std::string mep, candidates;
  bool cold = false, separately = false, confirm = false, as_built = false;
  unsigned workers = 0;
  double tolerance = 0;
};

Result<std::vector<Candidate>> read_candidates(const std::string& file) {
  std::ifstream lines(file);
  if (!lines) return usage_error("cannot read " + file);
  std::vector<Candidate> candidates;
  size_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    std::string where = file + ":" + std::to_string(++number);
    if (line.empty()) continue;
    KERNELIFT_ASSIGN(Json json, parse_json(line, where));
    KERNELIFT_ASSIGN(Candidate candidate, candidate_from_json(json, where));
    candidates.push_back(std::move(candidate));
  }
  if (candidates.empty()) return usage_error(file + " holds no candidate; one JSON object per line is expected");
  return candidates;
}

Result<Exit> run(const Options& options, const Context& context) {
  using Clock = std::chrono::steady_clock;
  auto seconds_since = [](Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  auto started = Clock::now();
  std::error_code code;
  fs::path folder = fs::canonical(options.mep, code);
  if (code) return usage_error(options.mep + ": there is no such MEP folder; `kernelift extract` makes one");
  KERNELIFT_ASSIGN(Mep mep, Mep::read(folder));
  KERNELIFT_ASSIGN(auto candidates, read_candidates(options.candidates));
  EvaluatorOptions how;
  how.device = context.device, how.cold = options.cold, how.compile_workers = options.workers;
  how.share_measurements = !options.separately, how.as_built = options.as_built;
  how.few_candidates = candidates.size() < 4;
  if (options.tolerance > 0) how.tolerance = Tolerance{options.tolerance, 0};
  KERNELIFT_ASSIGN(auto evaluator, make_evaluator(mep, folder, how));
  double ready = seconds_since(started);

  auto begin = Clock::now();
  std::map<std::string, int> outcomes;
  Json verdicts = Json::array();
  double best = 0, compile_seconds = 0;
  std::string best_note;
  std::deque<std::pair<const Candidate*, std::future<Verdict>>> flying;
  auto land = [&] {
    auto& [candidate, future] = flying.front();
    Verdict verdict = future.get();
    if (options.confirm && verdict.ok() && verdict.speedup_low() > kSmallestGain) verdict = evaluator->confirm(*candidate);
    ++outcomes[name(verdict.outcome)];
    compile_seconds += verdict.compile_seconds;
    if (verdict.ok() && (best == 0 || verdict.seconds() < best)) best = verdict.seconds(), best_note = candidate->note;
    if (context.json) {
      Json entry = kernelift::to_json(verdict);
      entry["note"] = candidate->note, entry["key"] = candidate->key().hex();
      verdicts.push_back(std::move(entry));
    } else if (context.verbosity > 0 || candidates.size() < 20) {
      context.say(candidate->note + ": " + verdict.text());
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
  std::snprintf(line, sizeof line, "%zu candidates in %.2f s: %.1f per second (%s); ready after %.2f s; %.1f ms of compiling each; best %.2f us%s%s",
                candidates.size(), spent, static_cast<double>(candidates.size()) / spent, words.c_str(), ready,
                1e3 * compile_seconds / static_cast<double>(candidates.size()), best * 1e6, best_note.empty() ? "" : ": ", best_note.c_str());
  context.say(line);
  context.emit({{"candidates", candidates.size()}, {"seconds", spent}, {"ready_seconds", ready},
                {"compile_seconds", compile_seconds}, {"best_seconds", best}, {"best", best_note}, {"outcomes", outcomes},
                {"verdicts", verdicts}});
  return outcomes.contains(name(Outcome::Ok)) ? Exit::Done : Exit::No;
}

Action setup(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("MEP", options->mep, "Folder made by `kernelift extract`")->required();
  app.add_option("CANDIDATES", options->candidates, "File with one candidate per line, as JSON")->required();
  app.add_flag("--cold", options->cold, "Time with caches flushed before every launch");
  app.add_flag("--separately", options->separately, "Measure equal code again instead of once");
  app.add_flag("--as-built", options->as_built, "Time who may be the best as the application's own compiler builds it, as tune does (GPUs)");
  app.add_flag("--confirm", options->confirm, "Confirm who seems to win in a fresh process");
  app.add_option("--workers", options->workers, "Compile workers (default: one per core)");
  app.add_option("--tolerance", options->tolerance, "Relative error that floating-point buffers may have (default: derived)")->check(CLI::PositiveNumber);
  return [options](const Context& context) { return run(*options, context); };
}

}  // namespace

extern const Verb kEvaluate = {"evaluate", "Verdicts on candidates from a file", "kernelift evaluate meps/gemm candidates.jsonl --device cuda", setup};

}  // namespace kernelift::cli
