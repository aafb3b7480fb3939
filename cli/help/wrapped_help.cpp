// "  --time TEXT                 Time for the search …": CLI11's own form, with the rest of a description below its
// beginning.
#include "cli/help/wrapped_help.h"

#include <sstream>
#include <vector>

namespace kernelift::cli {
namespace {

/// The words of `text` in lines of at most `width` characters, or of one word.
std::vector<std::string> wrapped(const std::string& text, size_t width) {
  std::vector<std::string> lines(1);
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    std::string& line = lines.back();
    if (line.empty()) line = word;
    else if (line.size() + 1 + word.size() <= width) line += ' ' + word;
    else lines.push_back(word);
  }
  return lines;
}

}  // namespace

std::string WrappedHelp::entry(const std::string& name, const std::string& description) const {
  constexpr size_t kNarrowest = 30;
  const size_t column = get_column_width();
  std::string text = "  " + name;
  if (description.empty()) return text + '\n';
  if (text.size() + 1 > column) text += '\n' + std::string(column, ' ');
  else text.resize(column, ' ');
  const size_t width = columns_ > column + kNarrowest ? columns_ - column : kNarrowest;
  for (bool first = true; auto& line : wrapped(description, width)) {
    if (!first) text += '\n' + std::string(column, ' ');
    first = false;
    text += line;
  }
  return text + '\n';
}

std::string WrappedHelp::make_option(const CLI::Option* option, bool is_positional) const {
  return entry(make_option_name(option, is_positional) + make_option_opts(option), make_option_desc(option));
}

std::string WrappedHelp::make_subcommand(const CLI::App* verb) const {
  return entry(verb->get_display_name(true), verb->get_description());
}

std::string WrappedHelp::make_description(const CLI::App* app) const {
  std::string text;
  for (auto& line : wrapped(app->get_description(), columns_)) text += line + '\n';
  return text;
}

}  // namespace kernelift::cli
