// Where the application's build gives a macro its value, `-DBLOCK=128`: the build system is asked, as for flags of one
// file (build_line.h), and the value must be spelled where it says. Several places of which all would have to change in
// one build are all found or none.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "reintegrate/flags/build_line.h"

namespace kernelift::reintegrate {

struct DefinitionPlaces {
  struct Place {
    std::filesystem::path file;
    uint64_t begin = 0, end = 0;  ///< The value's bytes in it.
  };
  std::vector<Place> places;
  /// The build does not see by itself which units must be compiled again: make compares times, not commands.
  bool touch_units = false;
};

struct Definition {
  std::string name, value;  ///< As the unit's command spells the value.
  std::string word() const { return name + "=" + value; }
};

/// Refused where neither CMake nor make built the unit, or no file of the build spells the value.
Result<DefinitionPlaces> places_of(const Definition& definition, const CompiledUnit& unit);

/// The two of it, each with its own way of asking.
Result<DefinitionPlaces> cmake_definition(const Definition& definition, const CompiledUnit& unit,
                                          const std::filesystem::path& build_folder);
Result<DefinitionPlaces> make_definition(const Definition& definition, const CompiledUnit& unit);

/// The offsets of `word` in bytes [begin, end) of a makefile's or CMake file's text, outside of comments, with nothing
/// around it that would belong to it. `option`: it must be behind -D.
std::vector<size_t> words_in_build_file(std::string_view text, size_t begin, size_t end, const std::string& word,
                                        bool option);

/// The candidate's text with the integers that the command line defines as they were: the application's files do not
/// hold these lines (core/model/knob/build_definition.h).
std::string with_definitions_of_build(std::string source, const Mep& mep, const Candidate& candidate);
/// Changes the knob's value in the files of the build, and names the units to be compiled again.
Status edit_definition(const PatchQuestion& question, const Knob& knob, int64_t value, PatchDraft& draft);

}  // namespace kernelift::reintegrate
