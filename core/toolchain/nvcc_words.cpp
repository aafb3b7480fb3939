// See nvcc_words.h.
#include "core/toolchain/nvcc_words.h"

#include <algorithm>

#include "core/base/process.h"

namespace kernelift {
namespace {

constexpr std::string_view kBlanks = " \t", kAllBlanks = " \t\r\n\v\f";

/// How one of nvcc's texts is taken apart.
struct Reading {
  std::string_view separators;
  std::string_view quotes = "\"";
  bool keeps_quotes = false;       ///< Quotes protect separators, and stay in the word.
  bool keeps_backslashes = false;  ///< A backslash has no meaning.
};

std::vector<std::string> split(std::string_view text, const Reading& reading) {
  std::vector<std::string> words;
  std::string word;
  bool in_word = false;
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '\\' && !reading.keeps_backslashes && i + 1 < text.size()) {
      word += text[++i], in_word = true;
    } else if (quote ? c == quote : reading.quotes.find(c) != reading.quotes.npos) {
      quote = quote ? 0 : c, in_word = true;
      if (reading.keeps_quotes) word += c;
    } else if (!quote && reading.separators.find(c) != reading.separators.npos) {
      if (in_word) words.push_back(word);
      word.clear(), in_word = false;
    } else {
      word += c, in_word = true;
    }
  }
  if (in_word) words.push_back(word);
  return words;
}

/// Without the blanks around it; entries with nothing else are left out.
std::vector<std::string> trimmed(std::vector<std::string> entries) {
  for (std::string& entry : entries) {
    size_t first = entry.find_first_not_of(kAllBlanks);
    entry = first == entry.npos ? "" : entry.substr(first, entry.find_last_not_of(kAllBlanks) + 1 - first);
  }
  std::erase(entries, "");
  return entries;
}

std::vector<std::string> shell_words(const std::string& line) {
  auto words = split_command(line);
  return words.ok() ? *std::move(words) : std::vector<std::string>{line};  // The shell would have failed.
}

}  // namespace

std::vector<std::string> split_nvcc_list(std::string_view value) {
  return trimmed(split(value, {.separators = ",", .keeps_quotes = true}));
}

std::vector<std::string> split_nvcc_paths(std::string_view value) {
  return trimmed(split(value, {.separators = ",", .keeps_backslashes = true}));
}

std::vector<std::string> host_compiler_words(const std::vector<std::string>& entries) {
  std::string line;
  for (const std::string& entry : entries) line += (line.empty() ? "" : " ") + entry;
  return shell_words(line);
}

std::string host_compiler_macro(const std::string& definition) {
  std::string quoted = "\"";
  for (char c : definition) quoted += c == '"' ? std::string("\\\"") : std::string(1, c);
  std::vector<std::string> words = shell_words(quoted + '"');
  return words.size() == 1 ? words.front() : definition;
}

std::vector<std::string> split_nvcc_options_file(std::string_view text) {
  std::vector<std::string> words = split(text, {.separators = kAllBlanks});
  for (std::string& word : words) {
    std::vector<std::string> again = split(word, {.separators = ""});
    word = again.empty() ? "" : again.front();
  }
  std::erase(words, "");
  return words;
}

std::vector<std::string> split_nvcc_variable(std::string_view text) {
  return split(text, {.separators = kBlanks, .keeps_quotes = true, .keeps_backslashes = true});
}

std::vector<std::string> split_response_file(std::string_view text) {
  return split(text, {.separators = kAllBlanks, .quotes = "\"'"});
}

}  // namespace kernelift
