// ---- comparing --------------------------------------------------------------------------------------------
// Integers exactly, floating-point values by a relative tolerance of their type, or by what the kernel's own runs
// differ by; NaN, infinities and -0 as a person would. Simpler than the judge's comparison, which Kernelift itself
// uses: that measures how far other roundings of the kernel lead.

namespace kl_replay {

struct Difference {
  u64 count = 0, elements = 0, index = 0;  ///< Mismatches; elements compared; the worst one.
  u64 first = 0;                           ///< The first one.
  double first_expected = 0, first_got = 0;
  double worst = 0;   ///< Largest difference over the buffer's magnitude, mismatch or not.
  double needed = 0;  ///< The tolerance with which all floating-point values would agree.
  double expected = 0, got = 0;
};

inline double half_value(uint16_t bits) {
  int exponent = (bits >> 10) & 31, fraction = bits & 1023;
  double value = exponent == 31
                     ? (fraction ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity())
                 : exponent ? std::ldexp(1024 + fraction, exponent - 25)
                            : std::ldexp(fraction, -24);
  return bits & 0x8000 ? -value : value;
}
inline double bfloat_value(uint16_t bits) {
  uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float value;
  std::memcpy(&value, &wide, 4);
  return value;
}

inline unsigned element_size(Element element) {
  switch (element) {
    case kInt16:
    case kHalf:
    case kBfloat: return 2;
    case kInt32:
    case kFloat: return 4;
    case kInt64:
    case kDouble:
    case kPointer: return 8;
    default: return 1;
  }
}

inline double value_at(const unsigned char* at, Element element) {
  switch (element) {
    case kInt16: {
      int16_t v;
      std::memcpy(&v, at, 2);
      return v;
    }
    case kInt32: {
      int32_t v;
      std::memcpy(&v, at, 4);
      return v;
    }
    case kInt64:
    case kPointer: {
      int64_t v;
      std::memcpy(&v, at, 8);
      return static_cast<double>(v);
    }
    case kHalf: {
      uint16_t v;
      std::memcpy(&v, at, 2);
      return half_value(v);
    }
    case kBfloat: {
      uint16_t v;
      std::memcpy(&v, at, 2);
      return bfloat_value(v);
    }
    case kFloat: {
      float v;
      std::memcpy(&v, at, 4);
      return v;
    }
    case kDouble: {
      double v;
      std::memcpy(&v, at, 8);
      return v;
    }
    case kInt8: return static_cast<signed char>(*at);
    default: return *at;
  }
}

inline double default_tolerance(Element element) {
  switch (element) {
    case kHalf: return 4e-3;
    case kBfloat: return 3e-2;
    case kFloat: return 1e-5;
    case kDouble: return 1e-12;
    default: return 0;
  }
}

/// The relative tolerance for each type of floating-point value.
struct Allowance {
  double given = -1;  ///< What the user has set, for all types; < 0: by type.
  double spread = 0;  ///< `needed` between runs of the kernel as it is: sums by atomics come out as their order falls.

