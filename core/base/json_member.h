// Members of JSON that other programs wrote: a missing member, or one of another type, reads as "" or 0. Our own
// artefacts are read with at(), which reports what they lack.
#pragma once
#include <concepts>
#include <optional>
#include <string>
#include <utility>

#include "core/base/json.h"

namespace kernelift {

inline std::string text_member(const Json& object, const char* key) {
  auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

inline double number_member(const Json& object, const char* key) {
  auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<double>() : 0.0;
}

/// nullopt, too, where the number does not fit.
template <std::integral T>
std::optional<T> whole_member(const Json& object, const char* key) {
  auto found = object.find(key);
  if (found == object.end() || !found->is_number_integer()) return std::nullopt;
  const bool fits = found->is_number_unsigned() ? std::in_range<T>(found->template get<uint64_t>())
                                                : std::in_range<T>(found->template get<int64_t>());
  return fits ? std::optional(found->template get<T>()) : std::nullopt;
}

}  // namespace kernelift
