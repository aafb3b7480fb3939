// An entry's first line is the hash of the rest, which is JSON: findings in the form of scan.json, and the answers of
// the file system that they depend on.
#include "extractor/scan/unit_cache.h"

#include <unistd.h>

#include <algorithm>

#include "core/base/file.h"
#include "llvm/Object/BuildID.h"
#include "llvm/Object/ObjectFile.h"

namespace kernelift::extractor {
namespace {

namespace fs = std::filesystem;

/// Identity of the running program, clang included: its build ID if the linker wrote one, else a hash of the file.
std::string program_identity() {
  constexpr const char* kSelf = "/proc/self/exe";
  if (auto program = llvm::object::ObjectFile::createObjectFile(kSelf)) {
    if (auto id = llvm::object::getBuildID(program->getBinary()); !id.empty()) return llvm::toHex(id);
  } else {
    llvm::consumeError(program.takeError());
  }
  auto bytes = read_bytes(kSelf);
  return bytes.ok() ? hash_bytes(*bytes).hex() : "";
}

}  // namespace

UnitCache::UnitCache(fs::path folder) : folder_(std::move(folder)), program_(program_identity()) {
  if (program_.empty()) folder_.clear();
}

fs::path UnitCache::entry(const Hash& identity) const {
  return folder_ / Hasher().add(program_).add(identity.hex()).finish().hex();
}

std::optional<ScanIndex> UnitCache::find(const Hash& identity) {
  if (folder_.empty()) return std::nullopt;
  fs::path file = entry(identity);
  auto text = read_text(file);
  size_t line = text.ok() ? text->find('\n') : std::string::npos;
  if (line == std::string::npos) return std::nullopt;
  std::string_view body = std::string_view(*text).substr(line + 1);
  if (text->compare(0, line, hash_text(body).hex()) != 0) return std::nullopt;
  auto document = parse_json(body, file.string());
  if (!document.ok()) return std::nullopt;
  auto answers = reading(file.string(), [&] { return file_answers_from_json(document->at("answers")); });
  if (!answers.ok() || !files_.confirms(*answers)) return std::nullopt;
  auto found = reading(file.string(), [&] { return document->at("found"); });
  auto index = found.ok() ? scan_index_from_json(*found, file.string()) : std::move(found).error();
  if (!index.ok() || index->units.size() != 1) return std::nullopt;
  std::error_code ignored;
  fs::last_write_time(file, fs::file_time_type::clock::now(), ignored);
  return std::move(index).value();
}

void UnitCache::keep(const Hash& identity, const ScanIndex& found, const FileAnswers& answers) const {
  if (folder_.empty() || !answers.settled) return;
  Json document{{"found", to_json(found)}, {"answers", to_json(answers)}};
  std::string text = compact(document);
  text.insert(0, hash_text(text).hex() + "\n");
  [[maybe_unused]] Status kept = write_atomically(entry(identity), text);
}

void UnitCache::shrink(uint64_t limit) const {
  struct Entry {
    fs::file_time_type used;
    uint64_t bytes;
    fs::path file;
  };
  std::vector<Entry> entries;
  std::error_code ignored;
  for (fs::directory_iterator at(folder_, ignored), end; !ignored && at != end; at.increment(ignored)) {
    std::error_code gone;
    if (at->is_regular_file(gone)) entries.push_back({at->last_write_time(gone), at->file_size(gone), at->path()});
  }
  std::ranges::sort(entries, std::greater(), &Entry::used);
  uint64_t bytes = 0;
  for (auto& one : entries)
    if ((bytes += one.bytes) > limit) fs::remove(one.file, ignored);
}

}  // namespace kernelift::extractor
