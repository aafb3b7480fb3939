// Flat little-endian messages between our processes. The reader never trusts a length: after a value that does not fit,
// every later read yields zero or empty, and the caller checks ok() once at the end. No schema, no versions: both ends
// are always the same binary.
#pragma once
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace kernelift {

class WireWriter {
 public:
  WireWriter& number(uint64_t value) { return raw(&value, sizeof value); }
  WireWriter& real(double value) { return raw(&value, sizeof value); }
  WireWriter& text(std::string_view value) { return number(value.size()).raw(value.data(), value.size()); }
  WireWriter& texts(const std::vector<std::string>& values) {
    number(values.size());
    for (auto& value : values) text(value);
    return *this;
  }
  WireWriter& reals(const std::vector<double>& values) { return items(std::span(values)); }
  /// Of a type without pointers.
  template <class T>
  WireWriter& items(std::span<const T> values) {
    static_assert(std::is_trivially_copyable_v<T>);
    return number(values.size()).raw(values.data(), values.size_bytes());
  }
  std::string take() { return std::move(bytes_); }

 private:
  WireWriter& raw(const void* data, size_t size) {
    bytes_.append(static_cast<const char*>(data), size);
    return *this;
  }
  std::string bytes_;
};

class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : rest_(bytes) {}

  uint64_t number() { return scalar<uint64_t>(); }
  double real() { return scalar<double>(); }
  std::string text() {
    uint64_t size = number();
    if (!failed_ && size > rest_.size()) failed_ = true;
    if (failed_) return {};
    std::string value(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return value;
  }
  std::vector<std::string> texts() {
    uint64_t count = counted(sizeof(uint64_t));
    std::vector<std::string> values;
    for (uint64_t i = 0; i < count && !failed_; ++i) values.push_back(text());
    return values;
  }
  std::vector<double> reals() { return items<double>(); }
  template <class T>
  std::vector<T> items() {
    static_assert(std::is_trivially_copyable_v<T>);
    std::vector<T> values(counted(sizeof(T)));
    if (!values.empty()) std::memcpy(values.data(), rest_.data(), values.size() * sizeof(T));
    rest_.remove_prefix(values.size() * sizeof(T));
    return values;
  }
  /// Every read fitted and no bytes are left over.
  bool ok() const { return !failed_ && rest_.empty(); }
  bool failed() const { return failed_; }

 private:
  template <class T>
  T scalar() {
    T value{};
    if (failed_ || rest_.size() < sizeof value) {
      failed_ = true;
      return value;
    }
    std::memcpy(&value, rest_.data(), sizeof value);
    rest_.remove_prefix(sizeof value);
    return value;
  }
  /// A count of items that each take at least `smallest` bytes, so that a false count cannot make us reserve memory.
  uint64_t counted(size_t smallest) {
    uint64_t count = number();
    if (!failed_ && count > rest_.size() / smallest) failed_ = true;
    return failed_ ? 0 : count;
  }

  std::string_view rest_;
  bool failed_ = false;
};

}  // namespace kernelift
