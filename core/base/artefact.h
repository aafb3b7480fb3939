// JSON artefacts in which every value counts: they carry a checksum in their head.
#pragma once
#include "core/base/json.h"

namespace kernelift {

/// The artefact with a checksum of all that is in it, behind its head. For artefacts that nobody edits.
Json with_checksum(const Json& value);
/// Reads an artefact of format `format` that carries a checksum from version `since` on. What cannot be parsed, or is
/// not what was written, is called damaged; `again` says what makes it anew ("extract the MEP again").
Result<Json> read_artefact(const std::filesystem::path& path, const char* format, int reader, int since,
                           const std::string& again);

}  // namespace kernelift
