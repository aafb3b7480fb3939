// A MEP's data file, read-only. It is mapped rather than read, since recorded memory may be gigabytes, and no child
// process inherits it, since it may hold answers.
#pragma once
#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"

namespace kernelift::sandbox {

class RecordedFile {
 public:
  RecordedFile() = default;
  /// Checked by the hash that is its name; the errors are Mep::load's.
  static Result<RecordedFile> open(const std::filesystem::path& folder, const std::string& file);
  RecordedFile(RecordedFile&& other) noexcept { swap(other); }
  RecordedFile& operator=(RecordedFile&& other) noexcept {
    swap(other);
    return *this;
  }
  ~RecordedFile();

  std::span<const std::byte> bytes() const { return base_ ? std::span(base_, size_) : std::span(own_); }
  /// A copy of exactly so many bytes in its place, which may be changed; what the file lacks is zero.
  std::span<std::byte> own(size_t size);

 private:
  void swap(RecordedFile& other) noexcept {
    std::swap(base_, other.base_), std::swap(size_, other.size_), std::swap(own_, other.own_);
  }
  void map(const std::filesystem::path& path);
  void unmap();

  const std::byte* base_ = nullptr;
  size_t size_ = 0;
  std::vector<std::byte> own_;
};

}  // namespace kernelift::sandbox
