// The line of the application's own build that gives flags to the compiler of one file. The build system itself is
// asked where it belongs: CMake by its file API for the CMakeLists.txt that adds the target, make by dry runs for the
// variable that reaches the file's command and no other's. Nothing is guessed from the text of a build file.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/model/candidate/unit_flags.h"
#include "core/model/mep.h"
#include "reintegrate/patch/patch_draft.h"

namespace kernelift::reintegrate {

struct BuildLine {
  std::filesystem::path file;      ///< Gets the line at its end.
  std::string line;                ///< Without an end.
  std::vector<std::string> notes;  ///< What else it reaches: one sentence each.
  /// The build does not see by itself that the unit must be compiled again: make compares times, not commands.
  bool touch_unit = false;
};

/// How the MEP's unit was compiled, as far as a build system is asked about it.
struct CompiledUnit {
  std::filesystem::path unit;    ///< Absolute.
  std::filesystem::path folder;  ///< In which its command ran.
  std::string output;            ///< As the command spells it.
  /// The build tool that started the command, "make" or "ninja"; "" for none. Absent: not known.
  std::optional<std::string> built_by = {};

  /// `log`: the compile commands of the build, by which the tool is known. Refused where the command is not known.
  static Result<CompiledUnit> of(const Mep& mep, const std::filesystem::path& log = {});
};

/// What can be asked how the unit is compiled. A makefile or a CMake tree that only lies there, while the build calls
/// the compiler itself, is not: what is written into it would reach nothing.
struct UnitBuilder {
  std::filesystem::path cmake;  ///< The build tree of CMake; empty: it is not CMake.
  bool make = false;            ///< A makefile.
  std::string text;  ///< If neither: "neither CMake nor make built k.cu in /app", with what lies there unused.
  bool none() const { return cmake.empty() && !make; }

  static UnitBuilder of(const CompiledUnit& unit);
};

/// Why flags of the MEP's file cannot be written into the application's build, as far as that is known without asking
/// the build system; empty: perhaps they can.
std::string why_no_place_for_flags(const Mep& mep, const std::filesystem::path& log);

/// Refused where the build is neither CMake's nor make's, or the flags cannot reach the unit alone; the sentence names
/// the flags.
Result<BuildLine> plan_build_line(const CompiledUnit& unit, const UnitFlags& flags);

/// The two of it, each with its own way of asking.
Result<BuildLine> cmake_line(const CompiledUnit& unit, const std::filesystem::path& build_folder,
                             const std::vector<std::string>& flags);
Result<BuildLine> make_line(const CompiledUnit& unit, const std::vector<std::string>& flags);

/// Adds to the draft the line for the candidate's flags of the unit, with notes on what else they reach; nothing
/// without such flags. Refused, too, where the candidate is right at some launches only: no flag can ask that.
Status edit_build(const PatchQuestion& question, PatchDraft& draft);

}  // namespace kernelift::reintegrate
