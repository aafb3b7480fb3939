// A figure that the application prints about itself, such as "FOM = 1.2e9", as the measure of a patch in place of the
// run's duration.
#pragma once
#include <string>

#include "core/base/result.h"

namespace kernelift::reintegrate {

class Metric {
 public:
  enum class Better { Higher, Lower };

  /// `pattern` is a POSIX extended regular expression whose first group is the number: 'FOM *= *([0-9.eE+-]+)'.
  /// `better` is "higher" or "lower". A usage Error otherwise.
  static Result<Metric> parse(const std::string& pattern, const std::string& better);

  /// The seconds from a run's first kernel to its last, as `kernelift record --profile-only --json` prints them; with a
  /// region, an NVTX range, those in it.
  static Metric kernel_span(const std::string& region = {});

  /// The number in a run's output. An Error unless the pattern matches once, and that is a number above zero.
  Result<double> read(const std::string& output) const;

  bool is_kernel_span() const { return !title_.empty(); }
  const std::string& pattern() const { return pattern_; }
  /// For people: "'FOM = ([0-9.]+)', higher is better".
  std::string title() const;
  Better better() const { return better_; }
  /// "higher" or "lower".
  const char* better_text() const { return better_ == Better::Higher ? "higher" : "lower"; }

 private:
  Metric(std::string pattern, Better better, std::string title = {})
      : pattern_(std::move(pattern)), title_(std::move(title)), better_(better) {}

  std::string pattern_, title_;  ///< No title of its own: made from the others.
  Better better_;
};

}  // namespace kernelift::reintegrate
