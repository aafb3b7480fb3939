// A scan's findings in each unit, kept for the next scan: one file per unit, written by the process that parsed the
// unit as soon as it is done, so that a scan which is stopped loses no finished unit. An entry is used only while the
// command, Kernelift's own program and every answer of the file system are unchanged (extractor/source/file_answers.h);
// a damaged entry is ignored.
#pragma once
#include <filesystem>
#include <optional>

#include "extractor/source/file_answers.h"
#include "extractor/source/parsed_unit.h"

namespace kernelift::extractor {

class UnitCache {
 public:
  /// Without a folder nothing is kept.
  explicit UnitCache(std::filesystem::path folder);

  /// The findings in the unit with this parse_identity(), if parsing it again would give the same.
  std::optional<ScanIndex> find(const Hash& identity);
  /// Errors are ignored: they only make the next scan slower.
  void keep(const Hash& identity, const ScanIndex& found, const FileAnswers& answers) const;
  /// Removes the entries that were not used for the longest time, down to `limit` bytes.
  void shrink(uint64_t limit = kLargestCache) const;

  static constexpr uint64_t kLargestCache = 256 << 20;  ///< Bytes: thousands of units.

 private:
  std::filesystem::path entry(const Hash& identity) const;
  std::filesystem::path folder_;  ///< Empty if nothing is kept.
  std::string program_;           ///< Identity of the running program, since another version may find other things.
  FileInquiry files_;
};

}  // namespace kernelift::extractor
