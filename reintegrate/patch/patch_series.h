// The patches of several kernels as one. Each was planned on the application's files alone; in the series it is applied
// to what the ones before left, so that each step can be proven like a patch of its own.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "reintegrate/patch/source_patch.h"

namespace kernelift::reintegrate {

class PatchSeries {
 public:
  /// Where a file is no longer what the plan saw (an earlier patch of the series changed it, or a commit since), the
  /// patch's lines are changed in the present text. Refused by location, and nothing added, where both change the same
  /// lines.
  Status add(const SourcePatch& patch);

  /// Each from what the ones before left. Files that only earlier ones change are in it too, unchanged, because a unit
  /// reads them as they are then.
  const std::vector<SourcePatch>& steps() const { return steps_; }
  /// From the files as they are to what the last step makes of them. Of several steps, `knobs`, `declared`, the
  /// launcher and the kernel beside are those of the steps alone.
  SourcePatch whole() const;
  /// Of the steps that carry PTX.
  std::vector<std::string> launchers() const;

 private:
  std::map<std::filesystem::path, FileChange> files_;  ///< From the file as it is to the present text.
  std::vector<SourcePatch> steps_;
};

/// `now` with the changes that turn `base` into `changed`, line by line. Refused, naming the line of `name`, where
/// `now` differs from `base` in the same lines.
Result<std::string> carry_over(const std::string& name, const std::string& base, const std::string& changed,
                               const std::string& now);

}  // namespace kernelift::reintegrate
