// make is asked by dry runs. Which variable is in the file's command: each that holds options gets a probe for the
// file's target alone (--eval), and the printed commands show which ones arrive. Whether it reaches others: the
// commands of a whole dry run with the line and without it. No recipe is run, except those that make runs even then
// (marked '+').
#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "core/base/process.h"
#include "core/toolchain/nvcc_command.h"
#include "reintegrate/app_commands.h"
#include "reintegrate/flags/build_line.h"

namespace fs = std::filesystem;

namespace kernelift::reintegrate {
namespace {

constexpr std::chrono::minutes kDryRunLimit{2};
constexpr size_t kMostProbes = 200;

class Make {
 public:
  Make(fs::path program, const CompiledUnit& unit) : program_(std::move(program)), unit_(unit) {}

  /// What make prints.
  Result<std::string> print(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), program_.string());
    ProcessOptions options;
    options.folder = unit_.folder, options.timeout = kDryRunLimit, options.output_limit = 64 << 20;
    options.environment = {{"LC_ALL", "C"}, {"MAKEFLAGS", ""}};
    KERNELIFT_ASSIGN(ProcessOutcome ran, run_process(arguments, options));
    if (ran.ok()) return std::move(ran.out);
    return refused("make was asked how it compiles " + unit_.unit.string() + ", and it " + ran.describe() + ":\n" +
                   last_lines(ran.out + ran.err));
  }

  /// The commands of a dry run, with these lines added to the makefile.
  Result<std::vector<std::string>> commands(const std::vector<std::string>& lines, const std::string& goal = {}) const {
    std::vector<std::string> arguments{"-n", "-B"};
    for (auto& line : lines) arguments.push_back("--eval=" + line);
    if (!goal.empty()) arguments.push_back(goal);
    KERNELIFT_ASSIGN(std::string text, print(std::move(arguments)));
    std::vector<std::string> found;
    std::istringstream stream(text);
    bool goes_on = false;
    for (std::string line; std::getline(stream, line);) {
      const bool continued = line.ends_with('\\');
      if (continued) line.pop_back();
      if (goes_on) found.back() += line;
      else found.push_back(line);
      goes_on = continued;
    }
    return found;
  }

  /// Whether the command compiles the unit, and nothing else.
  bool compiles_unit(const std::string& line) const {
    auto words = split_command(line);
    if (!words.ok() || words->empty()) return false;
    auto command = parse_compiler_command(*words, unit_.folder);
    if (!command.ok() || command->inputs.size() != 1) return false;
    std::error_code code;
    return fs::weakly_canonical(unit_.folder / command->inputs[0].file, code) == unit_.unit;
  }

 private:
  fs::path program_;
  const CompiledUnit& unit_;
};

struct Database {
  std::string makefile;
  std::vector<std::string> variables;  ///< That hold options, those of the makefiles before make's own.
};

/// From `make -p`: a comment that says where a variable comes from, then "NAME = value".
Result<Database> database_of(const Make& make, const std::string& goal) {
  KERNELIFT_ASSIGN(std::string text, make.print({"-n", "-p", goal}));
  Database database;
  std::vector<std::string> own, others;
  std::istringstream lines(text);
  std::string origin;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("# ")) {
      origin = line.substr(2);
      continue;
    }
    const std::string from = std::exchange(origin, {});
    std::istringstream words(line);
    std::string name, sign, value;
    if (from.empty() || !(words >> name >> sign) || (sign != "=" && sign != ":=" && sign != "::=")) continue;
    std::getline(words >> std::ws, value);
    if (name == "MAKEFILE_LIST") std::istringstream(value) >> database.makefile;
    // Options, or what others make options of: not the name of a program or a file.
    if (!value.empty() && value[0] != '-' && value[0] != '$') continue;
    if (from.starts_with("makefile")) own.push_back(name);
    else if (from.starts_with("default") || from.starts_with("environment")) others.push_back(name);
  }
  std::ranges::sort(own), std::ranges::sort(others);
  database.variables = std::move(own);
  database.variables.insert(database.variables.end(), others.begin(), others.end());
  if (database.variables.size() > kMostProbes) database.variables.resize(kMostProbes);
  if (database.makefile.empty()) return refused("make names no makefile in its database");
  return database;
}

std::string probe(size_t number) { return "-Dkernelift_probe_" + std::to_string(number) + "_"; }

/// The variables whose values are words of the unit's command, in their order.
Result<std::vector<std::string>> variables_of_unit(const Make& make, const CompiledUnit& unit,
                                                   const std::vector<std::string>& variables) {
  std::vector<std::string> lines, arrived;
  for (size_t i = 0; i < variables.size(); ++i) lines.push_back(unit.output + ": " + variables[i] + " += " + probe(i));
  KERNELIFT_ASSIGN(auto commands, make.commands(lines, unit.output));
  std::set<std::string> words;
  for (auto& command : commands)
    if (auto split = split_command(command); split.ok() && make.compiles_unit(command))
      words.insert(split->begin(), split->end());
  for (size_t i = 0; i < variables.size(); ++i)
    if (words.contains(probe(i))) arrived.push_back(variables[i]);
  return arrived;
}

/// A command of another file that the line changes; empty: there is none.
std::string other_reached(const Make& make, std::vector<std::string> before, std::vector<std::string> after) {
  std::ranges::sort(before), std::ranges::sort(after);
  std::vector<std::string> changed;
  std::ranges::set_difference(after, before, std::back_inserter(changed));
  for (auto& command : changed)
    if (!make.compiles_unit(command)) return command;
  return {};
}

}  // namespace

Result<BuildLine> make_line(const CompiledUnit& unit, const std::vector<std::string>& flags) {
  auto program = find_program("make");
  if (!program) return refused("a makefile builds " + unit.unit.string() + ", but make is not on PATH");
  if (unit.output.empty())
    return refused("the command that compiles " + unit.unit.string() + " names no output (-o), by which make knows it");
  const Make make(*program, unit);
  KERNELIFT_ASSIGN(Database database, database_of(make, unit.output));
  KERNELIFT_ASSIGN(auto variables, variables_of_unit(make, unit, database.variables));
  if (variables.empty())
    return refused("no variable of " + (unit.folder / database.makefile).string() +
                   " is in the command that compiles " + unit.unit.filename().string() +
                   " alone, so its flags cannot be set by one line");
  KERNELIFT_ASSIGN(auto before, make.commands({}));
  std::string reached;
  for (auto& variable : variables) {
    BuildLine line;
    line.file = unit.folder / database.makefile;
    line.line = unit.output + ": " + variable + " +=";
    for (auto& flag : flags) line.line += " " + flag;
    KERNELIFT_ASSIGN(auto after, make.commands({line.line}));
    if (reached = other_reached(make, before, after); !reached.empty()) continue;
    line.touch_unit = true;
    line.notes.push_back("make compiles by times: whoever has built " + unit.output +
                         " already compiles it again by touching " + unit.unit.filename().string() + ".");
    return line;
  }
  return refused("a line for " + unit.output + " in " + (unit.folder / database.makefile).string() +
                 " would reach another command, too: " + reached.substr(0, 200));
}

}  // namespace kernelift::reintegrate