  /// A few runs see only part of what chance can do, and less of it on a quiet device than where the application shared
  /// one: hence four times, and ten times the usual at least. But what is far off is wrong whatever it varies by.
  double of(Element element) const {
    double usual = default_tolerance(element);
    if (given >= 0) return given;
    return spread > 0 ? std::min(100 * usual, std::max(10 * usual, 4 * spread)) : usual;
  }
};

/// What is known of some neighbouring values.
struct Neighbourhood {
  double scale = 0;    ///< Root mean square.
  bool fades = false;  ///< There are numbers near the smallest of the type, so that denormals are numbers, too.
};

/// Of `count` values. What is larger than all others by more digits than they have is no number of their kind, but a
/// mark (FLT_MAX: "nothing here"), and makes no scale.
inline Neighbourhood neighbourhood(const unsigned char* at, u64 count, Element element) {
  const double gap = element == kDouble ? 1e18 : 4e9, small = element == kDouble ? 1e-290 : 1e-30;
  const double normal = element == kDouble ? std::numeric_limits<double>::min() : std::numeric_limits<float>::min();
  unsigned width = element_size(element);
  double largest = 0, next = 0, squares = 0;
  Neighbourhood found;
  for (u64 i = 0; i < count; ++i) {
    double value = std::fabs(value_at(at + i * width, element));
    if (!std::isfinite(value)) continue;
    found.fades |= value >= normal && value < small;
    if (value > largest) next = largest, largest = value;
    else if (value < largest) next = std::max(next, value);
  }
  if (next > 0 && largest / gap > next) largest = next;
  u64 counted = 0;
  for (u64 i = 0; i < count && largest > 0; ++i) {
    double value = std::fabs(value_at(at + i * width, element));
    if (value <= largest) squares += (value / largest) * (value / largest), ++counted;
  }
  if (counted) found.scale = largest * std::sqrt(squares / static_cast<double>(counted));
  return found;
}

/// An integer where a float belongs (float4.w often is one) reads like this.
inline bool is_denormal(double value, Element element) {
  double size = std::fabs(value);
  return size > 0 && ((element == kFloat && size < std::numeric_limits<float>::min()) ||
                      (element == kDouble && size < std::numeric_limits<double>::min()));
}

/// Integers, addresses and untyped bytes must be equal. Floating-point values must agree within `tolerance` of their
/// own size, or of their neighbourhood's (sums that cancel lose digits of what they cancel from). NaN agrees with NaN
/// only, an infinity with itself only, and so does a denormal where no other number is as small.
inline Difference compare(const std::vector<unsigned char>& expected, const std::vector<unsigned char>& got,
                          Element element, double tolerance) {
  const u64 kNeighbours = 4096;  // Bytes: a buffer may hold large numbers here and small ones there.
  Difference difference;
  unsigned width = element_size(element);
  bool exact = element < kHalf || element == kPointer;
  if (!exact && expected.size() % width) exact = true, width = 1, element = kBytes;
  difference.elements = expected.size() / width;
  if (expected == got) return difference;
  if (exact && expected.size() % width) width = 1, element = kBytes, difference.elements = expected.size();
  double largest = 0;
  if (!exact)
    for (u64 i = 0; i < difference.elements; ++i) {
      double value = std::fabs(value_at(expected.data() + i * width, element));
      if (std::isfinite(value)) largest = std::max(largest, value);
    }
  Neighbourhood near;
  u64 near_end = 0;
  for (u64 i = 0; i < difference.elements; ++i) {
    const unsigned char *e = expected.data() + i * width, *g = got.data() + i * width;
    if (std::memcmp(e, g, width) == 0) continue;
    double want = value_at(e, element), have = value_at(g, element), off = 1;
    bool bad = true;
    if (!exact && std::isfinite(want) && std::isfinite(have)) {
      if (i >= near_end) {
        u64 begin = i * width / kNeighbours * kNeighbours / width;
        near_end = std::min(difference.elements, begin + kNeighbours / width);
        near = neighbourhood(expected.data() + begin * width, near_end - begin, element);
      }
      double apart = std::fabs(want - have), size = std::max(std::fabs(want), near.scale);
      bool integer = !near.fades && (is_denormal(want, element) || is_denormal(have, element));
      off = largest > 0 ? apart / largest : apart;
      bad = integer || apart > tolerance * size;
      if (!integer) difference.needed = std::max(difference.needed, apart / size);
    } else if (!exact && std::isnan(want) && std::isnan(have)) {
      continue;
    }
    if (bad && (difference.count == 0 || off > difference.worst || (exact && difference.count == 0)))
      difference.index = i, difference.expected = want, difference.got = have;
    if (bad && difference.count++ == 0)
      difference.first = i, difference.first_expected = want, difference.first_got = have;
    difference.worst = std::max(difference.worst, off);
  }
  return difference;
}

/// Structs lane by lane; what lies between lanes is padding and means nothing. Indices are of structs.
inline Difference compare(const std::vector<unsigned char>& expected, const std::vector<unsigned char>& got,
                          const Shape& shape, const Allowance& allowed) {
  if (shape.lane_count == 0 || expected.size() % shape.stride != 0)
    return compare(expected, got, shape.element, allowed.of(shape.element));
  Difference all;
  all.elements = expected.size() / shape.stride;
  if (expected == got) return all;
  for (int l = 0; l < shape.lane_count; ++l) {
    const Lane& lane = shape.lanes[l];
    unsigned width = element_size(lane.element);
    std::vector<unsigned char> want(all.elements * width), have(want.size());
    for (u64 i = 0; i < all.elements; ++i) {
      std::memcpy(want.data() + i * width, expected.data() + i * shape.stride + lane.offset, width);
      std::memcpy(have.data() + i * width, got.data() + i * shape.stride + lane.offset, width);
    }
    Difference one = compare(want, have, lane.element, allowed.of(lane.element));
    if (one.count > 0 && (all.count == 0 || one.first < all.first))
      all.first = one.first, all.first_expected = one.first_expected, all.first_got = one.first_got;
    if (one.count > 0 && (all.count == 0 || one.worst > all.worst))
      all.index = one.index, all.expected = one.expected, all.got = one.got;
    all.count += one.count, all.worst = std::max(all.worst, one.worst), all.needed = std::max(all.needed, one.needed);
  }
  return all;
}

/// Prints "PASS  arg 0 (u)  4096 x float  …".
inline void report(const char* name, const Shape& shape, const Difference& d, double spread) {
  std::printf("  %s  %-28s %10llu x %-8s", d.count ? "FAIL" : "PASS", name, d.elements, shape.name);
  if (d.count == 0 && d.worst == 0) std::printf(" identical");
  else if (d.count == 0) std::printf(" largest difference %.2g of the buffer's magnitude", d.worst);
  else {
    std::printf(" %llu differ, first at [%llu]: expected %.9g, got %.9g", d.count, d.first, d.first_expected,
                d.first_got);
    if (d.index != d.first) std::printf("; worst at [%llu]: expected %.9g, got %.9g", d.index, d.expected, d.got);
  }
  if (spread > 0) std::printf(" (runs of the kernel as it is differ by %.2g)", spread);
  std::printf("\n");
}

inline double median(std::vector<double> samples) {
  if (samples.empty()) return 0;
  std::sort(samples.begin(), samples.end());
  size_t middle = samples.size() / 2;
  return samples.size() % 2 ? samples[middle] : (samples[middle - 1] + samples[middle]) / 2;
}

}  // namespace kl_replay
