// Files of the hostile suite (tests/hostile): a text whose `//!` lines are data. The opening comment says in one
// sentence what the file is.
#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace kernelift::cli {

struct SuiteFile {
  std::filesystem::path path;
  std::string name;     ///< Without folder and extension.
  std::string summary;  ///< The opening comment.
  std::string text;     ///< All behind the last `//!` line.
  /// The `//!` lines in order: the first word, and the rest of the line.
  std::vector<std::pair<std::string, std::string>> data;

  static Result<SuiteFile> read(const std::filesystem::path& path);
  /// The line's value; empty if there is none.
  std::string value(const std::string& word) const;
  std::vector<std::string> values(const std::string& word) const;
  /// An Error if there is a line with another first word: a mistyped one would be passed over.
  Status knows_only(const std::vector<std::string>& words) const;
};

/// The files of a folder with the extension .cu, by name.
Result<std::vector<SuiteFile>> read_suite_files(const std::filesystem::path& folder);

std::vector<std::string> words_of(const std::string& text);

/// `text` with every @NAME@ replaced for which there is a value. What is put in is not looked at again.
std::string fill_in(const std::string& text, const std::map<std::string, std::string>& values);

}  // namespace kernelift::cli
