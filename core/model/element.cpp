// Names, widening and bit order of element types; see element.h.
#include "core/model/element.h"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>

namespace kernelift {
namespace {

using ElementKind = ElementType::Kind;

template <class T>
T load(const std::byte* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

uint64_t bits(const std::byte* bytes, uint32_t width) {
  uint64_t value = 0;
  std::memcpy(&value, bytes, width);
  return value;
}

double half_to_double(uint16_t half) {
  constexpr int kExponentBits = 5, kMantissaBits = 10, kBias = 15;
  int exponent = (half >> kMantissaBits) & ((1 << kExponentBits) - 1);
  int mantissa = half & ((1 << kMantissaBits) - 1);
  double magnitude;
  if (exponent == (1 << kExponentBits) - 1) magnitude = mantissa ? NAN : INFINITY;
  else if (exponent == 0) magnitude = std::ldexp(mantissa, 1 - kBias - kMantissaBits);
  else magnitude = std::ldexp(mantissa + (1 << kMantissaBits), exponent - kBias - kMantissaBits);
  return half >> 15 ? -magnitude : magnitude;
}

/// Drops cv words, "struct", pointers' leftovers and doubled spaces; "const unsigned  int" -> "unsigned int".
std::string normal_name(std::string_view text) {
  std::string out, word;
  auto flush = [&] {
    if (!word.empty() && word != "const" && word != "volatile" && word != "__restrict__" && word != "restrict")
      out += (out.empty() ? "" : " ") + word;
    word.clear();
  };
  for (char c : text)
    if (c == ' ' || c == '*' || c == '&' || c == '\t') flush();
    else word += c;
  flush();
  if (out.starts_with("std::")) out = out.substr(5);
  return out;
}

const std::map<std::string, ElementType, std::less<>>& known_types() {
  static const auto* table = [] {
    auto* types = new std::map<std::string, ElementType, std::less<>>;
    auto add = [&](ElementKind kind, uint32_t width, std::initializer_list<const char*> names) {
      for (auto name : names) (*types)[name] = {kind, width};
    };
    add(ElementKind::Float, 4, {"float"});
    add(ElementKind::Double, 8, {"double"});
    add(ElementKind::Half, 2, {"half", "__half", "_Float16", "half2", "__half2"});
    add(ElementKind::Bfloat16, 2,
        {"__nv_bfloat16", "bfloat16", "__bf16", "nv_bfloat16", "__nv_bfloat162", "hip_bfloat16"});
    add(ElementKind::Bool, 1, {"bool"});
    add(ElementKind::Signed, 1, {"char", "signed char", "int8_t"});
    add(ElementKind::Unsigned, 1, {"unsigned char", "uchar", "uint8_t"});
    add(ElementKind::Signed, 2, {"short", "int16_t", "short int"});
    add(ElementKind::Unsigned, 2, {"unsigned short", "ushort", "uint16_t"});
    add(ElementKind::Signed, 4, {"int", "int32_t", "signed int"});
    add(ElementKind::Unsigned, 4, {"unsigned int", "unsigned", "uint", "uint32_t"});
    add(ElementKind::Signed, 8, {"long", "long long", "int64_t", "long int", "long long int", "ptrdiff_t", "longlong"});
    add(ElementKind::Unsigned, 8, {"unsigned long", "unsigned long long", "uint64_t", "size_t", "ulong", "ulonglong"});
    // The vector types of both languages: scalars in a row.
    for (auto [name, scalar] :
         std::initializer_list<std::pair<const char*, const char*>>{{"float", "float"},
                                                                    {"double", "double"},
                                                                    {"char", "char"},
                                                                    {"uchar", "unsigned char"},
                                                                    {"short", "short"},
                                                                    {"ushort", "unsigned short"},
                                                                    {"int", "int"},
                                                                    {"uint", "unsigned int"},
                                                                    {"long", "long"},
                                                                    {"ulong", "unsigned long"},
                                                                    {"longlong", "long long"},
                                                                    {"ulonglong", "unsigned long long"}})
      for (const char* lanes : {"1", "2", "3", "4"}) (*types)[std::string(name) + lanes] = (*types)[scalar];
    return types;
  }();
  return *table;
}

}  // namespace

ElementType ElementType::parse(std::string_view text) {
  auto found = known_types().find(normal_name(text));
  return found == known_types().end() ? ElementType{} : found->second;
}

double ElementType::real(const std::byte* bytes) const {
  switch (kind) {
    case ElementKind::Half: return half_to_double(load<uint16_t>(bytes));
    case ElementKind::Bfloat16: {
      uint32_t wide = uint32_t(load<uint16_t>(bytes)) << 16;
      float value;
      std::memcpy(&value, &wide, sizeof value);
      return value;
    }
    case ElementKind::Float: return load<float>(bytes);
    case ElementKind::Double: return load<double>(bytes);
    default: return 0;
  }
}

void ElementType::set_real(std::byte* bytes, double value) const {
  auto put = [&](auto narrowed) { std::memcpy(bytes, &narrowed, sizeof narrowed); };
  switch (kind) {
    case ElementKind::Half: put(static_cast<_Float16>(value)); break;
    case ElementKind::Bfloat16: {
      auto narrowed = static_cast<float>(value);
      uint32_t wide = 0;
      std::memcpy(&wide, &narrowed, sizeof wide);
      constexpr uint32_t kHalfWay = 0x7fff;  // To nearest, ties to even.
      if (!std::isnan(narrowed)) wide += kHalfWay + ((wide >> 16) & 1);
      put(static_cast<uint16_t>(wide >> 16));
      break;
    }
    case ElementKind::Float: put(static_cast<float>(value)); break;
    case ElementKind::Double: put(value); break;
    default: break;
  }
}

int64_t ElementType::ordered(const std::byte* bytes) const {
  uint64_t value = bits(bytes, width), sign = 1ull << (8 * width - 1);
  // Sign and magnitude to two's complement.
  return value & sign ? -static_cast<int64_t>(value & (sign - 1)) : static_cast<int64_t>(value);
}

double ElementType::epsilon() const {
  constexpr int kHalf = -10, kBfloat16 = -7, kFloat = -23, kDouble = -52;
  switch (kind) {
    case ElementKind::Half: return std::ldexp(1, kHalf);
    case ElementKind::Bfloat16: return std::ldexp(1, kBfloat16);
    case ElementKind::Float: return std::ldexp(1, kFloat);
    case ElementKind::Double: return std::ldexp(1, kDouble);
    default: return 0;
  }
}

std::string ElementType::show(const std::byte* bytes) const {
  char text[64];
  switch (kind) {
    case ElementKind::Bytes: std::snprintf(text, sizeof text, "0x%02x", static_cast<unsigned>(*bytes)); break;
    case ElementKind::Bool: {
      auto value = static_cast<unsigned>(*bytes);
      if (value > 1) std::snprintf(text, sizeof text, "0x%02x (not a bool)", value);
      else std::snprintf(text, sizeof text, "%s", value ? "true" : "false");
      break;
    }
    case ElementKind::Unsigned: std::snprintf(text, sizeof text, "%llu", (unsigned long long)bits(bytes, width)); break;
    case ElementKind::Signed: {
      int shift = 64 - 8 * static_cast<int>(width);
      std::snprintf(text, sizeof text, "%lld", (long long)(static_cast<int64_t>(bits(bytes, width) << shift) >> shift));
      break;
    }
    case ElementKind::Double: std::snprintf(text, sizeof text, "%.17g", real(bytes)); break;
    default: std::snprintf(text, sizeof text, "%.9g", real(bytes)); break;
  }
  return text;
}

}  // namespace kernelift
