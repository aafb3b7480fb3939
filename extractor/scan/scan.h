// scan: from a compile database to scan.json's contents. Every unit is parsed in a process of its own, so that a unit
// that crashes the parser loses only its own findings. The units' findings are merged: a header's kernel that thirty
// units include is one kernel. Units that an earlier scan parsed, and whose inputs are unchanged, are not parsed again
// (unit_cache.h).
#pragma once
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "core/compiler/frontend.h"
#include "core/model/scan/scan_index.h"

namespace kernelift::extractor {

struct ScanOptions {
  std::filesystem::path root;  ///< The application's root; its files are the user's wherever they are included from.
  std::filesystem::path compile_database;  ///< The file; empty: found under root, as compile_database.h describes.
  int jobs = 0;                            ///< Units parsed at once; 0: one per core.
  std::optional<HeaderSet> headers;        ///< Forces one set; default: ours, and the toolkit's if ours do not suffice.
  std::filesystem::path cache;             ///< Folder for each unit's findings; empty: every unit is parsed.
  size_t* reused = nullptr;                ///< Receives the number of units that did not need to be parsed.
  unsigned unit_seconds = 300;             ///< Limit of a unit's processor time; the largest seen needs 20 s.
  /// Called for each unit that was parsed; `done` also counts the units that did not need to be parsed.
  std::function<void(const std::string& file, size_t done, size_t total)> progress;
};

Result<ScanIndex> scan_application(const ScanOptions& options);

}  // namespace kernelift::extractor
