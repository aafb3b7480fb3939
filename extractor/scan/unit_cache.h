// What a scan found in each unit, kept for the next scan: a file per unit, written by whoever parsed it as soon as it
// is done, so that a scan which is stopped loses nothing. An entry counts only while the command, the program itself
// and every answer of the file system are what they were (extractor/source/file_answers.h); one that is damaged does
// not count.
#pragma once
#include <filesystem>
#include <optional>

#include "extractor/source/file_answers.h"
#include "extractor/source/parsed_unit.h"

namespace kernelift {

class UnitCache {
 public:
  /// Without a folder nothing is kept.
  explicit UnitCache(std::filesystem::path folder);

  /// What was found in the unit of this parse_identity(), if it would be found again.
  std::optional<ScanIndex> find(const Hash& identity);
  /// A failure costs the next scan some time, and no more.
  void keep(const Hash& identity, const ScanIndex& found, const FileAnswers& answers) const;
  /// Removes what was not used for longest, down to kLargestCache.
  void shrink(uint64_t limit = kLargestCache) const;

  static constexpr uint64_t kLargestCache = 256 << 20;  ///< Bytes: thousands of units.

 private:
  std::filesystem::path entry(const Hash& identity) const;
  std::filesystem::path folder_;  ///< Empty: none.
  std::string program_;           ///< Which scan's findings they are.
  FileInquiry files_;
};

}  // namespace kernelift
