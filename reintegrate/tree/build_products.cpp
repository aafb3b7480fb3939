// Whether a build wrote a file is decided by its stamp, not its content, as build systems do. Copies keep the time of
// last change, so that make and ninja find the tree as the build left it.
#include "reintegrate/tree/build_products.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/base/json.h"

namespace fs = std::filesystem;

namespace kernelift::reintegrate {
namespace {

bool stamp_of(const fs::path& path, FileStamp& stamp) {
  struct stat info{};
  if (lstat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return false;
  stamp = {static_cast<uint64_t>(info.st_size), info.st_ino, info.st_mtim.tv_sec, info.st_mtim.tv_nsec};
  return true;
}

constexpr const char* kProductsFormat = "kernelift-build-products";
constexpr int kProductsVersion = 1;

enum class Content { Program, LinkInput, Other };

/// Distinguishes ELF programs and shared objects from link inputs (relocatable objects, static archives) and other
/// files.
Content content_of(const fs::path& path) {
  char head[18] = {};
  std::ifstream file(path, std::ios::binary);
  file.read(head, sizeof head);
  constexpr char kRelocatable = 1;  // e_type ET_REL, little endian, at byte 16
  if (std::memcmp(head, "\177ELF", 4) == 0) return head[16] == kRelocatable ? Content::LinkInput : Content::Program;
  return std::memcmp(head, "!<arch>\n", 8) == 0 ? Content::LinkInput : Content::Other;
}

Status copy_with_stamp(const fs::path& from, const fs::path& to) {
  std::error_code code;
  struct stat info{};
  if (stat(from.c_str(), &info) != 0) return file_error("read", from);
  fs::copy_file(from, to, fs::copy_options::overwrite_existing, code);
  if (code) return errno = code.value(), file_error("copy a build product to", to);
  chmod(to.c_str(), info.st_mode & 07777);
  timespec times[2] = {{0, UTIME_OMIT}, info.st_mtim};
  utimensat(AT_FDCWD, to.c_str(), times, 0);
  return done();
}

fs::path swap_name(const fs::path& path) {
  return path.parent_path() / ("." + path.filename().string() + ".kernelift-swap");
}

/// A running program keeps its file; whoever starts it next gets the new one.
Status replace_by(const fs::path& copy, const fs::path& path) {
  KERNELIFT_TRY(copy_with_stamp(copy, swap_name(path)));
  return rename(swap_name(path).c_str(), path.c_str()) == 0 ? done() : Status(file_error("write", path));
}

Result<std::string> hash_of(const fs::path& file) {
  KERNELIFT_ASSIGN(std::string text, read_text(file));
  return hash_text(text).hex();
}

}  // namespace

bool is_program(const fs::path& path) { return content_of(path) == Content::Program; }
bool is_executable(const fs::path& path) { return is_program(path) || access(path.c_str(), X_OK) == 0; }
bool is_built(const fs::path& path) { return is_executable(path) || content_of(path) == Content::LinkInput; }

namespace {

/// Adds the files under the folder. A folder that disappears meanwhile, such as a compiler's temporary folder, is
/// skipped without affecting its siblings.
Status add_files(const fs::path& folder, const std::vector<fs::path>& without, Listing& listing) {
  std::error_code code;
  for (fs::directory_iterator at(folder, code), end; !code && at != end; at.increment(code)) {
    fs::path name = at->path().filename();
    if (name == ".git" || name == ".kernelift" ||
        std::find(without.begin(), without.end(), at->path()) != without.end())
      continue;
    std::error_code ignored;
    FileStamp stamp;
    if (stamp_of(at->path(), stamp)) listing[at->path()] = stamp;
    else if (at->symlink_status(ignored).type() == fs::file_type::directory)
      KERNELIFT_TRY(add_files(at->path(), without, listing));
  }
  if (!code || code == std::errc::no_such_file_or_directory || code == std::errc::permission_denied) return done();
  return errno = code.value(), file_error("list the files of", folder);
}

}  // namespace

Result<Listing> list_files(const std::vector<fs::path>& folders, const std::vector<fs::path>& without) {
  Listing listing;
  for (auto& folder : folders) KERNELIFT_TRY(add_files(folder, without, listing));
  return listing;
}

std::vector<fs::path> written_between(const Listing& before, const Listing& after) {
  std::vector<fs::path> written;
  for (auto& [path, stamp] : after) {
    auto old = before.find(path);
    if (old == before.end() || !(old->second == stamp)) written.push_back(path);
  }
  return written;
}

BuildProducts::~BuildProducts() {
  std::error_code ignored;
  if (!vault_.empty()) fs::remove_all(vault_, ignored);
}

Status BuildProducts::save(Version version, const std::vector<fs::path>& files) {
  std::error_code code;
  fs::path folder = vault_ / (version == Before ? "before" : "after");
  fs::create_directories(folder, code);
  if (code) return errno = code.value(), file_error("create", folder);
  for (auto& file : files) {
    if (content_of(file) == Content::LinkInput) continue;
    Saved saved{folder / std::to_string(files_[version].size())};
    KERNELIFT_TRY(copy_with_stamp(file, saved.copy));
    stamp_of(file, installed_[file]);
    files_[version][file] = saved;
  }
  return done();
}

Result<bool> BuildProducts::compare() {
  bool differ = false;
  for (int version : {Before, After})
    std::erase_if(files_[version], [&](auto& entry) { return !files_[1 - version].contains(entry.first); });
  for (auto& [path, saved] : files_[Before]) {
    if (differ) break;
    KERNELIFT_ASSIGN(auto before, read_bytes(saved.copy));
    KERNELIFT_ASSIGN(auto after, read_bytes(files_[After][path].copy));
    differ = before != after;
  }
  return differ;
}

Status BuildProducts::install(Version version) {
  for (auto& [path, saved] : files_[version]) {
    FileStamp now;
    if (!stamp_of(path, now) || !(now == installed_[path]))
      return environment_error(path.string() +
                               " was rebuilt or changed by another program while both versions were being timed");
  }
  for (auto& [path, saved] : files_[version]) {
    KERNELIFT_TRY(replace_by(saved.copy, path));
    stamp_of(path, installed_[path]);
  }
  return done();
}

Status BuildProducts::write_list() const {
  Json document = artefact(kProductsFormat, kProductsVersion, 1), files = Json::array();
  for (auto& [path, saved] : files_[Before]) {
    const Saved& patched = files_[After].at(path);
    Json entry = {{"path", path.string()}, {"before", saved.copy.string()}, {"after", patched.copy.string()}};
    for (auto [key, copy] : {std::pair{"before_hash", saved.copy}, {"after_hash", patched.copy}}) {
      KERNELIFT_ASSIGN(entry[key], hash_of(copy));
    }
    files.push_back(std::move(entry));
  }
  document["files"] = files;
  return write_json(list(), document);
}

Status BuildProducts::load() {
  KERNELIFT_ASSIGN(Json document, read_json(list()));
  KERNELIFT_TRY(check_artefact(document, kProductsFormat, kProductsVersion, list().string()));
  auto filled = reading(list().string(), [&] {
    for (auto& from : document.at("files")) {
      fs::path path = from.at("path").get<std::string>();
      files_[Before][path] = {from.at("before").get<std::string>(), from.at("before_hash")};
      files_[After][path] = {from.at("after").get<std::string>(), from.at("after_hash")};
    }
    return true;
  });
  return filled.ok() ? done() : Status(std::move(filled).error());
}

BuildProducts::Comparison BuildProducts::against_files() const {
  Comparison found;
  for (auto& [path, saved] : files_[Before]) {
    auto now = hash_of(path);
    if (now.ok() && *now == saved.hash) ++found.before;
    else (now.ok() && *now == files_[After].at(path).hash ? found.after : found.other).push_back(path);
  }
  return found;
}

Status BuildProducts::put_back() {
  std::error_code ignored;
  for (auto& [path, saved] : files_[Before]) fs::remove(swap_name(path), ignored);
  for (auto& path : against_files().after) {
    const Saved& saved = files_[Before].at(path);
    KERNELIFT_ASSIGN(std::string hash, hash_of(saved.copy));
    if (hash != saved.hash) return environment_error("the saved copy " + saved.copy.string() + " is damaged");
    KERNELIFT_TRY(replace_by(saved.copy, path));
  }
  return done();
}

}  // namespace kernelift::reintegrate
