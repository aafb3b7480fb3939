// Whether flags that a patch writes into the build arrive: the compile commands as they were logged before and after.
#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace kernelift::reintegrate {

class FlagWatch {
 public:
  FlagWatch() = default;
  /// `log`: compile_commands.json of the state folder. Reads the commands of before.
  explicit FlagWatch(std::filesystem::path log);

  /// The flags are to be in every command of the unit that is compiled again. Absolute path.
  void expect(const std::filesystem::path& unit, const std::vector<std::string>& flags);
  /// After the build: where the flags are missing, or in the command of another file, in a sentence; empty: they are
  /// where they should be.
  std::string astray() const;

 private:
  /// By file and output.
  using Commands = std::map<std::pair<std::string, std::string>, std::vector<std::string>>;
  static Commands read(const std::filesystem::path& log);

  std::filesystem::path log_;
  Commands before_;
  std::map<std::string, std::vector<std::string>> expected_;  ///< By unit.
};

}  // namespace kernelift::reintegrate
