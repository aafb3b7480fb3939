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

/// The options common to all verbs, and the output functions, through which everything goes that a verb prints
/// (scripts/check_tree checks that): they show text from outside as core/base/shown/outside_text.h says, without
/// secrets, and remember whether stdout took what it was given. With --json one document goes to stdout and all other
/// output to stderr.
struct Context {
  std::string verb;  ///< Its name: what a JSON document is, as "format": "kernelift-VERB".
  bool json = false;
  std::string device = "auto";  ///< auto | cpu | cuda[:N] | hip[:N]
  std::string state;            ///< --state DIR; empty: searched upwards from the working folder.
  int verbosity = 0;
  char** arguments = nullptr;  ///< argv; [0] is used in messages that name a command to type.

  std::filesystem::path state_folder() const;
  /// Prints the verb's one JSON document (--json only). One that is no artefact, with a "format" of its own, gets the
  /// verb's: "kernelift-VERB".
  void emit(const Json& document) const;
  /// Prints a document on one line of stdout, of verbs that answer more than once; --json or not.
  void emit_line(const Json& document) const;
  void emit_error(const std::string& message, Exit exit) const;
  /// Prints a result: to stdout, or to stderr with --json. One line; what has several lines of its own (a table, a
  /// report whose parts from outside are one line each) is said by say_lines().
  void say(const std::string& line) const;
  void say_lines(const std::string& text) const;
  /// Prints progress and warnings to stderr; one line, or an error's first line and further ones, which are indented.
  void note(const std::string& line) const;
  void note_lines(const std::string& text) const;
  /// Shows a line in place of the last one, on a terminal only; empty: removes it.
  void progress(const std::string& line) const;
  /// Writes a document to the file that the user named, or to stdout for "-" and "".
  Status deliver(const std::string& file, const std::string& text) const;
  bool terminal() const;    ///< True if stderr is a terminal, on which a progress line can be updated in place.
  static size_t columns();  ///< Of the terminal now: windows are resized. 80 if it does not say.
};

/// The exit code of a verb that ended with `exit`: where stdout did not take all that it was given, the result is lost.
/// Says so on stderr.
Exit settled(Exit exit);

/// Prints to stdout as it is: for our own help.
void print_own(const std::string& text);

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
