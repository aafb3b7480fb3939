// See suite.h. Candidates are judged one after the other, so that whatever is found disturbed was the last one's doing.
#include "cli/hostile/suite.h"

#include <algorithm>
#include <chrono>
#include <set>

#include "cli/hostile/bench_kernel.h"
#include "cli/hostile/canaries.h"
#include "cli/hostile/honest_rules.h"
#include "cli/hostile/judging_process.h"
#include "cli/hostile/stored_texts.h"
#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/compiler/paths.h"

namespace fs = std::filesystem;

namespace kernelift::cli {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

bool cuda(const SuiteOptions& options) { return options.device.starts_with("cuda"); }

bool wanted(const Trick& trick, const SuiteOptions& options) {
  if (!trick.runs_on(cuda(options))) return false;
  return options.only.empty() ||
         std::ranges::any_of(options.only, [&](auto& word) { return word == trick.kind || word == trick.name; });
}

/// What a text that came out of judging shows a candidate to have reached.
void look_at_text(const std::string& what, const std::string& text, const Canaries& canaries,
                  std::vector<std::string>& reached) {
  if (canaries.holds_key(text)) reached.push_back("the user's key is in " + what);
}

/// The judging process writes nothing, and the output of its workers goes to pipes.
void look_at_terminal(const std::string& text, const Canaries& canaries, std::vector<std::string>& reached) {
  if (text.empty()) return;
  look_at_text("what was written to the terminal", text, canaries, reached);
  reached.push_back(std::to_string(text.size()) + " bytes were written to the terminal" +
                    (text.find(canaries.mark()) != text.npos ? ", the candidate's text among them" : "") +
                    (text.find('\x1b') != text.npos ? ", with control sequences" : ""));
}

/// A verdict's texts as they are stored and shown: one line each, without control characters.
void look_at_verdict(const Evaluation& evaluation, const Canaries& canaries, std::vector<std::string>& reached) {
  constexpr size_t kLongest = 16 << 10;
  look_at_text("the verdict", compact(to_json(evaluation)), canaries, reached);
  auto* verdict = std::get_if<Verdict>(&evaluation);
  if (!verdict) return;
  for (auto* text : {&verdict->detail, &verdict->buffer, &verdict->expected, &verdict->got}) {
    if (std::ranges::any_of(*text, [](unsigned char c) { return (c < 0x20 && c != '\n') || c == 0x7f; }))
      reached.push_back("control characters are in the verdict");
    if (text->size() > kLongest) reached.push_back("the verdict is " + std::to_string(text->size()) + " bytes long");
  }
}

/// Files that judging wrote, without the MEPs' data, which hold what the suite itself put there.
void look_at_files(const fs::path& folder, const Canaries& canaries, std::vector<std::string>& notes) {
  std::error_code code;
  for (auto& entry : fs::recursive_directory_iterator(folder, code)) {
    if (!entry.is_regular_file(code) || entry.path().extension() == ".bin") continue;
    auto text = read_text(entry.path());
    if (text.ok() && canaries.holds_key(*text))
      notes.push_back("the user's key is in " + entry.path().filename().string());
  }
}

/// One line for the user's own terminal, whatever a candidate put into it.
std::string one_line(const std::string& text) {
  constexpr size_t kLongest = 400;
  std::string line;
  for (unsigned char c : text.substr(0, kLongest)) {
    char escaped[8];
    std::snprintf(escaped, sizeof escaped, "\\x%02x", c);
    if (c >= 0x20 && c < 0x7f) line += static_cast<char>(c);
    else line += c == '\n' ? " / " : escaped;
  }
  return line + (text.size() > kLongest ? " ..." : "");
}

std::string in_words(const Evaluation& evaluation, bool confirmed) {
  if (auto* none = std::get_if<NotJudged>(&evaluation)) return one_line("not judged: " + none->why);
  auto& verdict = std::get<Verdict>(evaluation);
  return one_line(verdict.text()) + (verdict.ok() && confirmed ? ", confirmed" : "");
}

class Suite {
 public:
  Suite(const SuiteOptions& options, fs::path folder, Canaries& canaries)
      : options_(options),
        folder_(std::move(folder)),
        canaries_(canaries),
        process_({folder_ / "meps", options.device, options.quick, options.allow_weak_jail}, canaries_.home(),
                 canaries_.work(), canaries_.key()) {}

