// The patterns that runs of all applications left: those that Kernelift comes with, which are only read, and the user's
// own, in one JSON file that every run adds to (docs/formats.md). Two runs that end at the same time both get in; a
// damaged file is named and left as it is.
#pragma once
#include <filesystem>
#include <vector>

#include "tuner/inherit/pattern.h"

namespace kernelift::tuner {

/// What a pattern did on a kernel that inherited it.
struct PatternOutcome {
  Pattern pattern;
  bool held = false;
  double gain = 1;  ///< The lower end of its interval here.
};

class PatternLibrary {
 public:
  /// A file that is not there has no patterns. An Error names a damaged file, or one of a newer version.
  static Result<PatternLibrary> read(const std::filesystem::path& file);

  const std::vector<Pattern>& patterns() const { return patterns_; }
  /// One that is known already takes over the outcome: the same chain, found on a kernel like it.
  void learn(const Pattern& found);
  /// Counts the outcome for the pattern, which becomes a known one.
  void count(const PatternOutcome& outcome);
  /// The patterns of others count where the same is not known here.
  void add_from(const PatternLibrary& others);

  /// The most promising patterns for the kernel, the best first, each chain once. None that promises less than a gain
  /// that could be measured.
  std::vector<Pattern> offers(const PatternContext& kernel, size_t most) const;

  /// Reads the file, adds to it, and writes it, while no other process does.
  static Status update(const std::filesystem::path& file, const std::vector<PatternOutcome>& outcomes,
                       const std::vector<Pattern>& found);

 private:
  Pattern* known(const Pattern& pattern);
  std::vector<Pattern> patterns_;
};

/// $XDG_DATA_HOME/kernelift/patterns.json, in ~/.local/share without that variable; empty without a home.
std::filesystem::path users_patterns();

/// Key of the run's state that holds what it inherited from the library (docs/formats.md).
inline constexpr const char* kPatternState = "patterns";

}  // namespace kernelift::tuner
