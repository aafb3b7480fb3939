// See passed_twice.h.
#include "sandbox/evaluate/passed_twice.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "core/base/places.h"
#include "core/base/words.h"

namespace kernelift::sandbox {
namespace {

/// The object that a pointer's text begins with: "pool" of "pool + n", "g.u", "s->u"; empty: it has another form.
std::string_view object_of(std::string_view text) {
  size_t end = 0;
  while (end < text.size() && (word_character(text[end]) || text[end] == '.' || text[end] == ':' ||
                               text.substr(end, 2) == "->" || text.substr(end ? end - 1 : 0, 2) == "->"))
    ++end;
  return text.substr(0, end);
}

bool at_different_places(const LaunchSite& site, size_t p, size_t q) {
  const auto& texts = site.argument_text;
  return std::max(p, q) < texts.size() && texts[p] != texts[q] && !object_of(texts[p]).empty() &&
         object_of(texts[p]) == object_of(texts[q]);
}

/// The argument is an element of an array of pointers.
bool is_element(const LaunchSite& site, size_t p) {
  return !site.argument_types.contains(p) && site.argument_text[p].ends_with("]") && site.argument_text[p][0] != '&';
}

}  // namespace

std::set<std::pair<size_t, size_t>> passed_twice(const LaunchSite& site) {
  std::set<std::pair<size_t, size_t>> pairs;
  for (auto& [p, q] : site.one_memory)
    if (!at_different_places(site, p, q)) pairs.emplace(p, q);
  // `buffers[k], buffers[0]`
  for (size_t q = 0; q < site.argument_text.size(); ++q)
    for (size_t p = 0; p < q; ++p)
      if (is_element(site, p) && is_element(site, q) &&
          may_be_one_place(without_blanks(site.argument_text[p]), without_blanks(site.argument_text[q])))
        pairs.emplace(p, q);
  return pairs;
}

}  // namespace kernelift::sandbox
