// Functions that a patch changes for the host as well as for the device. An application that computes its reference by
// the same function compares the change with itself: its check then says nothing of the results.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "core/model/mep.h"
#include "reintegrate/patch/launch_edit.h"

namespace kernelift {

struct EditedFile {
  const std::filesystem::path& path;  ///< Links resolved.
  const std::string& text;            ///< Before.
  const std::vector<ByteEdit>& edits;
};

/// Their names. `root` is the application's.
std::vector<std::string> host_functions_changed(const Mep& mep, const std::filesystem::path& root,
                                                const EditedFile& file);

/// The sentence about them, listed in `names`.
std::string host_functions_text(const std::string& names);

}  // namespace kernelift
