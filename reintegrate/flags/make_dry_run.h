// What make says of the commands of a build by dry runs. No recipe is run, except those that make runs even then
// (marked '+').
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "reintegrate/flags/build_line.h"

namespace kernelift::reintegrate {

struct MakeVariable {
  std::string name, value;
  std::string origin;          ///< "makefile", "default", "environment".
  std::filesystem::path file;  ///< Where a makefile sets it last; absolute.
  size_t line = 0;             ///< From 1; 0: not known.
};

struct MakeDatabase {
  std::vector<std::filesystem::path> files;  ///< The makefiles, the main one first; absolute.
  std::vector<MakeVariable> variables;
};

class MakeDryRun {
 public:
  /// Refused where make is not on PATH. EXPECTS: `unit` outlives it.
  static Result<MakeDryRun> of(const CompiledUnit& unit);

  /// The commands, with these words added to make's: "--eval=LINE", "NAME=VALUE", a goal.
  Result<std::vector<std::string>> commands(std::vector<std::string> words) const;
  Result<MakeDatabase> database() const;
  /// Whether the command compiles the unit, and nothing else.
  bool compiles_unit(const std::string& line) const;

 private:
  MakeDryRun(std::filesystem::path program, const CompiledUnit& unit) : program_(std::move(program)), unit_(unit) {}
  /// What make prints.
  Result<std::string> print(std::vector<std::string> arguments) const;

  std::filesystem::path program_;
  const CompiledUnit& unit_;
  std::string printed_database_;  ///< By make -p.
};

}  // namespace kernelift::reintegrate
