// CMake says of each definition of a target which command of which file adds it; those that are in CMAKE_CUDA_FLAGS and
// the like have no such place, and are looked for in the application's CMake files.
#include <algorithm>
#include <fstream>
#include <set>

#include "core/base/file.h"
#include "core/base/words.h"
#include "reintegrate/flags/cmake_answer.h"
#include "reintegrate/flags/definition_place.h"

namespace fs = std::filesystem;

namespace kernelift::reintegrate {
namespace {

/// A command of a CMake file.
struct Command {
  fs::path file;
  size_t line = 0;  ///< Of its name, from 1.
  auto operator<=>(const Command&) const = default;
};

/// Where the definitions come from that a group of a target's files is compiled with; Command() for flags without a
/// place. Throws as nlohmann's functions do.
void add_origins(const Json& group, const Json& target, const fs::path& top, const Definition& definition,
                 std::set<Command>& origins) {
  auto origin_of = [&](const Json& entry) {
    if (!entry.contains("backtrace")) return Command{};
    const Json& graph = target.at("backtraceGraph");
    const Json& node = graph.at("nodes").at(entry.at("backtrace").get<size_t>());
    return Command{(top / graph.at("files").at(node.at("file").get<size_t>()).get<std::string>()).lexically_normal(),
                   node.value("line", size_t{0})};
  };
  for (auto& define : group.value("defines", Json::array()))
    if (define.at("define") == definition.word()) origins.insert(origin_of(define));
  for (auto& fragment : group.value("compileCommandFragments", Json::array())) {
    const std::string text = fragment.at("fragment");
    if (!words_in_build_file(text, 0, text.size(), definition.word(), true).empty())
      origins.insert(origin_of(fragment));
  }
}

size_t start_of_line(std::string_view text, size_t line) {
  size_t at = 0;
  for (; line > 1 && at < text.size(); --line) at = std::min(text.find('\n', at), text.size() - 1) + 1;
  return at;
}

}  // namespace

Result<DefinitionPlaces> cmake_definition(const Definition& definition, const CompiledUnit& unit,
                                          const fs::path& build_folder) {
  KERNELIFT_ASSIGN(CmakeAnswer answer, CmakeAnswer::ask(build_folder, unit.unit));
  std::set<Command> origins;
  bool of_unit = false;
  auto read = reading("CMake's answer", [&] {
    for (auto& target : answer.targets()) {
      const int mine = target.group_of(unit.unit, answer.top());
      const Json groups = target.document.value("compileGroups", Json::array());
      for (size_t i = 0; i < groups.size(); ++i) {
        const size_t before = origins.size();
        add_origins(groups[i], target.document, answer.top(), definition, origins);
        of_unit |= mine == static_cast<int>(i) && (origins.size() > before || !origins.empty());
      }
    }
    return true;
  });
  KERNELIFT_TRY(read);
  if (!of_unit)
    return refused("CMake does not say that it defines " + definition.word() + " for " + unit.unit.filename().string());
  DefinitionPlaces found;
  for (auto& origin : origins) {
    std::vector<DefinitionPlaces::Place> here;
    for (auto& file : origin.line > 0 ? std::vector{origin.file} : answer.files()) {
      KERNELIFT_ASSIGN(std::string text, read_text(file));
      size_t begin = 0, end = text.size();
      if (origin.line > 0) {
        begin = start_of_line(text, origin.line);
        const size_t open = text.find('(', begin), close = open == text.npos ? open : closing_bracket(text, open);
        end = std::min(close, text.size());
      }
      for (size_t at : words_in_build_file(text, begin, end, definition.word(), origin.line == 0))
        here.push_back({file, at + definition.name.size() + 1, at + definition.word().size()});
    }
    if (here.size() != 1)
      return refused((here.empty() ? "no text " : "more than one text ") + definition.word() + " is in " +
                     (origin.line > 0 ? origin.file.string() + ":" + std::to_string(origin.line) + ", which defines it"
                                      : "the CMake files, to which no target gives it; it may be set by an option of "
                                        "cmake or in the environment"));
    found.places.push_back(here[0]);
  }
  return found;
}

}  // namespace kernelift::reintegrate
