// See chat_model.h.
#include "tuner/source/llm/providers/chat_model.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>

#include "core/base/json_member.h"
#include "core/base/shown/secrets.h"
#include "tuner/source/llm/providers/server_reply.h"

namespace kernelift::tuner {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kFewestOutputTokens = 1024;  ///< Smallest useful limit of an answer.

/// A stream, whatever its headers say.
bool is_stream(const std::string& body) {
  return body.starts_with("data:") || body.starts_with("event:") || body.starts_with(':');
}

bool wait(double seconds, const std::atomic<bool>& stop) {
  auto end = Clock::now() + std::chrono::duration<double>(seconds);
  while (Clock::now() < end && !stop) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  return !stop;
}

}  // namespace

int64_t reported_tokens(const Json& usage, const char* name) {
  constexpr int64_t kMost = 1'000'000'000;
  const int64_t count = whole_member<int64_t>(usage, name).value_or(0);
  return count >= 0 && count <= kMost ? count : 0;
}

std::string text_of_parts(const Json& content) {
  if (content.is_string()) return content.get<std::string>();
  std::string text;
  if (content.is_array())
    for (auto& part : content)
      if (part.at("type") == "text") text += part.at("text").get<std::string>();
  return text;
}

Json turns_of(const ModelRequest& request) {
  Json turns = Json::array();
  for (auto& message : request.messages)
    turns.push_back({{"role", message.from_model ? "assistant" : "user"}, {"content", message.text}});
  return turns;
}

std::string remark_on_end(const std::string& reason) {
  return "the server says that the answer ended by '" + without_secrets(reason).substr(0, 40) +
         "'; it is read as a whole one";
}

std::string ChatModel::document(const ModelRequest& request, const Form& form) const {
  Json document = body(request, form);
  document["model"] = spec_.model;
  if (form.stream) document["stream"] = true;
  return compact(json_without_secrets(std::move(document)));
}

Result<ChatAnswer> ChatModel::answer_of(const Result<HttpReply>& reply, ChatStream& stream) const {
  if (stream.ended() || (reply.ok() && reply->streamed)) return stream.answer();
  if (!reply.ok()) return reply.error();
  auto json = reply_json(reply->body);
  if (!json.ok()) return environment_error("half a reply: it is not a complete JSON document");
  if (reports_error(*json)) return environment_error("the server answered " + server_words(reply->body));
  auto answer = reading("the model's reply", [&] { return read(*json); });
  if (!answer.ok()) return environment_error("the reply is not in the expected form");
  return answer;
}

Result<ChatAnswer> ChatModel::finished(ChatAnswer answer, size_t asked) {
  if (!answer.output_tokens) answer.output_tokens = estimated_tokens(answer.text.size());
  if (!answer.input_tokens) answer.input_tokens = estimated_tokens(asked);
  // Only now, for they may have come in pieces.
  for (auto* text : {&answer.text, &answer.called_tool, &answer.remark}) *text = without_secrets(std::move(*text));
  answer.text = without_thoughts(std::move(answer.text));
  return answer;
}

bool ChatModel::adapt(long status, const std::string& body, Form& form) const {
  if (status != 400 && status != 413 && status != 422) return false;
  auto speaks_of = [&](std::initializer_list<const char*> any) {
    return std::any_of(any.begin(), any.end(), [&](auto* piece) { return body.find(piece) != body.npos; });
  };
  if (!form.new_name && spec_.provider == ModelSpec::Provider::OpenAi && speaks_of({"max_completion_tokens"}) &&
      speaks_of({"nsupported", "instead"}))
    return form.new_name = true;
  if (form.stream && form.counts_stream && names_member(body, "stream_options")) {
    form.counts_stream = false;
    return true;
  }
  if (form.stream && names_member(body, "stream")) {
    form.stream = false;
    return true;
  }
  bool too_long = speaks_of({"max_tokens", "max_completion_tokens", "max_output_tokens", "context length",
                             "context size", "context limit", "context window"});
  if (!too_long || form.output_tokens / 2 < kFewestOutputTokens) return false;
  form.output_tokens /= 2;
  return true;
}

ModelReply ChatModel::ask(const ModelRequest& request, const CallLimits& limits, const std::atomic<bool>& stop) {
  const auto begin = Clock::now();
  auto spent = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  double pause = limits_.first_pause, rested = 0;  // What the server itself wants to be waited for is no call.
  auto left = [&] { return std::min(limits.seconds - spent(), limits_.call_seconds + rested - spent()); };
  int sent = 0, failed = 0;
  Form form = [&] {
    std::lock_guard hold(changing_);
    return form_;
  }();
  auto failure = [&](const std::string& what, bool final = false) {
    return ModelReply{environment_error(spec_.shown() + ": " + what +
                                        (failed > 1 ? " (asked " + std::to_string(failed) + " times)" : "")),
                      sent, final};
  };
  while (true) {
    std::string last;
    HttpRequest sending{spec_.url, headers(), document(request, form), std::max(left(), 0.01)};
    ChatStream stream([this](const Json& event, StreamedAnswer& into) { read_event(event, into); }, limits_);
    auto reply = http_post(sending, stream, stop);
    ++sent;
    if (stop) return {environment_error("stopped"), sent};
    double wanted = 0;
    if (reply.ok() && reply->status == 200 && !reply->streamed && is_stream(reply->body))
      reply->streamed = true, stream.take(reply->body);
    // No server sends so much by mistake: it is not asked again.
    if ((reply.ok() && reply->too_large) || stream.too_large())
      return failure("the reply is larger than " + std::to_string(kLargestReply >> 20) + " MiB");
    if (const bool refused = reply.ok() && reply->status != 200; !refused) {
      auto answer = answer_of(reply, stream);
      if (answer.ok()) return {finished(*std::move(answer), sending.body.size()), sent};
      last = answer.error().message;
      if (reply.ok() && reply->body.starts_with('<'))
        return failure("a web page answered, no model; check the URL", true);
    } else {
      const std::string said = reply_text(reply->body);
      last = "the server answered HTTP " + std::to_string(reply->status) + " " + server_words(said);
      if (sent < limits.requests && adapt(reply->status, said, form)) {  // Not a failure of the server.
        std::lock_guard hold(changing_);
        form_ = form;
        continue;
      }
      if (key_is_refused(*reply)) last += "; check " + key_.variable;
      if (!worth_retrying(*reply)) return failure(last, key_is_refused(*reply) || quota_is_spent(*reply));
      wanted = reply->retry_after;
    }
    if (stream.bytes()) last += ", after " + std::to_string(stream.bytes()) + " bytes of the answer";
    ++failed;
    const double rest = wanted > 0 ? wanted : std::min(pause, limits_.longest_pause);
    const bool too_late = wanted == 0 && left() <= rest;
    if (failed >= limits_.attempts || sent >= limits.requests || too_late) return failure(last);
    // A server that names a time is asked no sooner, whatever a call may take.
    if (wanted > limits.seconds - spent()) {
      char text[112];
      std::snprintf(text, sizeof text, "; it asks to be left alone for %.0f s, longer than the model may be waited for",
                    wanted);
      return failure(last + text, true);
    }
    if (!wait(rest, stop)) return {environment_error("stopped"), sent};
    pause *= 2, rested += wanted;
  }
}

}  // namespace kernelift::tuner
