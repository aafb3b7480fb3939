// Replies of a model's server that hold no answer: what they say, and what follows from them.
#pragma once
#include <string>

#include "core/base/json.h"
#include "tuner/source/llm/providers/http.h"

namespace kernelift::tuner {

/// A reply's JSON document without secrets: in texts that JSON spells otherwise ("\u0073k-…"), too.
Result<Json> reply_json(const std::string& body);
/// The same as text, whether it is JSON or not.
std::string reply_text(const std::string& body);

/// "and said: …": the server's error text without secrets, shortened to one line. `body`: JSON or not.
std::string server_words(const std::string& body);

/// A document that reports an error, in place of an answer.
bool reports_error(const Json& document);

bool quota_is_spent(const HttpReply& reply);
bool key_is_refused(const HttpReply& reply);
bool worth_retrying(const HttpReply& reply);

/// A refusal of `name`, a member of the request: a text that has it as a word ("stream", but not "upstream").
bool names_member(const std::string& text, std::string_view name);

}  // namespace kernelift::tuner
