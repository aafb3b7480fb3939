// The tools that judge candidates: `check` and `evaluate`.
#include "cli/mcp/descriptions.h"
#include "cli/mcp/judgement.h"
#include "cli/mcp/toolbox.h"
#include "core/base/file.h"
#include "core/base/json_member.h"
#include "tuner/space/kernel_template.h"
#include "tuner/tuner.h"

namespace fs = std::filesystem;

namespace kernelift::cli::mcp {
namespace {

/// As candidate_from_json() reads it, from what a client wrote.
Result<Json> candidate_json(const Json& given, const Application& application, const Mep& mep, const fs::path& folder,
                            const std::string& original, const std::string& place) {
  Json candidate = Json::object();
  if (given.contains("source") && given.contains("file"))
    return usage_error(place + " has either a source or a file, not both");
  if (given.contains("source")) {
    candidate["source"] = given["source"];
  } else {
    fs::path file = folder / mep.kernel_file();
    if (given.contains("file")) {
      KERNELIFT_ASSIGN(file, application.inside(text_member(given, "file")));
    }
    KERNELIFT_ASSIGN(std::string text, read_regular_text(file, kLongestSource));
    candidate["source"] = std::move(text);
  }
  for (const char* key : {"launches", "scratch", "values"})
    if (given.contains(key)) candidate[key] = given[key];
  candidate["tier"] = "source", candidate["proposer"] = "agent", candidate["note"] = text_member(given, "name");
  KERNELIFT_ASSIGN(Candidate read, candidate_from_json(candidate, place));
  if (auto setting = tuner::setting_as_given(mep, original, std::move(read)); !setting.ok())
    return std::move(setting).error().in(place);
  return candidate;
}

/// One line of the answer.
Json result_of(const Call& call, size_t index, const Json& judged) {
  Json result = {{"candidate", index}};
  const std::string name = text_member(call.arguments["candidates"][index], "name");
  if (!name.empty()) result["name"] = name;
  result.update(judged);
  return result;
}

}  // namespace

void Toolbox::judge(const std::string& tool, Depth depth, const CallPointer& call) {
  if (std::string other = occupied(); !other.empty()) return call->fail(other);
  auto folder = application_.mep_folder(text_member(call->arguments, "kernel"));
  if (!folder.ok()) return call->fail(folder.error().message);
  auto mep = Mep::read(*folder);
  if (!mep.ok()) return call->fail(mep.error().message);
  auto original = read_text(*folder / mep->kernel_file());
  if (!original.ok()) return call->fail(original.error().message);
  const Json& given = call->arguments.at("candidates");
  Json candidates = Json::array();
  auto results = std::make_shared<Json>(Json::array());
  std::vector<size_t> places;  // Of those that can be judged, among all.
  for (size_t i = 0; i < given.size(); ++i) {
    auto one =
        candidate_json(given[i], application_, *mep, *folder, *original, "candidates[" + std::to_string(i) + "]");
    if (one.ok()) places.push_back(i), candidates.push_back(*std::move(one));
    else results->push_back(result_of(*call, i, {{"verdict", kNotJudged}, {"says", one.error().message}}));
  }
  auto hash = tuner::hash_mep(*folder, *mep);
  if (!hash.ok()) return call->fail(hash.error().message);
  const size_t count = given.size();
  if (candidates.empty()) return call->fail(text_member((*results)[0], "says"));
  JudgeRequest request;
  request.mep = *folder, request.mep_hash = *hash, request.depth = depth, request.candidates = std::move(candidates);
  request.note = [call](const std::string& line) { call->progress(line, 0); };
  auto kept = std::make_shared<std::string>();
  request.judged = [call, results, count, places, kept](size_t number, const Json& line) {
    const size_t index = places[number];
    auto evaluation = line.contains("evaluation") ? evaluation_from_json(line["evaluation"], "the evaluator")
                                                  : Result<Evaluation>(environment_error("the evaluator said nothing"));
    Json judged = evaluation.ok() ? judgement_of(*evaluation, line.value("confirmed", false))
                                  : Json{{"verdict", kNotJudged}, {"says", evaluation.error().message}};
    if (auto setting = line.find("setting"); setting != line.end()) judged["setting"] = *setting;
    for (const char* key : {"trial", "not_kept"})
      if (auto found = line.find(key); found != line.end()) judged[key] = *found;
    if (auto run = text_member(line, "run"); !run.empty()) *kept = fs::path(run).filename().string();
    results->push_back(result_of(*call, index, judged));
    call->progress("candidate " + std::to_string(index) + ": " + text_member(judged, "says"),
                   static_cast<double>(index + 1), static_cast<double>(count));
  };
  const auto begun = EventLoop::Clock::now();
  request.over = [=, this, kernel = mep->kernel_name](const std::string& error) {
    if (!error.empty()) return call->fail(error);
    Json document = {{"kernel", kernel},
                     {"mep", folder->filename().string()},
                     {"took_seconds", std::chrono::duration<double>(EventLoop::Clock::now() - begun).count()}};
    if (!kept->empty()) document["run"] = *kept;
    document["results"] = *results;
    answer(call, tool, document);
  };
  const uint64_t number = judge_.ask(std::move(request));
  if (!call->over()) call->on_cancel = [this, number] { judge_.withdraw(number); };
}

}  // namespace kernelift::cli::mcp
