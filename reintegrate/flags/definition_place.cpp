// See definition_place.h.
#include "reintegrate/flags/definition_place.h"

#include <set>

#include "core/base/words.h"
#include "reintegrate/flags/flag_watch.h"

namespace fs = std::filesystem;

namespace kernelift::reintegrate {

Result<DefinitionPlaces> places_of(const Definition& definition, const CompiledUnit& unit) {
  const UnitBuilder builder = UnitBuilder::of(unit);
  if (!builder.cmake.empty()) return cmake_definition(definition, unit, builder.cmake);
  if (builder.make) return make_definition(definition, unit);
  return refused(builder.text);
}

std::vector<size_t> words_in_build_file(std::string_view text, size_t begin, size_t end, const std::string& word,
                                        bool option) {
  // What ends a word in both languages; a value may be in quotes, of which a definition's text is the inside.
  auto goes_on = [](char c) { return word_character(c) || c == '.' || c == '-' || c == '+' || c == '=' || c == '$'; };
  std::vector<size_t> found;
  for (size_t at = text.find(word, begin); at != text.npos && at + word.size() <= end;
       at = text.find(word, at + word.size())) {
    const size_t line = text.rfind('\n', at) + 1;  // 0 where there is none.
    if (text.substr(line, at - line).find('#') != text.npos) continue;
    if (at + word.size() < text.size() && goes_on(text[at + word.size()])) continue;
    const std::string_view before = trimmed(text.substr(line, at - line));
    const bool behind_option = before.ends_with("-D");
    if (option ? !behind_option : !behind_option && at > 0 && goes_on(text[at - 1])) continue;
    found.push_back(at);
  }
  return found;
}

std::string with_definitions_of_build(std::string source, const Mep& mep, const Candidate& candidate) {
  for (auto& knob : mep.knobs) {
    auto value = candidate.values.find(knob.name);
    if (!knob.value_range.file.empty() || value == candidate.values.end() || value->second == knob.value) continue;
    const auto before = defined_by(mep.compile_command, knob.name);
    const std::string now = build_definition(knob.name, std::to_string(value->second)) + "\n";
    const size_t at = source.find(now);
    if (before && at != source.npos && (at == 0 || source[at - 1] == '\n'))
      source.replace(at, now.size(), build_definition(knob.name, *before) + "\n");
  }
  return source;
}

Status edit_definition(const PatchQuestion& question, const Knob& knob, int64_t value, PatchDraft& draft) {
  const std::string refusal = "'" + knob.name + "' is set on the compiler's command line (to " +
                              std::to_string(knob.value) + "), and the patch cannot change it to " +
                              std::to_string(value) + " there: ";
  const auto spelled = defined_by(question.mep.compile_command, knob.name);
  if (!spelled)
    return refused(refusal + "the command that compiles '" + question.mep.unit +
                   "' does not define it in one way, by -D" + knob.name + "=" + std::to_string(knob.value));
  auto unit = CompiledUnit::of(question.mep, question.log());
  if (!unit.ok()) return refused(refusal + unit.error().message);
  auto places = places_of({knob.name, *spelled}, *unit);
  if (!places.ok()) return refused(refusal + places.error().message);
  for (auto& place : places->places) {
    auto file = draft.open(place.file.string());
    if (!file.ok()) return refused(refusal + file.error().message);
    draft.add_build_value(**file, place.begin, place.end, std::to_string(value));
  }
  draft.definitions.push_back({knob.name, *spelled, std::to_string(value)});
  if (!places->touch_units) return done();
  std::set<std::string> units{unit->unit.string()};
  if (question.scan && !question.scan->database.empty())
    for (auto& [key, command] : logged_commands(question.scan->database))
      if (defined_by(command, knob.name) == spelled) units.insert(key.first);
  for (auto& name : units) {
    KERNELIFT_ASSIGN(OpenFile * source, draft.open(name));
    draft.compile_again(*source);
  }
  draft.notes.push_back("make compiles by times: after a build with the other value of '" + knob.name +
                        "', a clean one is needed.");
  return done();
}

}  // namespace kernelift::reintegrate