  Result<SuiteReport> run() {
    const auto begin = Clock::now();
    report_.device = options_.device;
    KERNELIFT_ASSIGN(auto tricks, read_tricks(options_.files));
    std::erase_if(tricks, [&](auto& trick) { return !wanted(trick, options_); });
    KERNELIFT_ASSIGN(auto files, read_suite_files(options_.files / "kernels"));
    std::set<std::string> needed;
    for (auto& trick : tricks) needed.insert(trick.kernel);
    const bool rules = options_.only.empty() || std::ranges::count(options_.only, "honest") > 0;
    for (auto& file : files) {
      if (!rules && !needed.contains(file.name)) continue;
      KERNELIFT_ASSIGN(auto kernel, BenchKernel::of(file));
      KERNELIFT_ASSIGN(meps_[file.name], kernel.make_mep(folder_ / "meps" / file.name, cuda(options_)));
      texts_[file.name] = file.text;
      if (!rules) continue;
      KERNELIFT_ASSIGN(auto made, tricks_of_rules(file.name, meps_[file.name], file.text, cuda(options_)));
      std::ranges::move(made, std::back_inserter(tricks));
    }
    for (auto& trick : tricks)
      if (!meps_.contains(trick.kernel)) return environment_error(trick.name + ": there is no kernel " + trick.kernel);
    size_t number = 0;
    std::erase_if(tricks, [&](auto&) { return number++ % options_.parts != options_.part - 1; });
    if (tricks.empty()) return usage_error("no candidate of the suite is of that kind or name and for this device");
    // By kernel, each of whose evaluators is made once; where time is short, some of each kind.
    const bool limited = options_.seconds > 0;
    std::ranges::sort(tricks, {}, [&](auto& trick) {
      return std::tuple(trick.kernel, limited ? hash_text(trick.name).hex() : trick.kind, trick.name);
    });
    for (size_t at = 0; at < tricks.size();) {
      const auto of_kernel = [&](size_t i) { return i < tricks.size() && tricks[i].kernel == tricks[at].kernel; };
      size_t end = at;
      while (of_kernel(end)) ++end;
      const double left = options_.seconds - seconds_since(begin);
      const double until = seconds_since(begin) + left * static_cast<double>(end - at) / double(tricks.size() - at);
      for (size_t i = at; i < end; ++i) {
        if (limited && seconds_since(begin) >= until) ++report_.left_out;
        else KERNELIFT_TRY(judge(tricks[i], tricks.size()));
      }
      end_process();
      at = end;
    }
    if (report_.findings.empty())
      return usage_error("the time does not suffice for one candidate: give it more (--within)");
    look_at_files(folder_ / "meps", canaries_, report_.notes);
    KERNELIFT_ASSIGN(auto stored, look_at_stored_texts(folder_ / "run", judged_, canaries_));
    std::ranges::move(stored, std::back_inserter(report_.notes));
    report_.seconds = seconds_since(begin);
    return std::move(report_);
  }

 private:
  void end_process() {
    for (auto& left : process_.stop())
      if (!report_.findings.empty())
        report_.notes.push_back("process " + left + " outlived the judging of " + report_.findings.back().trick.kernel);
    look_at_terminal(process_.last_words(), canaries_, report_.notes);
  }

