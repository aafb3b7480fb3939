// What must never be shown: keys, tokens and passwords that this process was given. It remembers fingerprints of their
// pieces, not the values, because processes that run candidates are forked from it. Whatever leaves the process for a
// person or for a server's transcript (terminal, report, run, transcript, prompt, error) passes without_secrets().
#pragma once
#include <string>
#include <string_view>

#include "core/base/json.h"

namespace kernelift {

/// Shorter values ("none", "EMPTY": what servers without keys are given) are no secrets: they are words of every text.
inline constexpr size_t kShortestSecret = 8;

/// From now on `value` is never shown: nor any piece of it of 12 characters (8 of a value shorter than that), nor the
/// same as base64 (of longer text that contains it, too), in hexadecimal digits, or escaped for a URL, with line breaks
/// or blanks anywhere in it.
void keep_secret(std::string_view value);

/// The values of variables of the environment whose names speak of keys, tokens, passwords or credentials; the user and
/// password in every value that is a URL, as those of proxies.
void keep_secrets_of_environment();

/// User, password and the query's values of a URL.
void keep_secrets_of_url(std::string_view url);

/// The URL without user, password and query.
std::string url_without_secrets(std::string_view url);

/// The text with "[secret]" in place of every secret.
std::string without_secrets(std::string text);
/// The same for every text in it.
Json json_without_secrets(Json value);

}  // namespace kernelift
