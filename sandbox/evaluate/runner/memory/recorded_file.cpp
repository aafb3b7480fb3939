// See recorded_file.h.
#include "sandbox/evaluate/runner/memory/recorded_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "core/base/hash.h"
#include "core/model/mep.h"

namespace kernelift::sandbox {

Result<RecordedFile> RecordedFile::open(const std::filesystem::path& folder, const std::string& file) {
  RecordedFile recorded;
  recorded.map(folder / "data" / file);
  const auto hash = Hash::from_hex(std::filesystem::path(file).stem().string());
  if (recorded.base_ && hash && hash_bytes(recorded.bytes()) == *hash) return recorded;
  recorded.unmap();
  KERNELIFT_ASSIGN(recorded.own_, Mep::load(folder, file));
  return recorded;
}

RecordedFile::~RecordedFile() {
  unmap();
  // Processes that are forked later inherit freed memory, too.
  explicit_bzero(own_.data(), own_.size());
}

std::span<std::byte> RecordedFile::own(size_t size) {
  if (base_) own_.assign(base_, base_ + std::min(size, size_)), unmap();
  own_.resize(size);
  return own_;
}

void RecordedFile::map(const std::filesystem::path& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat status{};
  if (file >= 0 && fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
    const auto size = static_cast<size_t>(status.st_size);
    void* base = mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, file, 0);
    if (base != MAP_FAILED) {
      madvise(base, size, MADV_DONTFORK);
      base_ = static_cast<const std::byte*>(base), size_ = size;
    }
  }
  if (file >= 0) close(file);
}

void RecordedFile::unmap() {
  if (base_) munmap(const_cast<std::byte*>(base_), size_);
  base_ = nullptr, size_ = 0;
}

}  // namespace kernelift::sandbox
