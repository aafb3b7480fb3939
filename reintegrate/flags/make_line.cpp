// make is asked by dry runs. Which variable is in the file's command: each that holds options gets a probe for the
// file's target alone (--eval), and the printed commands show which ones arrive. Whether it reaches others: the
// commands of a whole dry run with the line and without it.
#include <algorithm>
#include <set>

#include "core/base/process.h"
#include "reintegrate/flags/build_line.h"
#include "reintegrate/flags/make_dry_run.h"

namespace fs = std::filesystem;

namespace kernelift::reintegrate {
namespace {

constexpr size_t kMostProbes = 200;

/// Variables that hold options, or what others make options of: not the name of a program or a file. Those of the
/// makefiles come before make's own.
std::vector<std::string> holding_options(const MakeDatabase& database) {
  std::vector<std::string> own, others;
  for (auto& variable : database.variables) {
    if (!variable.value.empty() && variable.value[0] != '-' && variable.value[0] != '$') continue;
    if (variable.origin == "makefile") own.push_back(variable.name);
    else if (variable.origin == "default" || variable.origin == "environment") others.push_back(variable.name);
  }
  std::ranges::sort(own), std::ranges::sort(others);
  own.insert(own.end(), others.begin(), others.end());
  if (own.size() > kMostProbes) own.resize(kMostProbes);
  return own;
}

std::string probe(size_t number) { return "-Dkernelift_probe_" + std::to_string(number) + "_"; }

/// The variables whose values are words of the unit's command, in their order.
Result<std::vector<std::string>> variables_of_unit(const MakeDryRun& make, const CompiledUnit& unit,
                                                   const std::vector<std::string>& variables) {
  std::vector<std::string> lines, arrived;
  for (size_t i = 0; i < variables.size(); ++i)
    lines.push_back("--eval=" + unit.output + ": " + variables[i] + " += " + probe(i));
  lines.push_back(unit.output);
  KERNELIFT_ASSIGN(auto commands, make.commands(std::move(lines)));
  std::set<std::string> words;
  for (auto& command : commands)
    if (auto split = split_command(command); split.ok() && make.compiles_unit(command))
      words.insert(split->begin(), split->end());
  for (size_t i = 0; i < variables.size(); ++i)
    if (words.contains(probe(i))) arrived.push_back(variables[i]);
  return arrived;
}

/// A command of another file that the line changes; empty: there is none.
std::string other_reached(const MakeDryRun& make, std::vector<std::string> before, std::vector<std::string> after) {
  std::ranges::sort(before), std::ranges::sort(after);
  std::vector<std::string> changed;
  std::ranges::set_difference(after, before, std::back_inserter(changed));
  for (auto& command : changed)
    if (!make.compiles_unit(command)) return command;
  return {};
}

}  // namespace

Result<BuildLine> make_line(const CompiledUnit& unit, const std::vector<std::string>& flags) {
  KERNELIFT_ASSIGN(MakeDryRun make, MakeDryRun::of(unit));
  KERNELIFT_ASSIGN(MakeDatabase database, make.database());
  const fs::path& makefile = database.files[0];
  KERNELIFT_ASSIGN(auto variables, variables_of_unit(make, unit, holding_options(database)));
  if (variables.empty())
    return refused("no variable of " + makefile.string() + " is in the command that compiles " +
                   unit.unit.filename().string() + " alone, so its flags cannot be set by one line");
  KERNELIFT_ASSIGN(auto before, make.commands({}));
  std::string reached;
  for (auto& variable : variables) {
    BuildLine line;
    line.file = makefile;
    line.line = unit.output + ": " + variable + " +=";
    for (auto& flag : flags) line.line += " " + flag;
    KERNELIFT_ASSIGN(auto after, make.commands({"--eval=" + line.line}));
    if (reached = other_reached(make, before, after); !reached.empty()) continue;
    line.touch_unit = true;
    line.notes.push_back("make compiles by times: whoever has built " + unit.output +
                         " already compiles it again by touching " + unit.unit.filename().string() + ".");
    return line;
  }
  return refused("a line for " + unit.output + " in " + makefile.string() +
                 " would reach another command, too: " + reached.substr(0, 200));
}

}  // namespace kernelift::reintegrate
