// See suite_file.h.
#include "cli/hostile/suite_file.h"

#include <algorithm>
#include <sstream>

#include "core/base/file.h"
#include "core/base/words.h"

namespace fs = std::filesystem;

namespace kernelift::cli {

Result<SuiteFile> SuiteFile::read(const fs::path& path) {
  SuiteFile file;
  KERNELIFT_ASSIGN(std::string all, read_text(path));
  file.path = path, file.name = path.stem().string();
  size_t at = 0;
  while (at < all.size()) {
    size_t end = std::min(all.find('\n', at), all.size() - 1) + 1;
    std::string line = without_outer_blanks(std::string_view(all).substr(at, end - at));
    if (line.starts_with("//!")) {
      std::string rest = without_outer_blanks(line.substr(3));
      size_t word = std::min(rest.find(' '), rest.size());
      file.data.emplace_back(rest.substr(0, word), without_outer_blanks(rest.substr(word)));
    } else if (line.starts_with("//") && file.data.empty()) {
      file.summary += (file.summary.empty() ? "" : " ") + without_outer_blanks(line.substr(2));
    } else {
      break;
    }
    at = end;
  }
  file.text = all.substr(std::min(at, all.size()));
  if (file.summary.empty())
    return environment_error(path.string() + " does not open with a comment that says what it is");
  return file;
}

std::vector<std::string> SuiteFile::values(const std::string& word) const {
  std::vector<std::string> found;
  for (auto& [first, rest] : data)
    if (first == word) found.push_back(rest);
  return found;
}

std::string SuiteFile::value(const std::string& word) const {
  auto found = values(word);
  return found.empty() ? std::string() : found.front();
}

Status SuiteFile::knows_only(const std::vector<std::string>& words) const {
  for (auto& [first, rest] : data)
    if (std::ranges::find(words, first) == words.end())
      return environment_error(path.string() + ": '//! " + first + "' is not a line of such a file");
  return done();
}

Result<std::vector<SuiteFile>> read_suite_files(const fs::path& folder) {
  std::error_code code;
  if (fs::directory_iterator readable(folder, code); code)
    return environment_error("cannot read " + folder.string() + ": " + code.message());
  std::vector<fs::path> paths;
  for (auto& path : paths_in(folder))
    if (path.extension() == ".cu") paths.push_back(path);
  std::vector<SuiteFile> files;
  for (auto& path : paths) {
    KERNELIFT_ASSIGN(auto file, SuiteFile::read(path));
    files.push_back(std::move(file));
  }
  return files;
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

std::string fill_in(const std::string& text, const std::map<std::string, std::string>& values) {
  std::string filled;
  size_t from = 0;
  for (size_t at = text.find('@'); at != text.npos; at = text.find('@', at)) {
    size_t end = text.find('@', at + 1);
    auto found = end == text.npos ? values.end() : values.find(text.substr(at + 1, end - at - 1));
    if (found == values.end()) {
      ++at;
      continue;
    }
    filled += text.substr(from, at - from) + found->second;
    at = from = end + 1;
  }
  return filled + text.substr(from);
}

}  // namespace kernelift::cli
