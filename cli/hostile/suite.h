// The hostile suite: candidates that cheat or try to get out of the jail, and honest ones that must not be taken for
// them, through the real evaluator on this machine and device.
#pragma once
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "cli/hostile/trick.h"

namespace kernelift::cli {

struct SuiteOptions {
  std::filesystem::path files;    ///< tests/hostile, as installed.
  std::string device = "cpu";     ///< cpu | cuda[:N]
  std::vector<std::string> only;  ///< Kinds or names; "honest" is a kind. Empty: all.
  bool quick = false;
  bool allow_weak_jail = false;  ///< EvaluatorOptions::allow_weak_jail.
  size_t part = 1, parts = 1;    ///< Of the candidates: every `parts`th, from the `part`th.
  double seconds = 0;            ///< The most; what is left then, some of each kernel's, is left out. 0: no limit.
  /// Is told of each candidate when it is judged: its number, of how many.
  std::function<void(const std::string& line, size_t number, size_t count)> progress = {};
};

enum class Standing {
  Held,       ///< It got a verdict that it must get, and reached nothing.
  Believed,   ///< Taken for faster, or for right where it is not.
  Outside,    ///< It reached something outside its jail.
  Otherwise,  ///< It was not believed, but got another verdict than it must.
  Refused,    ///< An honest one that was refused or called wrong: a false alarm.
};
const char* name(Standing);

struct SuiteFinding {
  Trick trick;
  Standing standing = Standing::Held;
  std::string verdict;  ///< In words.
  std::vector<std::string> reached;
  std::string terminal;  ///< The beginning of what was written to the terminal meanwhile, by whomever.
  double seconds = 0;
};

struct SuiteReport {
  std::string device;
  std::vector<SuiteFinding> findings;
  std::vector<std::string> notes;  ///< Of no one candidate: processes that outlived their judge.
  size_t left_out = 0;             ///< For lack of time.
  double seconds = 0;
  size_t count(Standing) const;
  /// Nothing was believed, nothing got out, no honest one was refused, but for the gaps that are known to be open.
  bool holds() const;
  /// The table by kind, and everything that did not hold.
  std::string text() const;
  Json json() const;
};

/// All candidates in the files, without those that the rewrite rules make.
Result<std::vector<Trick>> read_tricks(const std::filesystem::path& files);

/// EXPECTS: this process has one thread.
Result<SuiteReport> run_suite(const SuiteOptions& options);

/// How the evaluation of a candidate stands to what it must get; `reached`: whether it reached anything.
Standing standing_of(const Trick& trick, const Evaluation& evaluation, bool reached);

/// The folder of the installed suite.
std::filesystem::path hostile_folder();

}  // namespace kernelift::cli
