// The macros on which a kernel's text depends: code that is embedded was compiled with the values that they had.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace kernelift::reintegrate {

struct TestedMacros {
  std::set<std::string> names = {};    ///< That conditionals in the text, or around it, ask for.
  std::set<std::string> defined = {};  ///< Macros that the source itself defines.
  std::map<std::string, std::string> by_default =
      {};  ///< With the value that the source gives what the build does not.
  /// Adds those of a function in lines [begin, end] (from 1) of a file's text.
  void look_at(std::string_view text, uint32_t begin, uint32_t end);
  /// A name that any source file of the application defines may come from there, also in the build that was recorded.
  void add_definitions_below(const std::filesystem::path& root);
};

}  // namespace kernelift::reintegrate
