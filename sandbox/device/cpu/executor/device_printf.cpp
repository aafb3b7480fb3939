// Walks the format once; each conversion is handed to the host's snprintf with an argument of the type it names. %n
// writes nothing, as on a GPU, and an unknown conversion is printed as it stands.
#include "sandbox/device/cpu/executor/device_printf.h"

#include <cstdint>
#include <cstdio>
#include <cstring>

namespace kernelift::cpu {

namespace {

class PackedArguments {
 public:
  explicit PackedArguments(const void* start) : start_(static_cast<const char*>(start)) {}
  template <class T>
  T next() {
    offset_ = (offset_ + sizeof(T) - 1) / sizeof(T) * sizeof(T);
    T value{};
    if (start_) std::memcpy(&value, start_ + offset_, sizeof(T));
    offset_ += sizeof(T);
    ++count_;
    return value;
  }
  int count() const { return count_; }

 private:
  const char* start_;
  size_t offset_ = 0;
  int count_ = 0;
};

template <class T>
void append(std::string& out, const std::string& conversion, T value) {
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wformat-nonliteral"
#pragma clang diagnostic ignored "-Wformat-security"
  char small[128];
  const int length = std::snprintf(small, sizeof small, conversion.c_str(), value);
  if (length < 0) return;
  if (size_t(length) < sizeof small) {
    out.append(small, size_t(length));
    return;
  }
  const size_t before = out.size();
  out.resize(before + size_t(length) + 1);
  std::snprintf(out.data() + before, size_t(length) + 1, conversion.c_str(), value);
  out.resize(before + size_t(length));
#pragma clang diagnostic pop
}

}  // namespace

FormattedText format_device_printf(const char* format, const void* arguments) {
  FormattedText result;
  if (!format) {
    result.arguments = -1;
    return result;
  }
  PackedArguments packed(arguments);
  for (const char* at = format; *at;) {
    if (*at != '%') {
      const size_t plain = std::strcspn(at, "%");
      result.text.append(at, plain);
      at += plain;
      continue;
    }
    if (at[1] == '%') {
      result.text += '%';
      at += 2;
      continue;
    }
    std::string conversion = "%";
    const char* p = at + 1;
    auto star_or_digits = [&] {
      if (*p == '*') {
        conversion += std::to_string(packed.next<int32_t>());
        ++p;
      }
      while (*p >= '0' && *p <= '9') conversion += *p++;
    };
    while (*p && std::strchr("-+ #0", *p)) conversion += *p++;
    star_or_digits();
    if (*p == '.') {
      conversion += *p++;
      star_or_digits();
    }
    bool wide = false;
    int narrow = 0;
    while (*p && std::strchr("hlLjztq", *p)) {
      if (*p == 'h') ++narrow;
      else wide = true;
      ++p;
    }
    const char kind = *p;
    switch (kind) {
      case 'd':
      case 'i':
        if (wide) append(result.text, conversion + "ll" + kind, packed.next<long long>());
        else append(result.text, conversion + std::string(size_t(narrow), 'h') + kind, packed.next<int>());
        break;
      case 'u':
      case 'o':
      case 'x':
      case 'X':
        if (wide) append(result.text, conversion + "ll" + kind, packed.next<unsigned long long>());
        else append(result.text, conversion + std::string(size_t(narrow), 'h') + kind, packed.next<unsigned>());
        break;
      case 'c': append(result.text, conversion + kind, packed.next<int>()); break;
      case 'e':
      case 'E':
      case 'f':
      case 'F':
      case 'g':
      case 'G':
      case 'a':
      case 'A': append(result.text, conversion + kind, packed.next<double>()); break;
      case 's': {
        const char* string = packed.next<const char*>();
        append(result.text, conversion + kind, string ? string : "(null)");
        break;
      }
      case 'p': append(result.text, conversion + kind, packed.next<void*>()); break;
      case 'n': packed.next<void*>(); break;
      default: result.text.append(at, size_t(p - at) + (kind ? 1 : 0)); break;
    }
    at = kind ? p + 1 : p;
  }
  result.arguments = packed.count();
  return result;
}

}  // namespace kernelift::cpu
