// JSON as every artefact uses it: nlohmann/json behind calls that return our errors instead of throwing. Artefacts
// open with {"format": NAME, "version": N, "oldest_reader": M}: a reader of version R can read them when M <= R.
#pragma once
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace kernelift {

using Json = nlohmann::ordered_json;

/// `where` names the text's origin in the error: "mep.json: line 3 column 7: …".
Result<Json> parse_json(std::string_view text, const std::string& where);
Result<Json> read_json(const std::filesystem::path& path);
Status write_json(const std::filesystem::path& path, const Json& value);

/// The value on one line. Names in it come from other programs: bytes that are not UTF-8 are replaced.
std::string compact(const Json& value);

/// The head of a new artefact.
Json artefact(const char* format, int version, int oldest_reader);
/// Whether `value` is an artefact that a reader of version `reader` is too old to read.
bool is_newer(const Json& value, int reader);
/// Checks that `value` is an artefact of format `format` and that a reader of version `reader` can read it.
Status check_artefact(const Json& value, const char* format, int reader, const std::string& where);

/// Throws, for readers inside reading(): the value that was read is invalid.
[[noreturn]] inline void malformed(const std::string& what) {
  throw Json::other_error::create(0, what, static_cast<Json*>(nullptr));
}

/// The exception's text without the library's error number: "key 'scratch' not found".
std::string in_words(const nlohmann::json::exception& wrong);

/// Calls `read()` and turns a missing key or wrong type into an Error that names `where`; `likely`, the probable cause,
/// is appended to the message.
template <class Function>
auto reading(const std::string& where, Function&& read,
             const char* likely = "; the file is damaged or was not written by Kernelift") -> Result<decltype(read())> {
  try {
    return read();
  } catch (const nlohmann::json::exception& wrong) {
    return environment_error(where + ": " + in_words(wrong) + likely);
  }
}

}  // namespace kernelift
