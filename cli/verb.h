// One verb of the command line: `kernelift NAME …`. Each verb is defined in cli/verbs/NAME.cpp and listed in main.cpp's
// table; main() finds it, parses its options and prints its error. Verbs contain no logic of their stage: they parse
// options, call the stage's library, and print.
#pragma once
#include <CLI/CLI.hpp>
#include <filesystem>
#include <functional>
#include <string>

#include "core/base/json.h"
#include "core/base/result.h"
#include "core/base/words.h"

namespace kernelift::cli {

/// The options common to all verbs, and the output functions. With --json one document goes to stdout and all other
/// output to stderr.
struct Context {
  bool json = false;
  std::string device = "auto";  ///< auto | cpu | cuda[:N] | hip[:N]
  std::string state;            ///< --state DIR; empty: searched upwards from the working folder.
  int verbosity = 0;
  char** arguments = nullptr;  ///< argv; [0] is used in messages that name a command to type.

  std::filesystem::path state_folder() const;
  /// Prints the verb's one JSON document (--json only).
  void emit(const Json& document) const;
  /// Prints readable text: to stdout, or to stderr with --json.
  void say(const std::string& text) const;
  /// Prints progress and warnings to stderr.
  void note(const std::string& text) const;
  bool terminal() const;  ///< True if stderr is a terminal, on which a progress line can be updated in place.
};

/// Adds --lock-clocks, an option of every verb that times a kernel.
inline void add_lock_clocks(CLI::App& app, bool& wanted) {
  app.add_flag("--lock-clocks", wanted, "Lock the GPU's clocks at their base frequency while timing (needs root)");
}

/// Adds --allow-weak-jail, an option of every verb that runs candidates.
inline void add_allow_weak_jail(CLI::App& app, bool& wanted) {
  app.add_flag("--allow-weak-jail", wanted,
               "Run candidates even if this machine cannot confine them (see doctor): code that is not yours then "
               "reaches what you can reach");
}

/// Runs a verb after its options are parsed; returns an exit code, or an Error that main prints once.
using Action = std::function<Result<Exit>(const Context&)>;

struct Verb {
  const char* name;
  const char* summary;
  const char* example;  ///< Shown at the end of --help.
  /// Adds the verb's options to `app`; returns the action that uses their values.
  Action (*setup)(CLI::App& app);
  /// Reads the application's sources or runs its programs: refused while an interrupted apply's patch may be in them.
  bool reads_sources = false;
};

}  // namespace kernelift::cli
