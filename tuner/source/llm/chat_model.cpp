// See chat_model.h. The two wire formats differ in where the system text goes, in the auth header and in names.
#include "tuner/source/llm/chat_model.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "core/base/json.h"
#include "tuner/source/llm/http.h"

namespace kernelift {
namespace {

constexpr size_t kQuoted = 200;          ///< Characters of a server's own error text shown to a person.
constexpr int kCharactersPerToken = 4;   ///< For servers that report no usage.

bool worth_retrying(long status) { return status == 408 || status == 429 || status >= 500; }

/// What the server says is wrong, cut short and on one line.
std::string server_words(const std::string& body) {
  std::string words = body;
  if (auto json = Json::parse(body, nullptr, false); json.is_object() && json.contains("error")) {
    auto& error = json["error"];
    if (error.is_object() && error.contains("message") && error["message"].is_string()) words = error["message"].get<std::string>();
    else if (error.is_string()) words = error.get<std::string>();
  }
  std::replace(words.begin(), words.end(), '\n', ' ');
  return words.empty() ? "and said nothing" : "and said: " + words.substr(0, kQuoted);
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
  std::string vendor = text.substr(0, colon);
  const std::string help = "; write openai:URL,MODEL or anthropic:URL,MODEL (an empty URL is the vendor's own)";
  if (colon == text.npos || (vendor != "openai" && vendor != "anthropic")) return usage_error("--llm '" + text + "' names no vendor" + help);
  if (comma == text.npos || comma < colon || comma + 1 == text.size()) return usage_error("--llm '" + text + "' names no model" + help);
  spec.vendor = vendor == "openai" ? Vendor::OpenAi : Vendor::Anthropic;
  spec.model = text.substr(comma + 1);
  std::string url = text.substr(colon + 1, comma - colon - 1);
  spec.own_server = !url.empty();
  if (url.empty()) url = spec.vendor == Vendor::OpenAi ? "https://api.openai.com" : "https://api.anthropic.com";
  if (!url.starts_with("http://") && !url.starts_with("https://")) return usage_error("--llm '" + text + "': the URL must begin with http:// or https://" + help);
  while (url.back() == '/') url.pop_back();
  std::string path = spec.vendor == Vendor::OpenAi ? "/chat/completions" : "/messages";
  if (!url.ends_with(path)) url += (url.ends_with("/v1") ? "" : "/v1") + path;
  spec.url = url;
  return spec;
}

Result<ChatModel> ChatModel::open(const ModelSpec& spec, const ChatLimits& limits) {
  const char* key = std::getenv(spec.key_variable());
  if (!key && !spec.own_server) return environment_error(std::string(spec.key_variable()) + " is not set; export it, or leave --llm away");
  return ChatModel(spec, limits, key ? key : "");
}

std::string ChatModel::body(const std::string& system, const std::vector<ChatMessage>& messages) const {
  Json list = Json::array();
  bool openai = spec_.vendor == ModelSpec::Vendor::OpenAi;
  if (openai) list.push_back({{"role", "system"}, {"content", system}});
  for (auto& message : messages) list.push_back({{"role", message.from_model ? "assistant" : "user"}, {"content", message.text}});
  Json request{{"model", spec_.model}, {"messages", list}};
  if (!openai) request["system"] = system;
  // OpenAI's own newer models know only the longer name; compatible servers know only the shorter one.
  request[openai && !spec_.own_server ? "max_completion_tokens" : "max_tokens"] = limits_.most_output_tokens;
  return request.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<ChatAnswer> ChatModel::read(const std::string& body) const {
  Json json = Json::parse(body, nullptr, false);
  if (json.is_discarded()) return environment_error("half a reply: it is no complete JSON document");
  auto answer = reading("the model's reply", [&] {
    ChatAnswer read;
    if (spec_.vendor == ModelSpec::Vendor::OpenAi) {
      auto& choice = json.at("choices").at(0);
      auto& content = choice.at("message").at("content");
      read.text = content.is_string() ? content.get<std::string>() : "";
      read.cut_off = choice.value("finish_reason", Json()) == "length";
    } else {
      for (auto& part : json.at("content"))
        if (part.at("type") == "text") read.text += part.at("text").get<std::string>();
      read.cut_off = json.value("stop_reason", Json()) == "max_tokens";
    }
    bool openai = spec_.vendor == ModelSpec::Vendor::OpenAi;
    read.output_tokens = static_cast<int64_t>(read.text.size()) / kCharactersPerToken;
    if (auto usage = json.find("usage"); usage != json.end() && usage->is_object()) {
      read.input_tokens = usage->value(openai ? "prompt_tokens" : "input_tokens", int64_t{0});
      read.output_tokens = usage->value(openai ? "completion_tokens" : "output_tokens", read.output_tokens);
    }
    return read;
  });
  if (!answer.ok()) return environment_error("the reply is not in the expected form");
  return answer;
}

Result<ChatAnswer> ChatModel::ask(const std::string& system, const std::vector<ChatMessage>& messages, const std::atomic<bool>& stop) const {
  std::vector<std::string> headers{"Content-Type: application/json", "Expect:"};
  if (spec_.vendor == ModelSpec::Vendor::Anthropic) {
    headers.push_back("anthropic-version: 2023-06-01");
    if (!key_.empty()) headers.push_back("x-api-key: " + key_);
  } else if (!key_.empty()) {
    headers.push_back("Authorization: Bearer " + key_);
  }
  std::string request = body(system, messages), last;
  double pause = limits_.first_pause;
  for (int attempt = 1; attempt <= limits_.attempts; ++attempt) {
    auto reply = http_post(spec_.url, headers, request, limits_.call_seconds, stop);
    if (stop) return environment_error("stopped");
    double wanted = pause;
    if (!reply.ok()) {
      last = reply.error().message;
    } else if (reply->status == 200) {
      auto answer = read(reply->body);
      if (answer.ok()) {
        if (!answer->input_tokens) answer->input_tokens = static_cast<int64_t>(request.size()) / kCharactersPerToken;
        return answer;
      }
      last = answer.error().message;
    } else {
      last = "the server answered HTTP " + std::to_string(reply->status) + " " + server_words(reply->body);
      if (!worth_retrying(reply->status)) {
        if (reply->status == 401 || reply->status == 403) last += std::string("; check ") + spec_.key_variable();
        return environment_error(spec_.url + ": " + last);
      }
      if (reply->retry_after > 0) wanted = reply->retry_after;
    }
    if (attempt < limits_.attempts && !wait(std::min(wanted, limits_.longest_pause), stop)) return environment_error("stopped");
    pause *= 2;
  }
  return environment_error(spec_.url + ": " + last + " (asked " + std::to_string(limits_.attempts) + " times)");
}

}  // namespace kernelift
