// See build_line.h.
#include "reintegrate/flags/build_line.h"

#include <set>

#include "core/base/json_member.h"
#include "core/toolchain/nvcc_command.h"

namespace fs = std::filesystem;

namespace kernelift::reintegrate {

namespace {

/// The build tree of CMake that the folder belongs to; empty: none.
fs::path cmake_build_of(fs::path folder) {
  std::error_code code;
  for (; folder.has_relative_path(); folder = folder.parent_path())
    if (fs::exists(folder / "CMakeCache.txt", code)) return folder;
  return {};
}

bool has_makefile(const fs::path& folder) {
  std::error_code code;
  for (const char* name : {"GNUmakefile", "makefile", "Makefile"})
    if (fs::exists(folder / name, code)) return true;
  return false;
}

/// As the log says; nothing where it does not, or says several.
std::optional<std::string> logged_tool(const CompiledUnit& unit, const fs::path& log) {
  std::optional<std::string> found;
  auto json = read_json(log);
  if (!json.ok() || !json->is_array()) return found;
  for (auto& entry : *json) {
    std::error_code code;
    const fs::path file = fs::path(text_member(entry, "directory")) / text_member(entry, "file");
    if (!unit.output.empty() && text_member(entry, "output") != unit.output) continue;
    if (fs::weakly_canonical(file, code) != unit.unit) continue;
    auto tool = entry.find("built_by");
    if (tool == entry.end() || !tool->is_string()) return std::nullopt;
    if (found && *found != tool->get<std::string>()) return std::nullopt;
    found = tool->get<std::string>();
  }
  return found;
}

}  // namespace

Result<CompiledUnit> CompiledUnit::of(const Mep& mep, const fs::path& log) {
  if (mep.compile_command.empty() || mep.compile_folder.empty())
    return refused("how '" + mep.unit + "' is compiled is not known, so no flag can be given to it");
  KERNELIFT_ASSIGN(CompilerCommand command, parse_compiler_command(mep.compile_command, mep.compile_folder));
  std::error_code code;
  CompiledUnit unit;
  unit.folder = fs::weakly_canonical(mep.compile_folder, code);
  unit.unit = fs::weakly_canonical(unit.folder / mep.unit, code);
  unit.output = command.output;
  unit.built_by = logged_tool(unit, log);
  return unit;
}

UnitBuilder UnitBuilder::of(const CompiledUnit& unit) {
  UnitBuilder builder;
  const std::string& tool = unit.built_by.value_or("make");
  fs::path cmake = cmake_build_of(unit.folder);
  const bool makefile = has_makefile(unit.folder);
  // Which tool CMake's tree is built with is CMake's affair.
  if (!tool.empty()) builder.cmake = cmake;
  if (builder.cmake.empty()) builder.make = makefile && tool == "make";
  if (!builder.none()) return builder;
  builder.text = "neither CMake nor make built " + unit.unit.filename().string() + " in " + unit.folder.string();
  if (makefile || !cmake.empty())
    builder.text +=
        std::string(", where the build did not use the ") + (makefile ? "makefile" : "build folder of CMake");
  return builder;
}

std::string why_no_place_for_flags(const Mep& mep, const fs::path& log) {
  auto unit = CompiledUnit::of(mep, log);
  return unit.ok() ? UnitBuilder::of(*unit).text : unit.error().message;
}

Result<BuildLine> plan_build_line(const CompiledUnit& unit, const UnitFlags& flags) {
  const std::vector<std::string> words = flags.nvcc_words();
  const UnitBuilder builder = UnitBuilder::of(unit);
  if (!builder.cmake.empty()) return cmake_line(unit, builder.cmake, words);
  if (builder.make) return make_line(unit, words);
  return refused("the flags " + flags.text() + " for " + unit.unit.filename().string() +
                 " have to be written into the application's build, and " + builder.text + ": add them by hand");
}

Status edit_build(const PatchQuestion& question, PatchDraft& draft) {
  const UnitFlags& flags = question.candidate.recipe.unit_flags;
  if (flags.is_default()) return done();
  if (!question.guard.empty())
    return refused("it is known to be right only where " + question.guard.text() + ", and its flags " + flags.text() +
                   " hold for all launches");
  KERNELIFT_ASSIGN(CompiledUnit unit, CompiledUnit::of(question.mep, question.log()));
  KERNELIFT_ASSIGN(BuildLine line, plan_build_line(unit, flags));
  KERNELIFT_ASSIGN(OpenFile * file, draft.open(line.file.string()));
  draft.add_build_line(*file, line.line);
  KERNELIFT_ASSIGN(OpenFile * source, draft.open(unit.unit.string()));
  if (line.touch_unit) draft.compile_again(*source);
  draft.notes.insert(draft.notes.end(), line.notes.begin(), line.notes.end());
  std::set<std::string> others;
  if (question.scan)
    for (auto& kernel : question.scan->kernels)
      if (kernel.id != question.mep.kernel_id && draft.same_file(kernel.definition.file, source->path))
        others.insert("'" + kernel.name + "'");
  if (others.empty()) return done();
  draft.reaches_others = true;
  draft.notes.push_back("The flags " + flags.text() + " are those of the whole file " + source->name + ": " +
                        listed({others.begin(), others.end()}) +
                        " are compiled with them, too, and only the application's own check and timing judge that.");
  return done();
}

}  // namespace kernelift::reintegrate
