// One of the application's source files, opened to plan a patch.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "reintegrate/patch/text_diff.h"

namespace kernelift::reintegrate {

struct OpenFile {
  std::filesystem::path path;  ///< Links resolved.
  std::string name;            ///< Path relative to the application's root.
  std::string text;            ///< Text before the patch.
  std::vector<TextLine> lines;
  uint64_t offset(size_t line) const;  ///< Offset of line index `line`; the file's size for an index past the last.
  std::string_view newline() const;    ///< The line end of the first line that has one.
};

/// True if the slice's line `line` may have been taken from the file's line `from`; used for MEPs that keep no hashes
/// of files. The extractor copies lines whole or in part, writes ';' in place of a body that it leaves out, and
/// normalises the white space of includes.
bool could_be_sliced(std::string_view line, std::string_view from);

}  // namespace kernelift::reintegrate
