// See make_dry_run.h.
#include "reintegrate/flags/make_dry_run.h"

#include <algorithm>
#include <sstream>

#include "core/base/process.h"
#include "core/toolchain/nvcc_command.h"
#include "reintegrate/app_commands.h"

namespace fs = std::filesystem;

namespace kernelift::reintegrate {
namespace {

constexpr std::chrono::minutes kDryRunLimit{2};

/// From "makefile (from 'rules.mk', line 3)".
void read_origin(const std::string& comment, const fs::path& folder, MakeVariable& variable) {
  constexpr std::string_view kFrom = " (from ", kLine = ", line ";
  const size_t from = comment.find(kFrom), line = comment.rfind(kLine);
  variable.origin = comment.substr(0, comment.find_first_of(" ("));
  if (from == comment.npos || line == comment.npos || line < from + kFrom.size() + 2) return;
  const size_t begin = from + kFrom.size() + 1;  // Behind the quote.
  variable.file = fs::absolute(folder / comment.substr(begin, line - 1 - begin)).lexically_normal();
  std::istringstream(comment.substr(line + kLine.size())) >> variable.line;
}

/// What a database gives a variable of make's own, word by word.
std::vector<std::string> words_of(const std::string& database, std::string_view variable) {
  std::vector<std::string> found;
  std::istringstream lines(database);
  for (std::string line, name, sign; std::getline(lines, line);) {
    std::istringstream words(line);
    if (!(words >> name >> sign) || name != variable || sign.find('=') == sign.npos) continue;
    for (std::string word; words >> word;) found.push_back(word);
    break;
  }
  return found;
}

}  // namespace

Result<MakeDryRun> MakeDryRun::of(const CompiledUnit& unit) {
  auto program = find_program("make");
  if (!program) return refused("a makefile builds " + unit.unit.string() + ", but make is not on PATH");
  if (unit.output.empty())
    return refused("the command that compiles " + unit.unit.string() + " names no output (-o), by which make knows it");
  MakeDryRun make(*program, unit);
  KERNELIFT_ASSIGN(make.printed_database_, make.print({"-n", "-p", unit.output}));
  return make;
}

Result<std::string> MakeDryRun::print(std::vector<std::string> arguments) const {
  arguments.insert(arguments.begin(), program_.string());
  ProcessOptions options;
  options.folder = unit_.folder, options.timeout = kDryRunLimit, options.output_limit = 64 << 20;
  options.environment = {{"LC_ALL", "C"}, {"MAKEFLAGS", ""}};
  KERNELIFT_ASSIGN(ProcessOutcome ran, run_process(arguments, options));
  if (ran.ok()) return std::move(ran.out);
  return refused("make was asked how it compiles " + unit_.unit.string() + ", and it " + ran.describe() + ":\n" +
                 last_lines(ran.out + ran.err));
}

Result<std::vector<std::string>> MakeDryRun::commands(std::vector<std::string> words) const {
  // Makefiles that rules make are made even by a dry run, unless they are among its goals.
  const bool has_goal =
      std::ranges::any_of(words, [](auto& word) { return !word.starts_with('-') && word.find('=') == word.npos; });
  auto goals = has_goal ? std::vector<std::string>() : words_of(printed_database_, ".DEFAULT_GOAL");
  const bool named = has_goal || !goals.empty();
  words.insert(words.begin(), {"-n", "-B"});
  words.insert(words.end(), goals.begin(), goals.end());
  for (auto& makefile : named ? words_of(printed_database_, "MAKEFILE_LIST") : std::vector<std::string>())
    words.push_back(makefile);
  KERNELIFT_ASSIGN(std::string text, print(std::move(words)));
  std::vector<std::string> found;
  std::istringstream stream(text);
  bool continues = false;
  for (std::string line; std::getline(stream, line);) {
    const bool continued = line.ends_with('\\');
    if (continued) line.pop_back();
    if (continues) found.back() += line;
    else found.push_back(line);
    continues = continued;
  }
  return found;
}

bool MakeDryRun::compiles_unit(const std::string& line) const {
  auto words = split_command(line);
  if (!words.ok() || words->empty()) return false;
  auto command = parse_compiler_command(*words, unit_.folder);
  if (!command.ok() || command->inputs.size() != 1) return false;
  std::error_code code;
  return fs::weakly_canonical(unit_.folder / command->inputs[0].file, code) == unit_.unit;
}

/// From `make -p`: a comment that says where a variable comes from, then "NAME = value".
Result<MakeDatabase> MakeDryRun::database() const {
  MakeDatabase database;
  std::istringstream lines(printed_database_);
  std::string origin;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("# ")) {
      origin = line.substr(2);
      continue;
    }
    const std::string from = std::exchange(origin, {});
    std::istringstream words(line);
    MakeVariable variable;
    std::string sign;
    if (from.empty() || !(words >> variable.name >> sign) || (sign != "=" && sign != ":=" && sign != "::=")) continue;
    std::getline(words >> std::ws, variable.value);
    read_origin(from, unit_.folder, variable);
    if (variable.name == "MAKEFILE_LIST") {
      std::istringstream files(variable.value);
      for (std::string file; files >> file;)
        database.files.push_back(fs::absolute(unit_.folder / file).lexically_normal());
    }
    database.variables.push_back(std::move(variable));
  }
  if (database.files.empty()) return refused("make names no makefile in its database");
  return database;
}

}  // namespace kernelift::reintegrate