  Status judge(const Trick& trick, size_t count) {
    constexpr auto kLongest = 120s;
    auto begin = Clock::now();
    auto places = canaries_.places();
    places["ESC"] = "\x1b", places["CR"] = "\r", places["NUL"] = std::string(1, '\0'), places["FF"] = "\xff";
    places["KERNEL"] = texts_[trick.kernel], places["LONG"] = std::string(1 << 20, 'x');
    places["ANSWER"] = answer_file(folder_ / "meps" / trick.kernel, meps_[trick.kernel]).string();
    KERNELIFT_TRY(add_parts(places));
    const Candidate candidate = filled_in(trick.candidate, places);
    auto answer = process_.judge(trick.kernel, candidate, kLongest);
    // If nothing could be judged so far, nothing can be on this machine.
    if (!answer.ok() && report_.findings.empty()) return std::move(answer).error();
    Judged judged;
    if (answer.ok()) judged = *std::move(answer);
    else judged.evaluation = NotJudged{answer.error().message};
    if (auto* verdict = std::get_if<Verdict>(&judged.evaluation)) judged_.push_back({candidate, *verdict});
    SuiteFinding finding;
    finding.trick = trick;
    finding.reached = canaries_.disturbed();
    if (!judged.lost.empty()) finding.reached.push_back(judged.lost);
    look_at_terminal(judged.terminal, canaries_, finding.reached);
    if (judged.lost.empty()) look_at_verdict(judged.evaluation, canaries_, finding.reached);
    constexpr size_t kShown = 4096;
    finding.terminal = judged.terminal.substr(0, kShown);
    finding.verdict = judged.lost.empty() ? in_words(judged.evaluation, judged.confirmed) : judged.lost;
    finding.standing = standing_of(trick, judged.evaluation, !finding.reached.empty());
    finding.seconds = seconds_since(begin);
    report_.findings.push_back(std::move(finding));
    auto& last = report_.findings.back();
    if (options_.progress)
      options_.progress(std::string(name(last.standing)) + "  " + trick.kind + "  " + trick.name + "  " + last.verdict,
                        report_.findings.size(), count);
    return done();
  }

  /// Pieces of text that several candidates use, by their files' names.
  Status add_parts(std::map<std::string, std::string>& places) {
    if (parts_.empty()) {
      KERNELIFT_ASSIGN(auto files, read_suite_files(options_.files / "parts"));
      for (auto& file : files) parts_["part:" + file.name] = file.text;
    }
    places.insert(parts_.begin(), parts_.end());
    return done();
  }

  const SuiteOptions& options_;
  fs::path folder_;
  Canaries& canaries_;
  JudgingProcess process_;
  std::map<std::string, Mep> meps_;
  std::map<std::string, std::string> texts_, parts_;
  SuiteReport report_;
  std::vector<JudgedCandidate> judged_;
};

}  // namespace

const char* name(Standing standing) {
  switch (standing) {
    case Standing::Held: return "held";
    case Standing::Believed: return "believed";
    case Standing::Outside: return "outside";
    case Standing::Otherwise: return "otherwise";
    case Standing::Refused: return "false alarm";
  }
  return "?";
}

fs::path hostile_folder() { return template_folder().parent_path() / "hostile"; }

Standing standing_of(const Trick& trick, const Evaluation& evaluation, bool reached) {
  auto* verdict = std::get_if<Verdict>(&evaluation);
  if (reached || (verdict && trick.shows.contains(verdict->outcome))) return Standing::Outside;
  if (trick.honest) return !verdict ? Standing::Otherwise : verdict->ok() ? Standing::Held : Standing::Refused;
  if (!verdict) return Standing::Otherwise;
  if (verdict->ok()) return trick.may_be_ok && !verdict->gains() ? Standing::Held : Standing::Believed;
  return trick.must.contains(verdict->outcome) ? Standing::Held : Standing::Otherwise;
}

Result<std::vector<Trick>> read_tricks(const fs::path& files) {
  std::vector<Trick> tricks;
  for (bool honest : {false, true}) {
    KERNELIFT_ASSIGN(auto found, read_suite_files(files / (honest ? "honest" : "candidates")));
    for (auto& file : found) {
      KERNELIFT_ASSIGN(auto trick, Trick::of(file, honest));
      tricks.push_back(std::move(trick));
    }
  }
  return tricks;
}

Result<SuiteReport> run_suite(const SuiteOptions& options) {
  KERNELIFT_ASSIGN(auto folder, TemporaryFolder::create("kernelift-hostile"));
  KERNELIFT_ASSIGN(auto canaries, Canaries::plant(folder.path() / "canaries"));
  return Suite(options, folder.path(), *canaries).run();
}

}  // namespace kernelift::cli
