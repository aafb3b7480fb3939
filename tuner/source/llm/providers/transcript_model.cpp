// See transcript_model.h.
#include "tuner/source/llm/providers/transcript_model.h"

#include <algorithm>
#include <sstream>

#include "core/base/file.h"
#include "core/base/json_member.h"
#include "core/base/shown/secrets.h"

namespace fs = std::filesystem;

namespace kernelift::tuner {
namespace {

/// Asked beside all ideas (llm/start/start_proposer.h).
constexpr std::string_view kStart = "start";

Json messages_json(const ModelRequest& request) {
  Json messages = Json::array();
  for (auto& message : request.messages)
    messages.push_back({{"role", message.from_model ? "assistant" : "user"}, {"text", message.text}});
  return messages;
}

/// An answer alone, as people write it into a folder of exchange:, in distinction from an exchange as it was recorded.
bool is_answer(const fs::path& file) { return file.string().ends_with(".answer.md"); }

Hash hash_of(const Json& system, const Json& messages) {
  // As it is written: bytes that are no UTF-8 are replaced there.
  return hash_text(Json{system, messages}.dump(-1, ' ', true, Json::error_handler_t::replace));
}

}  // namespace

Json transcript_json(const ModelRequest& request, const Result<ChatAnswer>& answer) {
  Json json{{"kind", request.kind}, {"system", request.system}, {"messages", messages_json(request)}};
  if (!answer.ok()) {
    json["error"] = answer.error().message;
    return json;
  }
  json["answer"] = answer->text, json["input_tokens"] = answer->input_tokens;
  json["output_tokens"] = answer->output_tokens, json["cut_off"] = answer->cut_off;
  json["refused"] = answer->refused, json["called_tool"] = answer->called_tool, json["remark"] = answer->remark;
  return json;
}

Status TranscriptModel::add(const Json& transcript, const std::string& where) {
  auto read = reading("transcript " + where, [&] {
    Recorded one;
    one.prompt = hash_of(transcript.at("system"), transcript.at("messages"));
    one.request = {transcript.value("kind", ""), transcript.value("base", ""),
                   whole_member<int64_t>(transcript, "card").value_or(0)};
    if (transcript.contains("seconds")) one.seconds = number_member(transcript, "seconds");
    one.error = transcript.value("error", "");
    one.answer.text = transcript.value("answer", "");
    one.answer.input_tokens = whole_member<int64_t>(transcript, "input_tokens").value_or(0);
    one.answer.output_tokens = whole_member<int64_t>(transcript, "output_tokens").value_or(0);
    one.answer.cut_off = transcript.value("cut_off", false);
    one.answer.refused = transcript.value("refused", false);
    one.answer.called_tool = transcript.value("called_tool", "");
    return one;
  });
  if (!read.ok()) return std::move(read).error();
  recorded_.push_back(*std::move(read));
  return done();
}

Result<std::unique_ptr<LanguageModel>> TranscriptModel::open(const fs::path& path) {
  std::unique_ptr<TranscriptModel> model(new TranscriptModel());
  std::vector<fs::path> files;
  std::error_code error;
  if (fs::is_directory(path, error)) {
    for (auto& file : paths_in(path))
      if (file.extension() == ".json" || is_answer(file)) files.push_back(file);
  } else {
    files.push_back(path);
  }
  for (auto& file : files) {
    KERNELIFT_ASSIGN(std::string text, read_text(file));
    if (is_answer(file)) {
      Recorded& alone = model->recorded_.emplace_back();
      alone.request = {"optimise", "", 0, true}, alone.answer.text = std::move(text);
      continue;
    }
    std::istringstream rest(text);
    while (rest >> std::ws && !rest.eof()) {
      Json transcript;
      auto parsed = reading("transcript " + file.string(), [&] {
        rest >> transcript;
        return true;
      });
      if (!parsed.ok()) return std::move(parsed).error();
      KERNELIFT_TRY(model->add(transcript, file.string()));
    }
  }
  if (model->recorded_.empty()) return environment_error("--llm transcript: no exchange is in " + path.string());
  return std::unique_ptr<LanguageModel>(std::move(model));
}

ModelReply TranscriptModel::ask(const ModelRequest& request, const CallLimits&, const std::atomic<bool>&) {
  // As it is kept: without secrets.
  const Json kept = json_without_secrets(transcript_json(request, ChatAnswer{}));
  const Hash prompt = hash_of(kept["system"], kept["messages"]);
  auto same = [&](auto& one) { return one.prompt && *one.prompt == prompt; };
  auto found = std::ranges::find_if(recorded_, [&](auto& one) { return same(one) && !one.used; });
  if (found == recorded_.end()) found = std::ranges::find_if(recorded_, same);
  const bool in_order = found == recorded_.end();
  if (in_order)
    found = std::ranges::find_if(recorded_, [&](auto& one) { return !one.used && one.request.kind == request.kind; });
  if (found == recorded_.end() && request.kind != kStart)
    found = std::ranges::find_if(recorded_, [](auto& one) { return !one.used && one.request.kind != kStart; });
  if (found == recorded_.end()) return {answer_is_no("the transcript has no further answer"), 0, true};
  found->used = true;
  if (!found->error.empty()) return {environment_error("as recorded: " + found->error), 1, false, found->seconds};
  ChatAnswer answer = found->answer;
  answer.text = without_secrets(std::move(answer.text));
  if (in_order && found->prompt)
    answer.remark = "a prompt differs from the recorded ones: it got the next recorded answer in order";
  return {std::move(answer), 1, false, found->seconds};
}

bool TranscriptModel::answers(const std::string& kind) const {
  return kind != kStart || std::ranges::any_of(recorded_, [](auto& one) { return one.request.kind == kStart; });
}

std::optional<RecordedRequest> TranscriptModel::next_recorded() const {
  auto found = std::ranges::find_if(
      recorded_, [](auto& one) { return !one.used && one.request.kind != "repair" && one.request.kind != kStart; });
  return found == recorded_.end() ? std::nullopt : std::optional(found->request);
}

std::string TranscriptModel::given() const {
  std::string marks;
  for (auto& one : recorded_) marks += one.used ? '+' : '-';
  return marks.find('+') == marks.npos ? "" : marks;
}

void TranscriptModel::go_on_from(const std::string& given) {
  for (size_t i = 0; i < std::min(given.size(), recorded_.size()); ++i) recorded_[i].used = given[i] == '+';
}

}  // namespace kernelift::tuner
