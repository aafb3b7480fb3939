// One of the application's files while a patch of it is planned.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "reintegrate/patch/text_diff.h"

namespace kernelift {

struct OpenFile {
  std::filesystem::path path;  ///< Links resolved.
  std::string name, text;      ///< Relative to the application's root; before the patch.
  std::vector<TextLine> lines;
  uint64_t offset(size_t line) const;  ///< Of line index `line`; the file's size past the last.
  std::string_view newline() const;    ///< As its first line ends.
};

/// Whether `line` of a slice may have been taken from line `from` of a file, for MEPs that keep no hashes of files. The
/// extractor takes lines whole or in part, writes ';' where it leaves a body out, and respaces includes.
bool could_be_sliced(std::string_view line, std::string_view from);

}  // namespace kernelift
