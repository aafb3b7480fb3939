// --help, whose descriptions are wrapped between words and begin in one column.
#pragma once
#include <CLI/CLI.hpp>
#include <string>

namespace kernelift::cli {

class WrappedHelp : public CLI::Formatter {
 public:
  /// Lines have at most `columns` characters where words allow it.
  explicit WrappedHelp(size_t columns) : columns_(columns) {}

  std::string make_option(const CLI::Option* option, bool is_positional) const override;
  std::string make_subcommand(const CLI::App* verb) const override;
  std::string make_description(const CLI::App* app) const override;

 private:
  std::string entry(const std::string& name, const std::string& description) const;

  const size_t columns_;
};

}  // namespace kernelift::cli
