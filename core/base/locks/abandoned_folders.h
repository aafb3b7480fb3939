// Temporary folders of processes that were killed. The process that uses a folder holds a lock on it, which the kernel
// releases when the process ends, in any way: a folder with a free lock is in no use.
#pragma once
#include <filesystem>

namespace kernelift {

/// Takes the lock of a new folder for as long as this process uses it. False if a sweep was faster and has removed it.
/// A place without locks is used without one.
bool hold_folder(const std::filesystem::path& folder);
void release_folder(const std::filesystem::path& folder);

/// In the names of folders that are held, so that no other folder is ever swept: "kernelift-compile.held-x3B2aQ".
inline constexpr const char* kHeldName = ".held-";

/// Removes this user's folders in `base` that have such a name and that nobody holds.
void sweep_abandoned_folders(const std::filesystem::path& base);

}  // namespace kernelift
