// JSON artefacts in which every value counts: they carry a checksum in their head, and a number that does not fit where
// it is read is refused, not bent.
#pragma once
#include <limits>

#include "core/base/json.h"

namespace kernelift {

/// The artefact with a checksum of all that is in it, behind its head. For artefacts that nobody edits.
Json with_checksum(const Json& value);
/// Reads an artefact of format `format` that carries a checksum from version `since` on. What cannot be parsed, or is
/// not what was written, is called damaged; `again` says what makes it anew ("extract the MEP again").
Result<Json> read_artefact(const std::filesystem::path& path, const char* format, int reader, int since,
                           const std::string& again);

/// A whole number that fits in `T`; a negative, fractional or larger one is malformed.
template <class T>
T whole(const Json& from) {
  using Limits = std::numeric_limits<T>;
  const bool negative = from.is_number_integer() && !from.is_number_unsigned() && from.get<int64_t>() < 0;
  const bool fits = from.is_number_integer() &&
                    (negative ? Limits::is_signed && from.get<int64_t>() >= static_cast<int64_t>(Limits::min())
                              : from.get<uint64_t>() <= static_cast<uint64_t>(Limits::max()));
  if (!fits)
    malformed(compact(from) + " is not a whole number from " + std::to_string(Limits::min()) + " to " +
              std::to_string(Limits::max()));
  return from.get<T>();
}

}  // namespace kernelift
