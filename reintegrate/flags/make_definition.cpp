// make is asked by dry runs which of its variables is the value: with another one in it, every command that defines the
// macro so must define it otherwise, and nothing else may change. Where none is, the text `-DNAME=VALUE` must be once
// in the makefiles.
#include <algorithm>

#include "core/base/file.h"
#include "core/base/process.h"
#include "core/base/words.h"
#include "core/model/knob/build_definition.h"
#include "reintegrate/flags/definition_place.h"
#include "reintegrate/flags/make_dry_run.h"

namespace fs = std::filesystem;

namespace kernelift::reintegrate {
namespace {

constexpr size_t kMostTried = 16;

std::vector<std::vector<std::string>> in_words(const std::vector<std::string>& commands) {
  std::vector<std::vector<std::string>> all;
  for (auto& command : commands)
    if (auto words = split_command(command); words.ok()) all.push_back(*words);
  return all;
}

/// The value in `NAME = VALUE`, `NAME ?= VALUE` or `NAME := VALUE` at the line.
std::optional<DefinitionPlaces::Place> value_of(const MakeVariable& variable) {
  auto text = read_text(variable.file);
  if (!text.ok() || variable.line == 0) return std::nullopt;
  size_t begin = 0;
  for (size_t line = 1; line < variable.line; ++line) {
    begin = text->find('\n', begin);
    if (begin++ == text->npos) return std::nullopt;
  }
  const size_t end = std::min(text->find('\n', begin), text->size()), sign = text->find('=', begin);
  if (sign >= end) return std::nullopt;
  const size_t value = text->find_first_not_of(" \t", sign + 1), stop = value + variable.value.size();
  const bool spelled = value < end && stop <= end && text->compare(value, variable.value.size(), variable.value) == 0 &&
                       (stop == end || !word_character((*text)[stop]));
  return spelled ? std::optional(DefinitionPlaces::Place{variable.file, value, stop}) : std::nullopt;
}

}  // namespace

Result<DefinitionPlaces> make_definition(const Definition& definition, const CompiledUnit& unit) {
  KERNELIFT_ASSIGN(MakeDryRun make, MakeDryRun::of(unit));
  KERNELIFT_ASSIGN(MakeDatabase database, make.database());
  DefinitionPlaces found;
  found.touch_units = true;
  KERNELIFT_ASSIGN(auto commands, make.commands({}));
  const auto before = in_words(commands);
  auto wanted = before;
  const std::string other = definition.value + "1";  // Any other number.
  for (auto& command : wanted) command = redefined(command, definition.name, definition.value, other);
  if (wanted == before)
    return refused("make does not say that a command defines " + definition.word() + " in " + unit.folder.string());
  size_t tried = 0;
  for (auto& variable : database.variables) {
    if (variable.origin != "makefile" || variable.value != definition.value || tried++ == kMostTried) continue;
    auto after = make.commands({variable.name + "=" + other});
    if (!after.ok() || in_words(*after) != wanted) continue;
    if (auto place = value_of(variable)) return found.places.push_back(*place), found;
  }
  for (auto& file : database.files) {
    KERNELIFT_ASSIGN(std::string text, read_text(file));
    for (size_t at : words_in_build_file(text, 0, text.size(), definition.word(), true))
      found.places.push_back({file, at + definition.name.size() + 1, at + definition.word().size()});
  }
  if (found.places.size() == 1) return found;
  return refused((found.places.empty() ? "no text -D" : "more than one text -D") + definition.word() +
                 " is in the makefiles of " + unit.folder.string() +
                 (found.places.empty() ? "; it may be set by an argument of make or in the environment" : ""));
}

}  // namespace kernelift::reintegrate
