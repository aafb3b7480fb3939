// JSON as every artefact uses it: nlohmann/json behind calls that return our errors instead of throwing. Artefacts
// open with {"format": NAME, "version": N, "oldest_reader": M}: a reader of version R can read them when M <= R.
#pragma once
#include <cmath>
#include <concepts>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "core/base/result.h"

/// A whole number is read only if the type holds it: the library's own conversion cuts off what does not fit.
template <std::integral T>
  requires(!std::same_as<T, bool>)
struct nlohmann::adl_serializer<T> {
  template <class AnyJson>
  static void from_json(const AnyJson& from, T& to) {
    if (from.is_number_unsigned()) return put(from, from.template get_ref<const uint64_t&>(), to);
    if (from.is_number_integer()) return put(from, from.template get_ref<const int64_t&>(), to);
    if (!from.is_number_float()) refuse(from);
    const double number = from.template get<double>(), above = std::ldexp(1.0, std::numeric_limits<T>::digits);
    if (std::trunc(number) != number || number >= above || number < (std::signed_integral<T> ? -above : 0))
      refuse(from);
    to = static_cast<T>(number);
  }
  template <class AnyJson>
  static void to_json(AnyJson& to, T from) {
    nlohmann::to_json(to, from);
  }

 private:
  using Limits = std::numeric_limits<T>;

  template <class AnyJson, std::integral Number>
  static void put(const AnyJson& from, Number number, T& to) {
    // Compared as 64 bits, because std::in_range takes no character types.
    const bool fits = number < 0 ? static_cast<int64_t>(number) >= static_cast<int64_t>(Limits::min())
                                 : static_cast<uint64_t>(number) <= static_cast<uint64_t>(Limits::max());
    if (!fits) refuse(from);
    to = static_cast<T>(number);
  }
  template <class AnyJson>
  [[noreturn]] static void refuse(const AnyJson& from) {
    const std::string text = from.dump(-1, ' ', false, AnyJson::error_handler_t::replace);
    throw AnyJson::type_error::create(
        302,
        text + " is not a whole number from " + std::to_string(Limits::min()) + " to " + std::to_string(Limits::max()),
        &from);
  }
};

namespace kernelift {

using Json = nlohmann::ordered_json;

/// `where` names the text's origin in the error: "mep.json: line 3 column 7: …".
Result<Json> parse_json(std::string_view text, const std::string& where);
/// Of text that may be made to do harm, as a server's: values are copied and destroyed recursively, and each member of
/// an object is looked for among those before it.
Result<Json> parse_foreign_json(std::string_view text, const std::string& where);
inline constexpr size_t kDeepestForeign = 64;          ///< Arrays and objects in one another.
inline constexpr size_t kMostForeignMembers = 10'000;  ///< Of one object.
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
