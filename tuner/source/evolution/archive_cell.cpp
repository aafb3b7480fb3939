// See archive_cell.h. The text is read as words: a type or a function that the kernel's text names counts as used.
#include "tuner/source/evolution/archive_cell.h"

#include <algorithm>
#include <cctype>

#include "core/base/words.h"
#include "core/model/knob/knob_text.h"

namespace kernelift::tuner {
namespace {

using Class = ArchiveCell::Class;

/// `word` is a name of a type of so many elements: float4, double2, uchar4, half2, make_float4 is none.
uint8_t elements_of(std::string_view word) {
  constexpr std::string_view kScalars[] = {"char",   "uchar", "short",    "ushort",    "int",
                                           "uint",   "long",  "longlong", "ulonglong", "float",
                                           "double", "half",  "__half",   "ulong",     "__nv_bfloat16"};
  if (word.empty() || (word.back() != '2' && word.back() != '4')) return 1;
  const bool known = std::ranges::find(kScalars, word.substr(0, word.size() - 1)) != std::end(kScalars);
  return known ? static_cast<uint8_t>(word.back() - '0') : 1;
}

Class quarter(std::optional<double> occupancy) {
  if (!occupancy) return Class::Unknown;
  return static_cast<Class>(1 + std::clamp(static_cast<int>(*occupancy * 4), 0, 3));
}

Class registers_class(std::optional<uint64_t> registers) {
  if (!registers) return Class::Unknown;
  return *registers <= 32    ? Class::Lowest
         : *registers <= 64  ? Class::Low
         : *registers <= 128 ? Class::High
                             : Class::Highest;
}

/// An array of a fixed size among the words that follow a type, within a function: "float sums[4]".
bool declares_local_array(std::string_view text) {
  for (size_t open = text.find('['); open != text.npos; open = text.find('[', open + 1)) {
    const size_t close = text.find(']', open);
    if (close == text.npos) return false;
    // A name before it, and a type before that, in the same statement: an access has no type.
    size_t name = open;
    while (name > 0 && word_character(text[name - 1])) --name;
    size_t type = name;
    while (type > 0 && std::isspace(static_cast<unsigned char>(text[type - 1]))) --type;
    if (name == open || type == name || type == 0 || !word_character(text[type - 1])) continue;
    size_t begin = type;
    while (begin > 0 && word_character(text[begin - 1])) --begin;
    constexpr std::string_view kNoTypes[] = {"return", "case", "else", "do"};
    if (std::ranges::find(kNoTypes, text.substr(begin, type - begin)) != std::end(kNoTypes)) continue;
    const size_t statement = text.find_last_of(";{}", begin);
    const auto before =
        text.substr(statement == text.npos ? 0 : statement, begin - (statement == text.npos ? 0 : statement));
    if (before.find("__shared__") == before.npos && before.find("__constant__") == before.npos &&
        before.find("__device__") == before.npos)
      return true;
  }
  return false;
}

}  // namespace

ArchiveCell cell_of(const Candidate& candidate, const Verdict& verdict) {
  using Synchronisation = ArchiveCell::Synchronisation;
  const std::string text = blank_comments(candidate.source);
  ArchiveCell found;
  auto reaches = [&](Synchronisation how) { found.synchronisation = std::max(found.synchronisation, how); };
  bool shared = verdict.resources.shared_bytes.value_or(0) > 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = end_of_word(text, at);
    if (end == at) {
      ++at;
      continue;
    }
    const std::string_view word(&text[at], end - at);
    found.vector = std::max(found.vector, elements_of(word));
    if (word == "__shared__") shared = true;
    else if (word == "__syncthreads" || word.starts_with("__syncthreads_")) reaches(Synchronisation::Block);
    else if (word == "__syncwarp" || word.starts_with("__shfl") || word.starts_with("__reduce_") ||
             word.starts_with("__ballot") || word.starts_with("__any_sync") || word.starts_with("__all_sync"))
      reaches(Synchronisation::Warp);
    else if (word.starts_with("atomic") && word.size() > 6) reaches(Synchronisation::Atomics);
    at = end;
  }
  found.reuse = shared                       ? ArchiveCell::Reuse::Shared
                : declares_local_array(text) ? ArchiveCell::Reuse::Registers
                                             : ArchiveCell::Reuse::None;
  found.occupancy = quarter(verdict.resources.occupancy);
  found.registers = registers_class(verdict.resources.registers);
  return found;
}

std::string ArchiveCell::text() const {
  const char* const reuses[] = {"no reuse", "reuse in registers", "reuse in shared memory"};
  const char* const synchronisations[] = {"", ", warp operations", ", barriers of the block", ", atomics"};
  std::string text = reuses[static_cast<size_t>(reuse)];
  if (vector > 1) text += ", vectors of " + std::to_string(vector);
  text += synchronisations[static_cast<size_t>(synchronisation)];
  if (occupancy != Class::Unknown)
    text += ", occupancy up to " + std::to_string(25 * static_cast<int>(occupancy)) + " %";
  if (registers != Class::Unknown)
    text += registers == Class::Highest
                ? ", more than 128 registers"
                : ", at most " + std::to_string(16 << static_cast<int>(registers)) + " registers";
  return text;
}

}  // namespace kernelift::tuner
