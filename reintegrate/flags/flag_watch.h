// Whether flags that a patch writes into the build arrive: the compile commands as they were logged before and after.
#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/model/knob/build_definition.h"

namespace kernelift::reintegrate {

/// Commands by file (absolute) and output.
using LoggedCommands = std::map<std::pair<std::string, std::string>, std::vector<std::string>>;
/// Those of a compile database; none where it cannot be read.
LoggedCommands logged_commands(const std::filesystem::path& log);

class FlagWatch {
 public:
  FlagWatch() = default;
  /// `log`: compile_commands.json of the state folder. Reads the commands of before.
  explicit FlagWatch(std::filesystem::path log);

  /// The flags are to be in every command of the unit that is compiled again. Absolute path.
  void expect(const std::filesystem::path& unit, const std::vector<std::string>& flags);
  /// Every command that defined the macro so, as its text was spelled, is to define it the other way.
  void expect(Redefinition definition) { definitions_.push_back(std::move(definition)); }
  /// After the build: where flags or definitions are missing, or in the command of another file, in a sentence; empty:
  /// they are where they should be.
  std::string astray() const;

 private:
  /// The command with the expected definitions.
  std::vector<std::string> redefined_in(std::vector<std::string> command) const;

  std::filesystem::path log_;
  LoggedCommands before_;
  std::vector<Redefinition> definitions_;
  std::map<std::string, std::vector<std::string>> expected_;  ///< By unit.
};

}  // namespace kernelift::reintegrate
