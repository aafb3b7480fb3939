// See schema.h. An object may hold no other properties than those that are described, one by one or all by one schema.
#include "cli/mcp/protocol/schema.h"

#include <algorithm>

#include "core/base/shown/outside_text.h"

namespace kernelift::cli::mcp {
namespace {

constexpr size_t kShownValue = 100;  ///< Bytes of a client's words in an error.

const char* type_in_words(const std::string& type) {
  if (type == "string") return "a text";
  if (type == "integer") return "a whole number";
  if (type == "number") return "a number";
  if (type == "boolean") return "true or false";
  return type == "array" ? "a list" : "an object";
}

bool has_type(const Json& value, const std::string& type) {
  if (type == "string") return value.is_string();
  // 5.0 is a whole number, to JSON Schema.
  const bool whole = value.is_number_float() && std::trunc(value.get<double>()) == value.get<double>();
  if (type == "integer") return value.is_number_integer() || whole;
  if (type == "number") return value.is_number();
  if (type == "boolean") return value.is_boolean();
  return type == "array" ? value.is_array() : value.is_object();
}

std::string in_words(const Json& value) {
  if (value.is_null()) return "nothing";
  if (value.is_boolean()) return value.get<bool>() ? "true" : "false";
  return type_in_words(value.is_string()           ? "string"
                       : value.is_number_integer() ? "integer"
                       : value.is_number()         ? "number"
                       : value.is_array()          ? "array"
                                                   : "object");
}

Status fits_object(const Json& value, const Json& schema, const std::string& place) {
  const Json& properties = schema.at("properties");
  auto at = [&](const std::string& key) { return place.empty() ? key : place + "." + key; };
  for (auto& [key, one] : value.items()) {
    auto known = properties.find(key);
    if (auto others = schema.find("additionalProperties");
        known == properties.end() && others != schema.end() && others->is_object()) {
      KERNELIFT_TRY(fits(one, *others, at(key)));
      continue;
    }
    if (known == properties.end()) {
      std::string names;
      for (auto& property : properties.items()) names += (names.empty() ? "" : ", ") + property.key();
      return usage_error(shown_line(at(key), kShownValue) + " is not known; " +
                         (names.empty() ? "nothing is expected here" : "known are " + names));
    }
    KERNELIFT_TRY(fits(one, *known, at(key)));
  }
  if (auto required = schema.find("required"); required != schema.end())
    for (auto& key : *required)
      if (!value.contains(key.get<std::string>())) return usage_error(at(key.get<std::string>()) + " is missing");
  return done();
}

}  // namespace

Status fits(const Json& value, const Json& schema, const std::string& place) {
  const std::string where = place.empty() ? "arguments" : shown_line(place, kShownValue);
  const std::string type = schema.at("type");
  if (!has_type(value, type)) return usage_error(where + " is " + type_in_words(type) + ", not " + in_words(value));
  auto limit = [&](const char* name) { return schema.contains(name) ? &schema.at(name) : nullptr; };
  if (auto* among = limit("enum"); among && std::ranges::find(*among, value) == among->end()) {
    std::string names;
    for (auto& one : *among) names += (names.empty() ? "" : ", ") + one.get<std::string>();
    return usage_error(where + " is one of: " + names);
  }
  if (auto* least = limit("minimum"); least && value < *least)
    return usage_error(where + " is at least " + compact(*least));
  if (auto* most = limit("maximum"); most && value > *most) return usage_error(where + " is at most " + compact(*most));
  if (auto* most = limit("maxLength"); most && value.get_ref<const std::string&>().size() > most->get<size_t>())
    return usage_error(where + " has at most " + compact(*most) + " bytes");
  if (auto* least = limit("minItems"); least && value.size() < least->get<size_t>())
    return usage_error(where + " has at least " + compact(*least) + " entries");
  if (auto* most = limit("maxItems"); most && value.size() > most->get<size_t>())
    return usage_error(where + " has at most " + compact(*most) + " entries");
  if (type == "object") return fits_object(value, schema, place);
  if (type == "array")
    for (size_t i = 0; i < value.size(); ++i)
      KERNELIFT_TRY(fits(value[i], schema.at("items"), place + "[" + std::to_string(i) + "]"));
  return done();
}

}  // namespace kernelift::cli::mcp
