// A unit whose main file is patched is touched, of the others those whose preprocessor opens a patched header. Each is
// one compile: a file that is compiled twice, with different macros, is two units.
#include "reintegrate/proof/touched_units.h"

#include <algorithm>
#include <filesystem>

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/json_member.h"
#include "core/base/process.h"
#include "core/compiler/paths.h"
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

/// GCC's version where the host compiler is GCC. Sources ask whether it is recent enough, and clang says 4.2.1. With
/// 13, libstdc++ and the C library would use types that clang has not.
std::string gcc_of(const std::vector<std::string>& command, const CompilerCommand& parsed) {
  auto is_other = [](const std::string& program) {
    const std::string name = fs::path(program).filename().string();
    return name.find("clang") != std::string::npos || name.find("hipcc") != std::string::npos;
  };
  bool other = parsed.dialect == Dialect::Hipcc || is_other(parsed.host_compiler);
  for (auto& word : command) {
    if (word.starts_with('-')) break;
    other |= is_other(word);  // The first word, or the one behind ccache.
  }
  return other ? "" : "12.2.0";
}

class AllUnits {
 public:
  std::vector<HostUnit> units;
  std::vector<TouchedUnits::Unknown> unknown;

  AllUnits(const Mep& mep, const ScanIndex* scan) {
    if (scan) {
      // Plain sources first: they compile fastest, and a difference there is never one that a patch may make.
      if (!scan->database.empty()) add_plain_units(scan->database);
      for (auto& unit : scan->units)
        add(unit.command, unit.folder, true, unit.headers == "toolkit" ? HeaderSet::Toolkit : HeaderSet::Lean,
            unit.file, unit.file);
    } else if (!mep.compile_command.empty()) {
      add(mep.compile_command, mep.compile_folder, true,
          mep.headers == "toolkit" ? HeaderSet::Toolkit : HeaderSet::Lean, {}, mep.unit);
    }
  }

 private:
  /// The compiles of one command; of GPU sources or of plain ones. `name`: for messages.
  void add(const std::vector<std::string>& command, const std::string& folder, bool gpu, HeaderSet headers,
           const std::string& only, const std::string& name) {
    auto parsed = parse_compiler_command(command, folder);
    if (!parsed.ok()) return unknown.push_back({name, "its compile command: " + parsed.error().message});
    for (auto& input : parsed->inputs) {
      bool is_gpu = input.language == Language::Cuda || input.language == Language::Hip;
      if (input.language == Language::Object || is_gpu != gpu) continue;
      fs::path file = real(fs::path(folder) / input.file);
      if (!only.empty() && file != real(fs::path(folder) / only)) continue;
      units.push_back({file.string(), folder, *parsed, input.language, headers, command, gcc_of(command, *parsed)});
    }
  }

  /// Plain sources, which a scan leaves out: they may include a patched header.
  void add_plain_units(const fs::path& database) {
    auto document = read_json(database);
    if (!document.ok()) return unknown.push_back({database.string(), document.error().message});
    if (!document->is_array()) return unknown.push_back({database.string(), "it is no compile database"});
    for (auto& entry : *document) {
      const std::string name = entry.is_object() ? text_member(entry, "file") : "";
      std::vector<std::string> command;
      if (entry.is_object() && entry.contains("arguments") && entry["arguments"].is_array()) {
        for (auto& word : entry["arguments"])
          if (word.is_string()) command.push_back(word.get<std::string>());
      } else if (entry.is_object()) {
        if (auto words = split_command(text_member(entry, "command")); words.ok()) command = *words;
      }
      if (command.empty())
        unknown.push_back({name.empty() ? database.string() : name, "its compile command cannot be read"});
      else add(command, text_member(entry, "directory"), false, HeaderSet::Lean, {}, name);
    }
  }
};

/// What a unit reads of the patch, with the headers that get further.
class UnitReader {
 public:
  UnitReader(const std::vector<FileVersion>& files, const fs::path& root) : files_(files), root_(root) {}

  /// `all`: nothing else of the patch is read.
  struct Answer {
    std::set<fs::path> read;
    bool all = true;
  };
  Answer read(HostUnit unit) {
    HostText text = readable_host_text(unit, files_, false);
    Answer answer{text.read, is_all(text)};
    if (answer.all || !cuda_toolkit()) return answer;
    unit.headers = unit.headers == HeaderSet::Lean ? HeaderSet::Toolkit : HeaderSet::Lean;
    text = readable_host_text(unit, files_, false);
    answer.read.merge(text.read);
    answer.all = is_all(text);
    return answer;
  }

 private:
  /// A missing header may include a file of the patch if it is one of the application's, as its name tells.
  bool is_all(const HostText& text) {
    if (text.failure) return false;
    if (!text.missing.empty() && names_.empty()) list_names();
    return std::ranges::none_of(text.missing,
                                [&](auto& name) { return names_.contains(fs::path(name).filename().string()); });
  }
  void list_names() {
    names_.insert("");  // Listed.
    std::error_code code;
    fs::recursive_directory_iterator at(root_, fs::directory_options::skip_permission_denied, code), end;
    for (; !code && at != end; at.increment(code)) {
      if (at->path().filename() == ".git") at.disable_recursion_pending();
      names_.insert(at->path().filename().string());
    }
  }

  const std::vector<FileVersion>& files_;
  const fs::path root_;
  std::set<std::string> names_;  ///< Of the application's files; empty: not listed yet.
};

}  // namespace

std::vector<HostUnit> known_units(const Mep& mep, const ScanIndex* scan) { return AllUnits(mep, scan).units; }

TouchedUnits touched_units(const Mep& mep, const ScanIndex* scan, const SourcePatch& patch) {
  TouchedUnits touched;
  std::vector<FileVersion> files;
  std::set<fs::path> unread;
  for (auto& change : patch.changes) {
    if (change.created || change.of_build) continue;  // Read by what includes it, which is patched too; by no compiler.
    files.push_back({change.path, change.before, {}});
    unread.insert(change.path);
  }
  AllUnits all(mep, scan);
  auto& units = all.units;
  auto is_main = [&](const fs::path& file) {
    return std::ranges::any_of(units, [&](auto& unit) { return unit.file == file; });
  };
  const bool headers = std::ranges::any_of(files, [&](auto& file) { return !is_main(file.path); });
  if (headers) touched.unknown = std::move(all.unknown);
  UnitReader reader(files, mep.app_root);
  for (auto& unit : units) {
    bool main = std::ranges::any_of(files, [&](auto& file) { return file.path == unit.file; });
    if (main) unread.erase(unit.file);
    if (!main && !headers) continue;
    UnitReader::Answer answer;
    if (headers) answer = reader.read(unit);
    for (auto& file : answer.read) unread.erase(file);
    if (main || !answer.read.empty() || !answer.all) touched.units.push_back(unit);
  }
  for (auto& change : patch.changes)
    if (unread.contains(change.path)) touched.unread.push_back(change.name);
  return touched;
}

}  // namespace kernelift::reintegrate
