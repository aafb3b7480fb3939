// See passed_twice.h.
#include "sandbox/evaluate/passed_twice.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "core/base/places.h"
#include "core/base/words.h"
#include "core/legality/index/polynomial.h"
#include "core/model/launch/expression.h"

namespace kernelift::sandbox {
namespace {

/// A pointer's text as an object and what is added to it: "pool" and "+ n" of "pool + n".
struct Place {
  std::string_view object, offset;
};
Place place_of(std::string_view text) {
  size_t end = 0;
  while (end < text.size() && (word_character(text[end]) || text[end] == '.' || text[end] == ':' ||
                               text.substr(end, 2) == "->" || text.substr(end ? end - 1 : 0, 2) == "->"))
    ++end;
  return {text.substr(0, end), trimmed(text.substr(end))};
}

/// Whether two offsets differ, if all sizes in them are at least 1: `n * m` is none of 0, `2 * n` none of `n`. `from *
/// n` and `to * n` may be one.
bool are_apart(std::string_view one, std::string_view other) {
  constexpr size_t kMostNodes = 40;
  const auto first = Expression::parse("0" + std::string(one)), second = Expression::parse("0" + std::string(other));
  if (!first.ok() || !second.ok() || first->size() + second->size() > kMostNodes) return false;
  const auto difference = legality::Polynomial::of(Expression::binary(Expression::Op::Subtract, *first, *second));
  if (!difference) return false;
  const auto& products = difference->products();
  const auto positive = std::ranges::count_if(products, [](auto& product) { return product.second > 0; });
  return !products.empty() && (positive == 0 || positive == std::ssize(products));
}

bool at_different_places(const LaunchSite& site, size_t p, size_t q) {
  const auto& texts = site.argument_text;
  if (std::max(p, q) >= texts.size()) return false;
  const Place one = place_of(texts[p]), other = place_of(texts[q]);
  auto is_offset = [](std::string_view text) { return text.empty() || text[0] == '+' || text[0] == '-'; };
  return !one.object.empty() && one.object == other.object && is_offset(one.offset) && is_offset(other.offset) &&
         are_apart(one.offset, other.offset);
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
