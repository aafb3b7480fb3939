// A function is changed if an edit overlaps its lines; the MEP lists them.
#include "reintegrate/patch/host_functions.h"

#include <algorithm>

namespace fs = std::filesystem;

namespace kernelift::reintegrate {

std::vector<std::string> host_functions_changed(const Mep& mep, const fs::path& root, const EditedFile& file) {
  auto line_of = [&](uint64_t at) {
    return 1 + std::count(file.text.begin(), file.text.begin() + static_cast<ptrdiff_t>(at), '\n');
  };
  std::vector<std::string> names;
  for (auto& function : mep.functions) {
    std::error_code code;
    if (!function.on_host || fs::weakly_canonical(root / function.file, code) != file.path) continue;
    bool changes = std::ranges::any_of(file.edits, [&](auto& edit) {
      // An insertion before the function's first line is outside the function.
      bool inserted = edit.begin == edit.end;
      return line_of(edit.begin) <= function.end_line &&
             line_of(inserted ? edit.end : edit.end - 1) >= function.line + inserted;
    });
    if (changes) names.push_back(function.name);
  }
  return names;
}

std::string host_functions_text(const std::string& names) {
  return "The patch changes " + names +
         ", which is compiled for the host too: a check whose reference is computed by the same function on the host "
         "changes with it and cannot detect a wrong result.";
}

}  // namespace kernelift::reintegrate
