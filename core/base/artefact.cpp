// See artefact.h. The checksum is of the document, not of the bytes of the file: indentation says nothing.
#include "core/base/artefact.h"

#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/base/json_member.h"

namespace kernelift {

static constexpr const char* kChecksum = "checksum";

/// Of the document without its checksum, however it is indented.
static std::string checksum_of(Json value) {
  value.erase(kChecksum);
  return hash_text(compact(value)).hex();
}

Json with_checksum(const Json& value) {
  Json out = Json::object();
  // As it is read: what is no UTF-8 is replaced when it is written.
  const std::string sum = checksum_of(value);
  for (auto& [key, item] : value.items()) {
    out[key] = item;
    if (key == "oldest_reader") out[kChecksum] = sum;
  }
  return out;
}

static Status check_checksum(const Json& value, int since, const std::string& where, const std::string& again) {
  const bool there = value.contains(kChecksum);
  if (!there && whole_member<int64_t>(value, "version").value_or(since) < since) return done();
  if (there && value[kChecksum] == checksum_of(value)) return done();
  return environment_error(where + " is damaged: its checksum " + (there ? "does not match" : "is missing") + "; " +
                           again);
}

Result<Json> read_artefact(const std::filesystem::path& path, const char* format, int reader, int since,
                           const std::string& again) {
  KERNELIFT_ASSIGN(std::string text, read_text(path));
  auto value = parse_json(text, "");
  if (!value.ok())
    return environment_error(path.string() + " is damaged" + std::move(value).error().message + "; " + again);
  KERNELIFT_TRY(check_artefact(*value, format, reader, path.string()));
  KERNELIFT_TRY(check_checksum(*value, since, path.string(), again));
  return value;
}

}  // namespace kernelift
