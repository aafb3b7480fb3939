// See mechanical_fix.h.
#include "tuner/source/llm/mechanical_fix.h"

#include <algorithm>
#include <bit>
#include <sstream>

#include "core/base/words.h"
#include "core/model/knob/knob_text.h"

namespace kernelift::tuner {
namespace {

struct NameOfHip {
  std::string_view wrong, right;
};
/// Beginnings of expressions, as they are written elsewhere and in CUDA.
constexpr NameOfHip kSpellings[] = {{"__shfl(", "__shfl_sync(0xffffffffu, "},
                                    {"__shfl_up(", "__shfl_up_sync(0xffffffffu, "},
                                    {"__shfl_down(", "__shfl_down_sync(0xffffffffu, "},
                                    {"__shfl_xor(", "__shfl_xor_sync(0xffffffffu, "},
                                    {"__ballot(", "__ballot_sync(0xffffffffu, "},
                                    {"__any(", "__any_sync(0xffffffffu, "},
                                    {"__all(", "__all_sync(0xffffffffu, "},
                                    {"barrier(CLK_LOCAL_MEM_FENCE)", "__syncthreads()"},
                                    {"get_local_id(0)", "threadIdx.x"},
                                    {"get_local_id(1)", "threadIdx.y"},
                                    {"get_group_id(0)", "blockIdx.x"},
                                    {"get_group_id(1)", "blockIdx.y"},
                                    {"get_local_size(0)", "blockDim.x"},
                                    {"get_local_size(1)", "blockDim.y"},
                                    {"get_global_id(0)", "(blockIdx.x * blockDim.x + threadIdx.x)"},
                                    {"get_global_id(1)", "(blockIdx.y * blockDim.y + threadIdx.y)"},
                                    {"__local ", "__shared__ "},
                                    {"threadgroup ", "__shared__ "}};

/// The name between quotes behind `words`; empty: the text does not say them.
std::string quoted_behind(const std::string& text, std::string_view words) {
  const size_t at = text.find(words);
  if (at == text.npos) return {};
  const size_t begin = at + words.size(), end = text.find('\'', begin);
  return end == text.npos ? "" : text.substr(begin, end - begin);
}

bool is_name(const std::string& text) { return !text.empty() && end_of_word(text, 0) == text.size(); }

std::string renamed(std::string text, const std::string& from, const std::string& to) {
  auto places = whole_words(text, from);
  for (auto place = places.rbegin(); place != places.rend(); ++place) text.replace(*place, from.size(), to);
  return text;
}

/// The line of the base that defines the name as a macro or a constant; empty: none does, on one line.
std::string definition_of(const std::string& name, const std::string& base) {
  std::istringstream lines(base);
  for (std::string line; std::getline(lines, line);) {
    const std::string text = without_outer_blanks(line);
    const bool macro = text.starts_with("#define ") && end_of_word(text, 8) == 8 + name.size() &&
                       text.compare(8, name.size(), name) == 0 && !text.ends_with('\\');
    const bool constant =
        (text.starts_with("constexpr ") || text.starts_with("static constexpr ") || text.starts_with("const int ")) &&
        text.ends_with(';') && text.find(" " + name + " =") != text.npos;
    if (macro || constant) return text + "\n";
  }
  return {};
}

std::optional<MechanicalFix> fixed_name(const Candidate& candidate, const std::string& detail, const Candidate& base) {
  std::string name;
  for (auto* words : {"use of undeclared identifier '", "unknown type name '", "no matching function for call to '"})
    if (name.empty()) name = quoted_behind(detail, words);
  if (!is_name(name)) return std::nullopt;
  MechanicalFix fix{candidate, {}};
  std::string& text = fix.candidate.source;
  if (const std::string line = definition_of(name, base.source); !line.empty() && definition_of(name, text).empty()) {
    text = line + text;
    fix.what = "the definition of '" + name + "' was lost";
    return fix;
  }
  for (auto& [wrong, right] : kSpellings) {
    if (!wrong.starts_with(name) || (wrong.size() > name.size() && word_character(wrong[name.size()]))) continue;
    for (size_t at = text.find(wrong); at != text.npos; at = text.find(wrong, at + right.size()))
      if (at == 0 || !word_character(text[at - 1])) text.replace(at, wrong.size(), right);
    fix.what = "'" + name + "' is spelled otherwise in CUDA";
    if (text != candidate.source) return fix;
  }
  const std::string meant = quoted_behind(detail, "; did you mean '");
  // A name that the base has, too, is no slip of the model.
  if (!is_name(meant) || !whole_words(base.source, name).empty()) return std::nullopt;
  text = renamed(text, name, meant);
  fix.what = "'" + name + "' is '" + meant + "'";
  return text == candidate.source ? std::nullopt : std::optional(fix);
}

/// With the largest of the new constants halved, if it is a power of two: most are sizes of tiles.
std::optional<MechanicalFix> smaller(const Candidate& candidate, const Candidate& base) {
  const std::pair<const std::string, int64_t>* largest = nullptr;
  for (auto& value : candidate.values)
    if (!base.values.contains(value.first) && value.second > 1 && std::has_single_bit(uint64_t(value.second)) &&
        find_knob(candidate.source, value.first, value.second) && (!largest || value.second > largest->second))
      largest = &value;
  if (!largest) return std::nullopt;
  MechanicalFix fix{candidate, {}};
  const auto place = *find_knob(candidate.source, largest->first, largest->second);
  const std::string half = std::to_string(largest->second / 2);
  fix.candidate.source.replace(place.begin, place.end - place.begin, half);
  fix.candidate.values[largest->first] = largest->second / 2;
  fix.what = largest->first + " is " + half + ": the device has no room for more";
  return fix;
}

}  // namespace

std::optional<MechanicalFix> mechanical_fix(const Candidate& candidate, const Verdict& verdict, const Candidate& base) {
  if (verdict.outcome == Outcome::CompileFailed) return fixed_name(candidate, verdict.detail, base);
  if (verdict.outcome == Outcome::OverResources) return smaller(candidate, base);
  return std::nullopt;
}

}  // namespace kernelift::tuner
