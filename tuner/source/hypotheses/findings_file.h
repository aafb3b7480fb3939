// What is known about a kernel from hypotheses that were tested, in one Markdown file for people and for later prompts:
// a section for each finding, those of a run in the order of their cards. Runs add theirs; a person may edit and add
// sections, which stay as they are.
#pragma once
#include <filesystem>
#include <vector>

#include "tuner/source/hypotheses/finding.h"

namespace kernelift::tuner {

class FindingsFile {
 public:
  /// A section of the file, as it stands there.
  struct Section {
    std::string heading;           ///< "confirmed: stage a tile of a in shared memory"
    std::string run, device;       ///< Of the lines "- run:" and "- device:"; empty: a person's.
    std::optional<Family> family;  ///< Of the line "- family:".
    std::string body;              ///< All lines below the heading.
    std::string in_one_line() const;
  };

  /// A file that is not there has no sections. An Error: it cannot be read.
  static Result<FindingsFile> read(const std::filesystem::path& file);

  const std::vector<Section>& sections() const { return sections_; }
  /// Those that matter most for a text of this family on this device first; none of `run`.
  std::vector<Section> relevant(const std::string& device, std::optional<Family> family, const std::string& run) const;

  /// Reads the file, puts these in the place of the run's sections, leaves all others, and writes it.
  static Result<FindingsFile> update(const std::filesystem::path& file, const std::string& kernel,
                                     const std::string& run, const std::vector<Finding>& findings);

 private:
  std::vector<Section> sections_;
};

/// `folder`/KERNEL.md: letters, digits, '_' and '-' of the name, and a hash where others were left out.
std::filesystem::path findings_path(const std::filesystem::path& folder, const std::string& kernel);

}  // namespace kernelift::tuner
