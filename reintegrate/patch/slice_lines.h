// The lines of kernel.cu, the text that the extractor sliced, as lines of the application's files: whether these are
// still what was extracted, and what a candidate's changed lines become there. A line may be edited only if the file
// still contains it (or, for a declaration cut out of a longer line of an unchanged file, contains it exactly once in
// that line). Insertions have no line of their own: they go before the next traced line, which keeps a new helper above
// the kernel that calls it, unless the line before is the direct predecessor in the same file.
#pragma once
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/model/mep.h"
#include "reintegrate/patch/open_file.h"
#include "reintegrate/patch/patch_draft.h"
#include "reintegrate/patch/text_diff.h"

namespace kernelift::reintegrate {

/// Ends a message about a file that is not what was scanned.
inline constexpr const char* kScanAgain = "; run `kernelift scan`, `record` and `extract` again";

class SliceLines {
 public:
  /// EXPECTS: all outlive the result. `before`: kernel.cu as extracted; `after`: the candidate's text.
  SliceLines(const Mep& mep, PatchDraft& draft, const std::string& before, const std::string& after)
      : mep_(mep), draft_(draft), before_(split_lines(before)), after_(split_lines(after)) {}

  const std::vector<TextLine>& before() const { return before_; }
  const std::vector<TextLine>& after() const { return after_; }
  std::vector<Hunk> hunks() const { return diff_lines(before_, after_); }

  /// Every line of the slice must still be in the application's files: a candidate verified on other text proves
  /// nothing.
  Status check_unchanged();
  /// A file that the slice contains twice, because it is included twice, exists once in the application: the candidate
  /// must change all copies in the same way.
  Status check_copies(const std::vector<Hunk>& hunks) const;
  /// Adds the hunk's edits to the draft.
  Status edit(const Hunk& hunk);

 private:
  bool traced(size_t line) const;
  Error changed_since(const OpenFile& file, uint32_t line) const;
  /// The bytes of the original file that line `line` of kernel.cu came from.
  Result<std::pair<uint64_t, uint64_t>> trace(size_t line, OpenFile*& file);
  bool is_as_extracted(const std::string& name, const OpenFile& file);
  /// Replaces the hunk's lines, which are consecutive in one file, by another number of lines.
  Status replace_run(const Hunk& hunk);
  Status insert(const Hunk& hunk);
  std::string location(size_t line) const;

  const Mep& mep_;
  PatchDraft& draft_;
  std::vector<TextLine> before_, after_;
  std::map<const OpenFile*, std::string> hashes_;
};

}  // namespace kernelift::reintegrate
