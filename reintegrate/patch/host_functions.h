// Finds functions that a patch changes for the host as well as for the device. An application that computes its
// reference with the same function compares the change with itself: its check then proves nothing.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "core/model/mep.h"
#include "reintegrate/patch/launch/launch_edit.h"

namespace kernelift::reintegrate {

struct EditedFile {
  const std::filesystem::path& path;  ///< Links resolved.
  const std::string& text;            ///< The text before the edits.
  const std::vector<ByteEdit>& edits;
};

/// The names of the host functions that the edits of `file` change. `root` is the application's root.
std::vector<std::string> host_functions_changed(const Mep& mep, const std::filesystem::path& root,
                                                const EditedFile& file);

/// The note about the functions listed in `names`.
std::string host_functions_text(const std::string& names);

}  // namespace kernelift::reintegrate
