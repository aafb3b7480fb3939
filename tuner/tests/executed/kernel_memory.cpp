// See kernel_memory.h.
#include "tuner/tests/executed/kernel_memory.h"

#include <clang/AST/ASTContext.h>
#include <clang/AST/Attr.h>
#include <clang/AST/Decl.h>
#include <clang/AST/RecordLayout.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>

namespace kernelift::tuner {
namespace {

constexpr size_t kArrayBytes = 4 * KernelMemory::kMostElements, kCanaryBytes = 64 << 10, kOuterBytes = 1 << 20;
constexpr float kScalarArgument = 1.5f;
constexpr int kSmallIntegers = 32;

}  // namespace

struct KernelMemory::Scalar {
  enum class Kind { Integer, Float, Pointer };
  Kind kind = Kind::Integer;
  size_t offset = 0, bytes = 0;  ///< Within the argument or element.
  size_t array = 0;              ///< Of a pointer.
  std::string size;              ///< Of an integer argument.
};

struct KernelMemory::Array {
  std::string name;
  size_t begin = 0;             ///< In live_.
  size_t element = 1;           ///< Bytes.
  std::vector<Scalar> scalars;  ///< Of one element.
};

/// Reads types.
struct Layouts {
  using Scalar = KernelMemory::Scalar;
  const clang::ASTContext& context;

  size_t bytes(clang::QualType type) const {
    return static_cast<size_t>(context.getTypeSizeInChars(type).getQuantity());
  }

