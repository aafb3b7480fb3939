// See server_reply.h.
#include "tuner/source/llm/providers/server_reply.h"

#include <cctype>

#include "core/base/json_member.h"
#include "core/base/shown/outside_text.h"
#include "core/base/shown/secrets.h"

namespace kernelift::tuner {
namespace {

constexpr size_t kQuoted = 200;  ///< Characters of a server's error text that are shown.

}  // namespace

Result<Json> reply_json(const std::string& body) {
  KERNELIFT_ASSIGN(Json json, parse_foreign_json(body, "the reply"));
  return json_without_secrets(std::move(json));
}

std::string reply_text(const std::string& body) {
  auto json = reply_json(body);
  return without_secrets(json.ok() ? compact(*json) : body);
}

std::string server_words(const std::string& body) {
  std::string words = reply_text(body);
  if (auto json = reply_json(body); json.ok() && json->is_object()) {
    auto error = json->contains("error") ? (*json)["error"] : *json;
    if (error.is_string()) words = error.get<std::string>();
    else if (error.is_object() && !text_member(error, "message").empty()) words = text_member(error, "message");
  }
  return words.empty() ? "and said nothing" : "and said: " + shown_line(words, kQuoted);
}

bool reports_error(const Json& document) {
  return document.is_object() && document.contains("error") && !document["error"].is_null();
}

/// 429 also means that the quota is spent, and then retrying is useless.
bool quota_is_spent(const HttpReply& reply) {
  return reply.status == 429 && reply.body.find("insufficient_quota") != std::string::npos;
}

bool key_is_refused(const HttpReply& reply) { return reply.status == 401 || reply.status == 403; }

bool worth_retrying(const HttpReply& reply) {
  if (reply.status == 429) return !quota_is_spent(reply);
  return reply.status == 408 || reply.status == 409 || reply.status >= 500;
}

bool names_member(const std::string& text, std::string_view name) {
  for (size_t at = text.find(name); at != text.npos; at = text.find(name, at + 1))
    if (at == 0 || !std::isalpha(static_cast<unsigned char>(text[at - 1]))) return true;
  return false;
}

}  // namespace kernelift::tuner
