// One verb of the command line: `kernelift NAME …`. Each verb lives in cli/verbs/NAME.cpp, which
// main.cpp's table names; main() only finds it, parses and prints its error. Verbs hold no logic of their stage: they
// parse options, call the stage's library, and print.
#pragma once
#include <CLI/CLI.hpp>
#include <filesystem>
#include <functional>
#include <string>

#include "core/base/json.h"
#include "core/base/result.h"
#include "core/base/words.h"

namespace kernelift::cli {

/// Options that every verb takes, and where output goes. With --json one document goes to stdout, all else to stderr.
struct Context {
  bool json = false;
  std::string device = "auto";  ///< auto | cpu | cuda[:N] | hip[:N]
  std::string state;            ///< --state DIR; empty: found upwards from the working folder.
  int verbosity = 0;
  char** arguments = nullptr;  ///< argv; [0] is for messages that name a command to type.

  std::filesystem::path state_folder() const;
  /// Prints the verb's one JSON document (--json only).
  void emit(const Json& document) const;
  /// Human text: stdout, or stderr under --json.
  void say(const std::string& text) const;
  /// Progress and warnings: always stderr.
  void note(const std::string& text) const;
  bool terminal() const;  ///< stderr is a terminal: live progress is welcome.
};

/// --lock-clocks, of every verb that times a kernel.
inline void add_lock_clocks(CLI::App& app, bool& wanted) {
  app.add_flag("--lock-clocks", wanted,
               "Hold the GPU's clocks at its base frequency meanwhile (needs root; off by default)");
}

/// What a verb does once its options are parsed: an exit code, or an Error that main prints once.
using Action = std::function<Result<Exit>(const Context&)>;

struct Verb {
  const char* name;
  const char* summary;
  const char* example;  ///< Shown at the end of --help.
  /// Adds the verb's options to `app`; returns the action that uses the values they are bound to.
  Action (*setup)(CLI::App& app);
  bool reads_sources = false;  ///< Of the application: refused while an interrupted apply has left a patch in them.
};

}  // namespace kernelift::cli
