// See launch_pointers.h. Only the spelled text is compared: two variables may hold the same pointer unnoticed, at the
// site that was recorded as at any other. That they do not is a premise of what is made of it.
#include "tuner/source/rules/launch_pointers.h"

#include <algorithm>
#include <map>

#include "core/base/places.h"
#include "tuner/source/rules/kernel_source.h"

namespace kernelift::tuner {
namespace {

/// Position of the first character of `wanted` outside all brackets, from `begin` on; "::" and "->" are skipped.
size_t outside_brackets(const std::string& text, const char* wanted, size_t begin = 0) {
  int depth = 0;
  for (size_t at = begin; at < text.size(); ++at) {
    bool wants = depth == 0 && at > 0 && std::string_view(wanted).find(text[at]) != std::string_view::npos;
    if (text.compare(at, 2, "::") == 0 || text.compare(at, 2, "->") == 0) ++at;
    else if (wants) return at;
    else if (std::string_view("([{").find(text[at]) != std::string_view::npos) ++depth;
    else if (std::string_view(")]}").find(text[at]) != std::string_view::npos) --depth;
  }
  return text.npos;
}

/// Past the bracket that closes the one at the beginning.
size_t past_bracket(const std::string& text) {
  int depth = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    if (std::string_view("([{").find(text[at]) != std::string_view::npos) ++depth;
    else if (std::string_view(")]}").find(text[at]) != std::string_view::npos && --depth == 0) return at + 1;
  }
  return text.size();
}

/// The variables that a pointer expression without blanks is based on: "a" of "&a[n]", "x" and "y" of "inplace?x:y".
void add_bases(std::string text, std::set<std::string>& bases) {
  for (;;) {
    if (size_t ask = outside_brackets(text, "?"); ask != text.npos) {
      for (size_t begin = ask + 1; begin < text.size();) {
        size_t end = std::min(outside_brackets(text, "?:", begin), text.size());
        add_bases(text.substr(begin, end - begin), bases);
        begin = end + 1;
      }
      return;
    }
    if (size_t sum = outside_brackets(text, "+-"); sum != text.npos) text.resize(sum);
    bool cast =
        text.starts_with("static_cast<") || text.starts_with("reinterpret_cast<") || text.starts_with("const_cast<");
    if (size_t open = text.find(">("); cast && open != text.npos) {
      text.erase(0, open + 1);
    } else if (text.starts_with("(")) {
      size_t end = past_bracket(text);
      if (end == text.size()) text = text.substr(1, end - 2);
      else if (text[end - 2] == '*') text.erase(0, end);
      else break;
    } else if (text.starts_with("&")) {
      text.erase(0, 1);
      size_t subscript = text.npos;  // The last one.
      for (size_t at = 0; (at = outside_brackets(text, "[", at)) != text.npos; at += past_bracket(text.substr(at)))
        subscript = at;
      if (subscript != text.npos && text.ends_with("]")) text.resize(subscript);
    } else {
      break;
    }
  }
  if (!text.empty() && text != "nullptr" && text != "NULL" && text != "0") bases.insert(text);
}

}  // namespace

std::set<size_t> pointers_shared_at_sites(const Mep& mep) {
  std::set<size_t> pointers, shared;
  for (size_t p = 0; p < mep.parameters.size(); ++p)
    if (!mep.parameters[p].pointee.empty()) pointers.insert(p);
  if (!mep.unseen_launches.empty()) return pointers;
  const auto launches = mep.all_launches();
  for (auto* launch : launches) {
    auto& site = *launch;
    std::map<std::string, std::set<size_t>> ways;
    for (size_t p : pointers) {
      if (p >= site.argument_text.size()) {
        if (launches.size() > 1) return pointers;  // A single one is the one that was recorded.
        continue;
      }
      std::set<std::string> bases;
      add_bases(squeezed(site.argument_text[p]), bases);
      for (auto& base : bases) ways[base].insert(p);
    }
    for (auto& [base, parameters] : ways)
      for (auto& [other, more] : ways)
        if (base == other ? parameters.size() > 1 : may_be_one_place(base, other))
          shared.insert(parameters.begin(), parameters.end()), shared.insert(more.begin(), more.end());
    for (auto& [first, second] : site.one_memory)
      if (pointers.contains(first) && pointers.contains(second)) shared.insert({first, second});
  }
  return shared;
}

}  // namespace kernelift::tuner
