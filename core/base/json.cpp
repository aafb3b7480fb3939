// See json.h.
#include "core/base/json.h"

#include <vector>

#include "core/base/file.h"
#include "core/base/json_member.h"

namespace kernelift {

Result<Json> parse_json(std::string_view text, const std::string& where) {
  try {
    return Json::parse(text);
  } catch (const nlohmann::json::exception& wrong) {
    return environment_error(where + ": " + in_words(wrong));
  }
}

namespace {

/// Reads without keeping anything, until something is too deep or too large.
class Shape : public nlohmann::json_sax<Json> {
 public:
  std::string trouble;
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool key(string_t&) override {
    if (++members_.back() <= kMostForeignMembers) return true;
    trouble = "an object has more than " + std::to_string(kMostForeignMembers) + " members";
    return false;
  }
  bool start_object(size_t) override { return open(); }
  bool start_array(size_t) override { return open(); }
  bool end_object() override { return members_.pop_back(), true; }
  bool end_array() override { return members_.pop_back(), true; }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception& wrong) override {
    trouble = in_words(static_cast<const nlohmann::json::exception&>(wrong));
    return false;
  }

 private:
  bool open() {
    members_.push_back(0);
    if (members_.size() <= kDeepestForeign) return true;
    trouble = "arrays and objects are nested more than " + std::to_string(kDeepestForeign) + " deep";
    return false;
  }
  std::vector<size_t> members_;
};

}  // namespace

Result<Json> parse_foreign_json(std::string_view text, const std::string& where) {
  Shape shape;
  if (!Json::sax_parse(text, &shape)) return environment_error(where + ": " + shape.trouble);
  return parse_json(text, where);
}

Result<Json> read_json(const std::filesystem::path& path) {
  KERNELIFT_ASSIGN(std::string text, read_text(path));
  return parse_json(text, path.string());
}

Status write_json(const std::filesystem::path& path, const Json& value) {
  // Names in a user's tree need not be UTF-8: replace what is not, rather than lose the whole artefact.
  return write_atomically(path, value.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
}

std::string compact(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

std::string in_words(const nlohmann::json::exception& wrong) {
  std::string_view text = wrong.what();
  size_t number = text.starts_with("[json.exception.") ? text.find("] ") : text.npos;
  return std::string(number == text.npos ? text : text.substr(number + 2));
}

Json artefact(const char* format, int version, int oldest_reader) {
  return {{"format", format}, {"version", version}, {"oldest_reader", oldest_reader}};
}

bool is_newer(const Json& value, int reader) {
  auto version = whole_member<int64_t>(value, "version");
  return version && whole_member<int64_t>(value, "oldest_reader").value_or(*version) > reader;
}

Status check_artefact(const Json& value, const char* format, int reader, const std::string& where) {
  auto version = whole_member<int64_t>(value, "version");
  if (!version || !value.contains("format") || value["format"] != format)
    return environment_error(where + " is not a " + format + " file; name one that Kernelift wrote");
  if (is_newer(value, reader))
    return environment_error(where + " was written by a newer Kernelift (format version " + std::to_string(*version) +
                             ", this one reads up to " + std::to_string(reader) + "); update Kernelift to read it");
  return done();
}

}  // namespace kernelift
