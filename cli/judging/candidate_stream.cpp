// See candidate_stream.h. Of one request as many candidates are in flight as the evaluator can use: they are compiled
// beside each other, and measured one after the other.
#include "cli/judging/candidate_stream.h"

#include <algorithm>
#include <deque>
#include <iostream>

#include "tuner/space/kernel_template.h"

namespace kernelift::cli {
namespace {

constexpr const char* kDepthNames[] = {"verify", "screen", "confirm"};

struct Request {
  Depth depth = Depth::Screen;
  std::vector<Candidate> candidates;
};

Result<Candidate> read_candidate(const Json& json, const std::string& where, const Mep& mep,
                                 const std::string& original) {
  KERNELIFT_ASSIGN(Candidate candidate, candidate_from_json(json, where));
  auto setting = tuner::setting_as_given(mep, original, std::move(candidate));
  if (!setting.ok()) return std::move(setting).error().in(where);
  return setting;
}

Result<Request> read_request(const std::string& line, const std::string& where, const Mep& mep,
                             const std::string& original) {
  KERNELIFT_ASSIGN(Json json, parse_json(line, where));
  Request request;
  Status status;
  auto read = reading(
      where,
      [&] {
        const std::string depth = json.at("depth");
        if (auto known = depth_from_name(depth)) request.depth = *known;
        else malformed("depth is verify, screen or confirm, not '" + depth + "'");
        for (auto& one : json.at("candidates")) {
          const std::string place = where + ", candidates[" + std::to_string(request.candidates.size()) + "]";
          auto candidate = read_candidate(one, place, mep, original);
          if (!candidate.ok()) {
            status = std::move(candidate).error();
            return false;
          }
          request.candidates.push_back(*std::move(candidate));
        }
        return true;
      },
      "");
  KERNELIFT_TRY(status);
  if (!read.ok()) return std::move(read).error();
  return request;
}

/// Adds to the answer where the candidate is kept, or why it is not.
void keep(JudgedRun& run, const Candidate& candidate, const Evaluation& screened,
          const std::optional<Evaluation>& confirmed, Json& line) {
  auto trial = run.keep(candidate, screened, confirmed);
  if (!trial.ok()) line["not_kept"] = trial.error().message;
  else if (*trial > 0) line["run"] = run.file().string(), line["trial"] = *trial;
}

bool gains(const Evaluation& evaluation) { return is_right(evaluation) && std::get<Verdict>(evaluation).gains(); }

void answer(Evaluator& evaluator, const Request& request, size_t number, JudgedRun* run, const Context& context) {
  std::deque<std::future<Evaluation>> flying;
  size_t next = 0;
  auto submit_more = [&] {
    while (next < request.candidates.size() && static_cast<int>(flying.size()) < evaluator.parallelism())
      flying.push_back(evaluator.submit(request.candidates[next++]));
  };
  for (size_t i = 0; i < request.candidates.size(); ++i) {
    const Candidate& candidate = request.candidates[i];
    Evaluation evaluation, screened;
    bool confirms = false;
    if (request.depth == Depth::Verify) {
      evaluation = evaluator.verify(candidate);
    } else {
      submit_more();
      evaluation = flying.front().get();
      flying.pop_front();
      confirms = request.depth == Depth::Confirm && is_right(evaluation);
      if (confirms) screened = evaluation;
      evaluation = request.depth == Depth::Confirm ? confirmed(evaluator, std::move(evaluation), candidate)
                                                   : evaluator.with_other_sizes(std::move(evaluation), candidate);
    }
    Json line = {{"request", number},
                 {"candidate", i},
                 {"key", candidate.key().hex()},
                 {"confirmed", confirms && gains(evaluation)},
                 {"evaluation", kernelift::to_json(evaluation)}};
    if (tuner::is_template(candidate.source)) line["setting"] = candidate.values;
    if (run && request.depth != Depth::Verify)
      keep(*run, candidate, confirms ? screened : evaluation, confirms ? std::optional(evaluation) : std::nullopt,
           line);
    context.emit_line(line);
  }
  if (run) run->release();
}

}  // namespace

bool is_right(const Evaluation& evaluation) {
  auto* verdict = std::get_if<Verdict>(&evaluation);
  return verdict && verdict->ok();
}

const char* name(Depth depth) { return kDepthNames[static_cast<size_t>(depth)]; }

std::optional<Depth> depth_from_name(const std::string& text) {
  auto found = std::ranges::find(kDepthNames, text);
  if (found == std::end(kDepthNames)) return std::nullopt;
  return static_cast<Depth>(found - std::begin(kDepthNames));
}

Evaluation confirmed(Evaluator& evaluator, Evaluation screened, const Candidate& candidate) {
  // Whoever wrote it wants to know whether it is right, also where it is no faster.
  if (is_right(screened)) return evaluator.confirm(candidate);
  return evaluator.with_formulas(
      evaluator.with_checks(evaluator.with_other_sizes(std::move(screened), candidate), candidate), candidate);
}

Exit judge_stream(Evaluator& evaluator, const Mep& mep, const std::string& original, JudgedRun* run,
                  const Context& context) {
  size_t number = 0;
  for (std::string line; std::getline(std::cin, line);) {
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    auto request = read_request(line, "request " + std::to_string(++number), mep, original);
    if (request.ok()) answer(evaluator, *request, number, run, context);
    else context.emit_line({{"request", number}, {"error", request.error().message}});
  }
  return Exit::Done;
}

}  // namespace kernelift::cli
