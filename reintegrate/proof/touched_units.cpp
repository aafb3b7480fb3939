// A unit whose main file is patched is touched, of the others those whose preprocessor opens a patched header. Each is
// one compile: a file that is compiled twice, with different macros, is two units.
#include "reintegrate/proof/touched_units.h"

#include <algorithm>
#include <filesystem>

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/json_member.h"
#include "core/base/process.h"
#include "core/toolchain/nvcc_command.h"

namespace fs = std::filesystem;

namespace kernelift::reintegrate {
namespace {

using Language = SourceInput::Language;

fs::path real(const fs::path& path) {
  std::error_code ignored;
  fs::path found = fs::weakly_canonical(path, ignored);
  return ignored ? path : found;
}

/// The compiles of one command; of GPU sources or of plain ones.
void add_units(const std::vector<std::string>& command, const std::string& folder, bool gpu, HeaderSet headers,
               const std::string& only, std::vector<HostUnit>& units) {
  auto parsed = parse_compiler_command(command, folder);
  if (!parsed.ok()) return;
  for (auto& input : parsed->inputs) {
    bool is_gpu = input.language == Language::Cuda || input.language == Language::Hip;
    if (input.language == Language::Object || is_gpu != gpu) continue;
    fs::path file = real(fs::path(folder) / input.file);
    if (!only.empty() && file != real(fs::path(folder) / only)) continue;
    units.push_back({file.string(), folder, *parsed, input.language, headers});
  }
}

/// Plain sources, which a scan leaves out: they may include a patched header.
void add_plain_units(const fs::path& database, std::vector<HostUnit>& units) {
  auto document = read_json(database);
  if (!document.ok() || !document->is_array()) return;
  for (auto& entry : *document) {
    if (!entry.is_object()) continue;
    std::vector<std::string> command;
    if (entry.contains("arguments") && entry["arguments"].is_array()) {
      for (auto& word : entry["arguments"])
        if (word.is_string()) command.push_back(word.get<std::string>());
    } else if (auto words = split_command(text_member(entry, "command")); words.ok()) {
      command = *words;
    }
    add_units(command, text_member(entry, "directory"), false, HeaderSet::Lean, {}, units);
  }
}

std::vector<HostUnit> all_units(const Mep& mep, const ScanIndex* scan) {
  std::vector<HostUnit> units;
  if (scan) {
    // Plain sources first: they compile fastest, and a difference there is never one that a patch may make.
    if (!scan->database.empty()) add_plain_units(scan->database, units);
    for (auto& unit : scan->units)
      add_units(unit.command, unit.folder, true, unit.headers == "toolkit" ? HeaderSet::Toolkit : HeaderSet::Lean,
                unit.file, units);
  } else if (!mep.compile_command.empty()) {
    add_units(mep.compile_command, mep.compile_folder, true,
              mep.headers == "toolkit" ? HeaderSet::Toolkit : HeaderSet::Lean, {}, units);
  }
  return units;
}

}  // namespace

TouchedUnits touched_units(const Mep& mep, const ScanIndex* scan, const SourcePatch& patch) {
  TouchedUnits touched;
  std::vector<FileVersion> files;
  std::set<fs::path> unread;
  for (auto& change : patch.changes) {
    if (change.created || change.of_build) continue;  // Read by what includes it, which is patched too; by no compiler.
    files.push_back({change.path, change.before, {}});
    unread.insert(change.path);
  }
  std::vector<HostUnit> units = all_units(mep, scan);
  auto is_main = [&](const fs::path& file) {
    return std::ranges::any_of(units, [&](auto& unit) { return unit.file == file; });
  };
  const bool headers = std::ranges::any_of(files, [&](auto& file) { return !is_main(file.path); });
  for (auto& unit : units) {
    bool main = std::ranges::any_of(files, [&](auto& file) { return file.path == unit.file; });
    if (main) unread.erase(unit.file);
    if (!main && !headers) continue;
    std::set<fs::path> read;
    if (headers)
      if (auto text = read_host_text(unit, files, false); text.ok()) read = text->read;
    for (auto& file : read) unread.erase(file);
    if (main || !read.empty()) touched.units.push_back(unit);
  }
  for (auto& change : patch.changes)
    if (unread.contains(change.path)) touched.unread.push_back(change.name);
  return touched;
}

}  // namespace kernelift::reintegrate
