// scan: from a compile database to scan.json's contents. Every unit is parsed in a process of its own, so that a unit
// that brings down the parser costs itself and nothing else, and what the units found is merged: a header's kernel that
// thirty units include is one kernel. Units that an earlier scan parsed, and that would be found the same, are not
// parsed again (unit_cache.h).
#pragma once
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "core/compiler/frontend.h"
#include "core/model/scan/scan_index.h"

namespace kernelift {

struct ScanOptions {
  std::filesystem::path root;  ///< The application's root; its files are the user's wherever they are included from.
  std::filesystem::path compile_database;  ///< The file; empty: looked for under root (compile_database.h says where).
  int jobs = 0;                            ///< Units parsed at once; 0: one per core.
  std::optional<HeaderSet> headers;        ///< Forced; by default ours, and the toolkit's where ours do not suffice.
  std::filesystem::path cache;             ///< Folder for what is found in each unit; empty: every unit is parsed.
  size_t* reused = nullptr;                ///< Told how many units did not need to be parsed.
  unsigned unit_seconds = 300;             ///< Processor time that one unit may take; the largest seen needs 20 s.
  /// Called for each unit that was parsed; `done` counts those that did not need it too.
  std::function<void(const std::string& file, size_t done, size_t total)> progress;
};

Result<ScanIndex> scan_application(const ScanOptions& options);

}  // namespace kernelift
