// See chat_model.h. The two wire formats differ in the place of the system text, in the authorisation header and in
// names.
#include "tuner/source/llm/chat_model.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <thread>

#include "core/base/json_member.h"
#include "core/base/shown/outside_text.h"
#include "core/base/shown/secrets.h"
#include "tuner/source/llm/http.h"

namespace kernelift::tuner {
namespace {

constexpr size_t kQuoted = 200;            ///< Characters of a server's error text that are shown.
constexpr int kCharactersPerToken = 4;     ///< For servers that do not report usage.
constexpr int kFewestOutputTokens = 1024;  ///< Smallest useful limit of an answer.

bool worth_retrying(const HttpReply& reply) {
  // 429 also means that the quota is spent, and then retrying is useless.
  if (reply.status == 429) return reply.body.find("insufficient_quota") == std::string::npos;
  return reply.status == 408 || reply.status == 409 || reply.status >= 500;
}

/// The text of a message's content, which is a string or a list of parts.
std::string text_of(const Json& content) {
  if (content.is_string()) return content.get<std::string>();
  std::string text;
  if (content.is_array())
    for (auto& part : content)
      if (part.at("type") == "text") text += part.at("text").get<std::string>();
  return text;
}

/// The answer without the reasoning that some servers leave before it, with or without the opening mark. It may contain
/// drafts of edits.
std::string without_thoughts(std::string text) {
  constexpr std::string_view kOpen = "<think>", kClose = "</think>";
  if (size_t close = text.rfind(kClose); close != text.npos) return text.substr(close + kClose.size());
  if (size_t first = text.find_first_not_of(" \t\r\n");
      first != text.npos && text.compare(first, kOpen.size(), kOpen) == 0)
    return "";
  return text;
}

/// The server's words without secrets, before they are read: in texts that JSON spells otherwise ("\u0073k-…"), too.
std::string without_secrets_of_reply(const std::string& body) {
  Json json = Json::parse(body, nullptr, false);
  return without_secrets(json.is_discarded() ? body : compact(json_without_secrets(std::move(json))));
}

/// The server's error text, shortened to one line.
std::string server_words(const std::string& body) {
  std::string words = body;
  if (auto json = Json::parse(body, nullptr, false); json.is_object()) {
    auto error = json.contains("error") ? json["error"] : json;
    if (error.is_string()) words = error.get<std::string>();
    else if (error.is_object() && !text_member(error, "message").empty()) words = text_member(error, "message");
  }
  return words.empty() ? "and said nothing" : "and said: " + shown_line(words, kQuoted);
}

bool wait(double seconds, const std::atomic<bool>& stop) {
  auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (std::chrono::steady_clock::now() < end && !stop) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  return !stop;
}

}  // namespace

Result<ModelSpec> ModelSpec::parse(const std::string& text) {
  ModelSpec spec;
  size_t colon = text.find(':'), comma = text.rfind(',');
  keep_secrets_of_url(std::string_view(text).substr(0, comma));
  std::string vendor = text.substr(0, colon);
  const std::string help = "; write openai:URL,MODEL or anthropic:URL,MODEL (an empty URL is the vendor's own)";
  if (colon == text.npos || (vendor != "openai" && vendor != "anthropic"))
    return usage_error("--llm '" + text + "' names no vendor" + help);
  if (comma == text.npos || comma < colon || comma + 1 == text.size())
    return usage_error("--llm '" + text + "' names no model" + help);
  spec.vendor = vendor == "openai" ? Vendor::OpenAi : Vendor::Anthropic;
  spec.model = text.substr(comma + 1);
  std::string url = text.substr(colon + 1, comma - colon - 1);
  spec.own_server = !url.empty();
  if (url.empty()) url = spec.vendor == Vendor::OpenAi ? "https://api.openai.com" : "https://api.anthropic.com";
  if (!url.starts_with("http://") && !url.starts_with("https://"))
    return usage_error("--llm '" + text + "': the URL must begin with http:// or https://" + help);
  const size_t end = std::min(url.find('?'), url.size());
  const std::string query = url.substr(end);
  url.resize(end);
  while (url.back() == '/') url.pop_back();
  std::string path = spec.vendor == Vendor::OpenAi ? "/chat/completions" : "/messages";
  if (!url.ends_with(path)) url += (url.ends_with("/v1") ? "" : "/v1") + path;
  spec.url = url + query;
  return spec;
}

std::string ModelSpec::shown_url() const { return url_without_secrets(url); }

Result<ChatModel> ChatModel::open(const ModelSpec& spec, const ChatLimits& limits) {
  const char* set = std::getenv(spec.key_variable());
  std::string key = set ? set : "";
  // Keys that were read from files end in a newline.
  key.erase(key.find_last_not_of(" \t\r\n") + 1);
  keep_secret(key);
  if (key.empty() && !spec.own_server)
    return environment_error(std::string(spec.key_variable()) + " is not set; export it, or leave --llm away");
  return ChatModel(spec, limits, std::move(key));
}

std::string ChatModel::body(const std::string& system, const std::vector<ChatMessage>& messages) const {
  Json list = Json::array();
  bool openai = spec_.vendor == ModelSpec::Vendor::OpenAi;
  if (openai) list.push_back({{"role", "system"}, {"content", system}});
  for (auto& message : messages)
    list.push_back({{"role", message.from_model ? "assistant" : "user"}, {"content", message.text}});
  Json request{{"model", spec_.model}, {"messages", list}};
  if (!openai) request["system"] = system;
  request[new_name_ ? "max_completion_tokens" : "max_tokens"] = output_tokens_;
  return compact(json_without_secrets(std::move(request)));
}

Result<ChatAnswer> ChatModel::read(const std::string& body) const {
  Json json = Json::parse(body, nullptr, false);
  if (json.is_discarded()) return environment_error("half a reply: it is not a complete JSON document");
  if (json.is_object() && json.contains("error") && !json["error"].is_null())
    return environment_error("the server answered " + server_words(body));
  auto answer = reading("the model's reply", [&] {
    ChatAnswer read;
    bool openai = spec_.vendor == ModelSpec::Vendor::OpenAi;
    std::string ended;
    if (openai) {
      auto& choice = json.at("choices").at(0);
      auto& message = choice.at("message");
      // Absent or null if the model reasoned until it was cut off.
      if (auto content = message.find("content"); content != message.end()) read.text = text_of(*content);
      if (auto why = message.find("refusal");
          why != message.end() && why->is_string() && !why->get<std::string>().empty())
        read.text = why->get<std::string>(), read.refused = true;
      ended = text_member(choice, "finish_reason");
    } else {
      read.text = text_of(json.at("content"));
      ended = text_member(json, "stop_reason");
    }
    read.cut_off = ended == "length" || ended == "max_tokens" || ended == "model_context_window_exceeded";
    read.refused |= ended == "content_filter" || ended == "refusal";
    read.output_tokens = static_cast<int64_t>(read.text.size()) / kCharactersPerToken;
    if (auto usage = json.find("usage"); usage != json.end() && usage->is_object()) {
      auto count = [&](const char* name) { return whole_member<int64_t>(*usage, name); };
      read.input_tokens = count(openai ? "prompt_tokens" : "input_tokens").value_or(0);
      // Anthropic counts cached tokens separately; OpenAI's figure includes them.
      for (auto* cached : {"cache_creation_input_tokens", "cache_read_input_tokens"})
        read.input_tokens += count(cached).value_or(0);
      read.output_tokens = count(openai ? "completion_tokens" : "output_tokens").value_or(read.output_tokens);
    }
    // Once more: it may have come in parts.
    read.text = without_thoughts(without_secrets(std::move(read.text)));
    return read;
  });
  if (!answer.ok()) return environment_error("the reply is not in the expected form");
  return answer;
}

std::vector<std::string> ChatModel::headers() const {
  std::vector<std::string> headers{"Content-Type: application/json", "Expect:"};
  if (spec_.vendor == ModelSpec::Vendor::Anthropic) {
    headers.push_back("anthropic-version: 2023-06-01");
    if (!key_.empty()) headers.push_back("x-api-key: " + key_);
  } else if (!key_.empty()) {
    headers.push_back("Authorization: Bearer " + key_);
  }
  return headers;
}

bool ChatModel::adapt(long status, const std::string& body) {
  if (status != 400 && status != 413 && status != 422) return false;
  auto speaks_of = [&](std::initializer_list<const char*> any) {
    return std::any_of(any.begin(), any.end(), [&](auto* piece) { return body.find(piece) != body.npos; });
  };
  if (!new_name_ && spec_.vendor == ModelSpec::Vendor::OpenAi && speaks_of({"max_completion_tokens"}) &&
      speaks_of({"nsupported", "instead"}))
    return new_name_ = true;
  bool too_long = speaks_of(
      {"max_tokens", "max_completion_tokens", "context length", "context size", "context limit", "context window"});
  if (!too_long || output_tokens_ / 2 < kFewestOutputTokens) return false;
  output_tokens_ /= 2;
  return true;
}

Result<ChatAnswer> ChatModel::ask(const std::string& system, const std::vector<ChatMessage>& messages,
                                  const std::atomic<bool>& stop) {
  std::string last;
  double pause = limits_.first_pause;
  auto begin = std::chrono::steady_clock::now();
  auto too_late = [&] {
    return std::chrono::steady_clock::now() - begin >= std::chrono::duration<double>(limits_.call_seconds);
  };
  int attempt = 1;
  for (;; ++attempt) {
    std::string request = body(system, messages);
    auto reply = http_post(spec_.url, headers(), request, limits_.call_seconds, stop);
    if (stop) return environment_error("stopped");
    double wanted = pause;
    if (reply.ok()) reply->body = without_secrets_of_reply(reply->body);
    if (!reply.ok()) {
      last = reply.error().message;
    } else if (reply->status == 200) {
      auto answer = read(reply->body);
      if (answer.ok()) {
        if (!answer->input_tokens) answer->input_tokens = static_cast<int64_t>(request.size()) / kCharactersPerToken;
        return answer;
      }
      last = answer.error().message;
      if (reply->body.starts_with('<'))
        return environment_error(spec_.shown_url() + ": a web page answered, no model; check the URL");
    } else {
      last = "the server answered HTTP " + std::to_string(reply->status) + " " + server_words(reply->body);
      if (adapt(reply->status, reply->body)) {
        --attempt;  // Not a failure of the server, and the limit becomes smaller each time.
        continue;
      }
      if (!worth_retrying(*reply)) {
        if (reply->status == 401 || reply->status == 403) last += std::string("; check ") + spec_.key_variable();
        return environment_error(spec_.shown_url() + ": " + last);
      }
      if (reply->retry_after > 0) wanted = reply->retry_after;
    }
    if (attempt >= limits_.attempts || too_late()) break;
    if (!wait(std::min(wanted, limits_.longest_pause), stop)) return environment_error("stopped");
    pause *= 2;
  }
  return environment_error(spec_.shown_url() + ": " + last +
                           (attempt > 1 ? " (asked " + std::to_string(attempt) + " times)" : ""));
}

}  // namespace kernelift::tuner
