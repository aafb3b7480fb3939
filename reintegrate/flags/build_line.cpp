// See build_line.h.
#include "reintegrate/flags/build_line.h"

#include <set>

#include "core/toolchain/nvcc_command.h"

namespace fs = std::filesystem;

namespace kernelift::reintegrate {

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

Result<CompiledUnit> CompiledUnit::of(const Mep& mep) {
  if (mep.compile_command.empty() || mep.compile_folder.empty())
    return refused("how '" + mep.unit + "' is compiled is not known, so no flag can be given to it");
  KERNELIFT_ASSIGN(CompilerCommand command, parse_compiler_command(mep.compile_command, mep.compile_folder));
  std::error_code code;
  CompiledUnit unit;
  unit.folder = fs::weakly_canonical(mep.compile_folder, code);
  unit.unit = fs::weakly_canonical(unit.folder / mep.unit, code);
  unit.output = command.output;
  return unit;
}

Result<BuildLine> plan_build_line(const CompiledUnit& unit, const UnitFlags& flags) {
  const std::vector<std::string> words = flags.nvcc_words();
  if (const fs::path build = cmake_build_of(unit.folder); !build.empty()) return cmake_line(unit, build, words);
  if (has_makefile(unit.folder)) return make_line(unit, words);
  return refused("the flags " + flags.text() + " for " + unit.unit.filename().string() +
                 " have to be written into the application's build, and neither CMake nor make built it in " +
                 unit.folder.string() + ": add them by hand");
}

Status edit_build(const PatchQuestion& question, PatchDraft& draft) {
  const UnitFlags& flags = question.candidate.recipe.unit_flags;
  if (flags.is_default()) return done();
  if (!question.guard.empty())
    return refused("it is right only where " + question.guard.text() + ", and its flags " + flags.text() +
                   " hold for all launches");
  KERNELIFT_ASSIGN(CompiledUnit unit, CompiledUnit::of(question.mep));
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
