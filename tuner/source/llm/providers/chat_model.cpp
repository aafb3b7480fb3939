// See chat_model.h.
#include "tuner/source/llm/providers/chat_model.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "core/base/json_member.h"
#include "core/base/shown/outside_text.h"
#include "core/base/shown/secrets.h"

namespace kernelift::tuner {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kQuoted = 200;            ///< Characters of a server's error text that are shown.
constexpr int kFewestOutputTokens = 1024;  ///< Smallest useful limit of an answer.

/// 429 also means that the quota is spent, and then retrying is useless.
bool quota_is_spent(const HttpReply& reply) {
  return reply.status == 429 && reply.body.find("insufficient_quota") != std::string::npos;
}

bool key_is_refused(const HttpReply& reply) { return reply.status == 401 || reply.status == 403; }

bool worth_retrying(const HttpReply& reply) {
  if (reply.status == 429) return !quota_is_spent(reply);
  return reply.status == 408 || reply.status == 409 || reply.status >= 500;
}

/// The server's words without secrets, before they are read: in texts that JSON spells otherwise ("\u0073k-…"), too.
std::string without_secrets_of_reply(const std::string& body) {
  auto json = parse_foreign_json(body, "");
  return without_secrets(json.ok() ? compact(json_without_secrets(*std::move(json))) : body);
}

/// The server's error text, shortened to one line.
std::string server_words(const std::string& body) {
  std::string words = body;
  if (auto json = parse_foreign_json(body, ""); json.ok() && json->is_object()) {
    auto error = json->contains("error") ? (*json)["error"] : *json;
    if (error.is_string()) words = error.get<std::string>();
    else if (error.is_object() && !text_member(error, "message").empty()) words = text_member(error, "message");
  }
  return words.empty() ? "and said nothing" : "and said: " + shown_line(words, kQuoted);
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

Result<std::string> ChatModel::key_of(const ModelSpec& spec) {
  const char* set = std::getenv(spec.key_variable());
  std::string key = set ? set : "";
  // Keys that were read from files end in a newline.
  key.erase(key.find_last_not_of(" \t\r\n") + 1);
  keep_secret(key);
  if (key.empty() && !spec.own_server)
    return environment_error(std::string(spec.key_variable()) + " is not set; export it, or leave --llm away");
  return key;
}

std::string ChatModel::document(const ModelRequest& request, const Form& form) const {
  Json document = body(request);
  document["model"] = spec_.model;
  document[form.new_name ? "max_completion_tokens" : "max_tokens"] = form.output_tokens;
  return compact(json_without_secrets(std::move(document)));
}

Result<ChatAnswer> ChatModel::answer(const std::string& body, size_t asked) const {
  Json json = Json::parse(body, nullptr, false);
  if (json.is_discarded()) return environment_error("half a reply: it is not a complete JSON document");
  if (json.is_object() && json.contains("error") && !json["error"].is_null())
    return environment_error("the server answered " + server_words(body));
  auto answer = reading("the model's reply", [&] { return read(json); });
  if (!answer.ok()) return environment_error("the reply is not in the expected form");
  if (!answer->output_tokens) answer->output_tokens = estimated_tokens(answer->text.size());
  if (!answer->input_tokens) answer->input_tokens = estimated_tokens(asked);
  // Once more: it may have come in parts.
  answer->text = without_thoughts(without_secrets(std::move(answer->text)));
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
  bool too_long = speaks_of(
      {"max_tokens", "max_completion_tokens", "context length", "context size", "context limit", "context window"});
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
    const std::string sending = document(request, form);
    auto reply = http_post(spec_.url, headers(), sending, std::max(left(), 0.01), stop);
    ++sent;
    if (stop) return {environment_error("stopped"), sent};
    double wanted = 0;
    // No server sends so much by mistake: it is not asked again.
    if (reply.ok() && reply->too_large)
      return failure("the reply is larger than " + std::to_string(kLargestReply >> 20) + " MiB");
    if (reply.ok()) reply->body = without_secrets_of_reply(reply->body);
    if (!reply.ok()) {
      last = reply.error().message;
    } else if (reply->status == 200) {
      auto read = answer(reply->body, sending.size());
      if (read.ok()) return {std::move(read), sent};
      last = read.error().message;
      if (reply->body.starts_with('<')) return failure("a web page answered, no model; check the URL", true);
    } else {
      last = "the server answered HTTP " + std::to_string(reply->status) + " " + server_words(reply->body);
      if (sent < limits.requests && adapt(reply->status, reply->body, form)) {  // Not a failure of the server.
        std::lock_guard hold(changing_);
        form_ = form;
        continue;
      }
      if (key_is_refused(*reply)) last += std::string("; check ") + spec_.key_variable();
      if (!worth_retrying(*reply)) return failure(last, key_is_refused(*reply) || quota_is_spent(*reply));
      wanted = reply->retry_after;
    }
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
