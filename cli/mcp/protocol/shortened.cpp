// See shortened.h. Limits on texts and on lists are lowered together until the document fits; members that come first
// matter most, so the last ones are dropped if nothing else helps.
#include "cli/mcp/protocol/shortened.h"

#include "core/base/shown/outside_text.h"

namespace kernelift::cli::mcp {
namespace {

struct Limits {
  size_t text, list;
};
constexpr Limits kLimits[] = {{2400, 64}, {1600, 40}, {1000, 24}, {600, 16}, {400, 10},
                              {250, 6},   {160, 4},   {100, 2},   {60, 1}};

Json cut(const Json& value, const Limits& limits) {
  if (value.is_string()) {
    const std::string& text = value.get_ref<const std::string&>();
    if (text.size() <= limits.text) return value;
    std::string_view kept = whole_characters(text, limits.text);
    return std::string(kept) + " ... (" + std::to_string(text.size() - kept.size()) + " more bytes)";
  }
  if (value.is_array()) {
    Json list = Json::array();
    for (size_t i = 0; i < value.size() && i < limits.list; ++i) list.push_back(cut(value[i], limits));
    if (value.size() > limits.list) list.push_back("(" + std::to_string(value.size() - limits.list) + " more)");
    return list;
  }
  if (!value.is_object()) return value;
  Json object = Json::object();
  // Not object[key], which looks for the key among all that are there.
  auto& members = object.get_ref<Json::object_t&>();
  for (auto& [key, one] : value.items()) members.push_back({key, cut(one, limits)});
  return object;
}

}  // namespace

Json shortened(const Json& document, size_t most) {
  if (compact(document).size() <= most) return document;
  Json made;
  for (const Limits& limits : kLimits) {
    made = cut(document, limits);
    if (compact(made).size() <= most) return made;
  }
  Json fitting = Json::object();
  size_t bytes = 2;  // The braces.
  for (auto& [key, one] : made.items()) {
    const size_t more = compact({{key, one}}).size() - 1;  // With a comma in place of the braces.
    if (bytes + more <= most) fitting[key] = one, bytes += more;
  }
  return fitting;
}

}  // namespace kernelift::cli::mcp
