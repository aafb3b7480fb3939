// Temporary folders that outlived their process. A TemporaryFolder in $TMPDIR is locked as long as its process lives,
// and the lock ends with the process, however that ends: what is not locked belongs to nobody.
#pragma once
#include <filesystem>

namespace kernelift {

/// In the name of a folder that is held: "kernelift-compile.held-x3B2aQ".
inline constexpr const char* kHeldName = ".held-";
/// Locks a new folder of ours. `release_folder` ends that.
void hold_folder(const std::filesystem::path& folder);
void release_folder(const std::filesystem::path& folder);

/// Removes this user's folders in $TMPDIR that were held by processes that have ended. Returns their number.
int sweep_leftovers();

}  // namespace kernelift