  void add(clang::QualType type, size_t offset, std::vector<Scalar>& scalars) const {
    type = type.getCanonicalType();
    if (auto* array = context.getAsConstantArrayType(type)) {
      const auto element = array->getElementType();
      for (size_t i = 0; i < array->getZExtSize(); ++i) add(element, offset + i * bytes(element), scalars);
    } else if (auto* record = type->getAsRecordDecl()) {
      auto& layout = context.getASTRecordLayout(record);
      unsigned number = 0;
      for (auto* field : record->fields()) add(field->getType(), offset + layout.getFieldOffset(number++) / 8, scalars);
    } else {
      const auto kind = type->isFloatingType()  ? Scalar::Kind::Float
                        : type->isPointerType() ? Scalar::Kind::Pointer
                                                : Scalar::Kind::Integer;
      scalars.push_back({kind, offset, bytes(type), 0, {}});
    }
  }
};

namespace {

template <class Scalar>
void put_float(std::byte* at, const Scalar& scalar, double value) {
  const float narrow = static_cast<float>(value);
  if (scalar.bytes == sizeof(double)) std::memcpy(at, &value, sizeof value);
  else std::memcpy(at, &narrow, std::min(scalar.bytes, sizeof narrow));
}

double float_at(const std::byte* at, size_t bytes) {
  double wide = 0;
  float narrow = 0;
  if (bytes == sizeof wide) return std::memcpy(&wide, at, sizeof wide), wide;
  return std::memcpy(&narrow, at, sizeof narrow), double(narrow);
}

int64_t integer_at(const std::byte* at, size_t bytes) {
  int64_t value = 0;
  return std::memcpy(&value, at, std::min(bytes, sizeof value)), value;
}

/// Multiples of a quarter: sums and products of some hundreds are exact, in whatever order.
template <class Scalar>
void draw(std::byte* element, const std::vector<Scalar>& scalars, std::mt19937& random,
          std::optional<uint32_t> integer) {
  for (auto& scalar : scalars) {
    const uint32_t drawn = static_cast<uint32_t>(random());
    if (scalar.kind == Scalar::Kind::Float) {
      put_float(element + scalar.offset, scalar, (int(drawn % 17) - 8) / 4.0);
    } else if (scalar.kind == Scalar::Kind::Integer) {
      const int64_t value = integer.value_or(drawn % kSmallIntegers);
      std::memcpy(element + scalar.offset, &value, std::min(scalar.bytes, sizeof value));
    }
  }
}

}  // namespace

KernelMemory::~KernelMemory() = default;

KernelMemory::KernelMemory(const KernelSource& source, const std::string& kernel,
                           const std::map<std::string, Drawn>& drawn) {
  const Layouts layouts{source.context()};
  auto* function = source.kernel(kernel);
  KERNELIFT_ASSERT(function, "the suite names its kernels");
  std::mt19937 random(1);
  size_t end = kOuterBytes;
  for (auto* parameter : function->parameters()) {
    const std::string argument = "arg.a" + std::to_string(starts_.size());
    starts_.push_back(scalars_.size());
    layouts.add(parameter->getType(), 0, scalars_);
    const bool whole = scalars_.size() == starts_.back() + 1;
    std::vector<clang::QualType> pointees;
    auto pointers_in = [&](auto& self, clang::QualType type) -> void {
      type = type.getCanonicalType();
      if (type->isPointerType()) pointees.push_back(type->getPointeeType());
      if (auto* record = type->getAsRecordDecl())
        for (auto* field : record->fields()) self(self, field->getType());
    };
    pointers_in(pointers_in, parameter->getType());
    size_t pointer = 0;
    for (size_t s = starts_.back(); s < scalars_.size(); ++s) {
      auto& scalar = scalars_[s];
      if (scalar.kind == Scalar::Kind::Pointer) {
        scalar.array = arrays_.size();
        Array array{parameter->getNameAsString(), end, layouts.bytes(pointees[pointer]), {}};
        layouts.add(pointees[pointer++], 0, array.scalars);
        end += kArrayBytes + kCanaryBytes;
        arrays_.push_back(std::move(array));
      } else if (scalar.kind == Scalar::Kind::Integer) {
        scalar.size = whole ? argument : argument + ".o" + std::to_string(scalar.offset);
        sizes_.push_back(scalar.size);
      }
    }
  }
  drawn_.resize(end + kOuterBytes);
  for (auto& byte : drawn_) byte = static_cast<std::byte>(random());
  for (auto& array : arrays_) {
    const size_t count = kArrayBytes / array.element;
    auto named = drawn.find(array.name);
    std::vector<uint32_t> order(count);
    std::iota(order.begin(), order.end(), 0u);
    // Drawn among the first ones, so that indices stay small.
    std::shuffle(order.begin(), order.begin() + static_cast<ptrdiff_t>(std::min<size_t>(count, 4096)), random);
    const bool permuted = named != drawn.end() && named->second == Drawn::Permutation;
    for (size_t i = 0; i < count; ++i)
      draw(drawn_.data() + array.begin + i * array.element, array.scalars, random,
           permuted ? std::optional(order[i]) : std::nullopt);
  }
  for (auto* declared : source.context().getTranslationUnitDecl()->decls()) {
    auto* variable = llvm::dyn_cast<clang::VarDecl>(declared);
    if (!variable || !(variable->hasAttr<clang::CUDAConstantAttr>() || variable->hasAttr<clang::CUDADeviceAttr>()))
      continue;
    const auto element = source.context().getBaseElementType(variable->getType());
    layouts.add(element, 0, variables_[variable->getNameAsString()]);
    variable_elements_[variable->getNameAsString()] = layouts.bytes(element);
  }
  live_ = drawn_;
}

std::vector<std::byte> KernelMemory::arguments(const kl_kernel& kernel, const Bindings& sizes) const {
  std::vector<std::byte> packed(kernel.parameter_bytes + 1);
  for (size_t p = 0; p < starts_.size() && p < kernel.parameter_count; ++p)
    for (size_t s = starts_[p]; s < (p + 1 < starts_.size() ? starts_[p + 1] : scalars_.size()); ++s) {
      auto& scalar = scalars_[s];
      std::byte* at = packed.data() + kernel.parameters[p].offset + scalar.offset;
      if (scalar.kind == Scalar::Kind::Float) {
        put_float(at, scalar, kScalarArgument);
        continue;
      }
      int64_t value = 0;
      if (scalar.kind == Scalar::Kind::Pointer)
        value = reinterpret_cast<int64_t>(live_.data() + arrays_[scalar.array].begin);
      else if (auto size = sizes.find(scalar.size); size != sizes.end()) value = size->second;
      std::memcpy(at, &value, std::min(scalar.bytes, sizeof value));
    }
  return packed;
}

CheckedExtents KernelMemory::extents(const kl_image& image) const {
  CheckedExtents extents;
  const uint64_t base = reinterpret_cast<uint64_t>(live_.data());
  for (auto& array : arrays_) extents.objects.push_back({array.name, base + array.begin, kArrayBytes});
  for (uint32_t i = 0; i < image.variable_count; ++i) {
    auto& variable = image.variables[i];
    extents.objects.push_back({variable.name, reinterpret_cast<uint64_t>(variable.address), variable.size});
  }
  extents.forbidden = {{base, base + live_.size()}};
  return extents;
}

void KernelMemory::restore(const kl_image& image, const std::set<std::string>& kept) {
  std::memcpy(live_.data(), drawn_.data(), drawn_.size());
  for (uint32_t i = 0; i < image.variable_count; ++i) {
    auto& variable = image.variables[i];
    if (kept.contains(variable.name)) continue;
    std::memset(variable.address, 0, variable.size);
    auto known = variables_.find(variable.name);
    if (known == variables_.end()) continue;
    std::mt19937 random(2);
    const size_t element = variable_elements_.at(variable.name);
    for (size_t at = 0; at + element <= variable.size; at += element)
      draw(static_cast<std::byte*>(variable.address) + at, known->second, random, {});
  }
}

KernelMemory::Contents KernelMemory::contents(const kl_image& image) const {
  Contents contents{live_, {}};
  for (uint32_t i = 0; i < image.variable_count; ++i) {
    auto* begin = static_cast<const std::byte*>(image.variables[i].address);
    contents.variables[image.variables[i].name].assign(begin, begin + image.variables[i].size);
  }
  return contents;
}

std::string KernelMemory::difference(const Contents& expected, const Contents& got, double relative) const {
  for (auto& [name, bytes] : expected.variables)
    if (auto other = got.variables.find(name); other != got.variables.end() && other->second != bytes)
      return "the variable " + name + " differs";
  const std::byte *one = expected.arrays.data(), *other = got.arrays.data();
  if (std::memcmp(one, other, live_.size()) == 0) return {};
  size_t compared = 0;
  for (auto& array : arrays_) {
    if (std::memcmp(one + compared, other + compared, array.begin - compared) != 0)
      return "memory before " + array.name + " was written";
    const size_t count = kArrayBytes / array.element;
    compared = array.begin + count * array.element;
    for (size_t i = 0; i < count; ++i) {
      const size_t at = array.begin + i * array.element;
      if (std::memcmp(one + at, other + at, array.element) == 0) continue;
      const std::string place = array.name + "[" + std::to_string(i) + "]: ";
      for (auto& scalar : array.scalars) {
        const std::byte *before = one + at + scalar.offset, *after = other + at + scalar.offset;
        if (std::memcmp(before, after, scalar.bytes) == 0) continue;
        if (scalar.kind != Scalar::Kind::Float)
          return place + std::to_string(integer_at(after, scalar.bytes)) + " in place of " +
                 std::to_string(integer_at(before, scalar.bytes));
        const double wanted = float_at(before, scalar.bytes), found = float_at(after, scalar.bytes);
        const bool close = (std::isnan(wanted) && std::isnan(found)) || wanted == found ||
                           std::fabs(wanted - found) <= relative * std::max(1.0, std::fabs(wanted));
        if (!close) return place + std::to_string(found) + " in place of " + std::to_string(wanted);
      }
    }
  }
  if (std::memcmp(one + compared, other + compared, live_.size() - compared) != 0)
    return "memory behind the arrays was written";
  return {};
}

}  // namespace kernelift::tuner
