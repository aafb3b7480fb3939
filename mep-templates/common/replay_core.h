// kernelift_replay.h: replays recorded launches of one kernel, and judges and times them. Needs a C++14 compiler and the
// GPU toolkit, nothing else. main.cu (or main.hip) holds the tables; data/ holds the memory.
//
// Memory is put back at the addresses it had in the application, because addresses hide in structs and in memory itself.
// Where the driver refuses that, memory goes elsewhere, the addresses that are known are rewritten, and the output says so.
#pragma once
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

namespace kl_replay {

typedef unsigned long long u64;

enum Element { kBytes, kInt8, kInt16, kInt32, kInt64, kHalf, kBfloat, kFloat, kDouble, kPointer };

/// A file under data/. `sum` finds damage; an absent file (name == nullptr) means that nothing is known.
struct Data {
  const char* file;
  u64 sum;
};
/// Memory that the kernel could reach.
struct Region {
  u64 address, size;
  Data before, after;
  const char* name;
  Element element;
  const char* element_name;
};
/// A variable of the kernel's module; `index` is how main.cu's read_variable and write_variable know it.
struct Variable {
  int index;
  u64 size;
  Data before, after;
  const char* name;
  Element element;
  const char* element_name;
  bool constant;
};
struct Parameter { unsigned offset, size; };
/// Eight argument bytes at `offset` hold an address inside region `region`.
struct Slot { unsigned offset; int region; };
struct Instance {
  const char* id;
  unsigned grid[3], block[3], shared;
  bool cooperative, held_out;
  double microseconds, weight;
  const unsigned char* arguments;
  unsigned argument_bytes;
  const Parameter* parameters;
  int parameter_count;
  const Slot* slots;
  int slot_count;
  const Region* regions;
  int region_count;
  const Variable* variables;
  int variable_count;
};
/// What main.cu hands over.
struct Program {
  const char* kernel_name;
  const char* captured_on;
  const char* source_file;                       ///< __FILE__ of main.cu: data/ is beside it.
  const void* kernel;                            ///< Host handle of the kernel.
  bool (*write_variable)(int index, const void* bytes, size_t size);
  bool (*read_variable)(int index, void* bytes, size_t size);
  const Instance* instances;
  int instance_count;
};

struct Options {
  std::string folder;       ///< Holds data/.
  double tolerance = -1;    ///< Relative, for floating-point buffers; < 0: by type.
  bool timing = true;
  std::string only;         ///< Instance id; empty: all.
};

/// Exit codes: 0 all buffers pass, 1 some fail, 2 wrong usage, 3 the machine or the data lacks something.
enum { kPass = 0, kFail = 1, kUsage = 2, kEnvironment = 3 };

inline void die(const std::string& message) {
  std::fflush(stdout);
  std::fprintf(stderr, "replay: %s\n", message.c_str());
  std::exit(kEnvironment);
}

/// FNV-1a over eight bytes at a time, the tail padded with zeros.
inline u64 checksum(const std::vector<unsigned char>& bytes) {
  u64 sum = 14695981039346656037ull;
  for (size_t at = 0; at < bytes.size(); at += 8) {
    u64 word = 0;
    std::memcpy(&word, bytes.data() + at, std::min<size_t>(8, bytes.size() - at));
    sum = (sum ^ word) * 1099511628211ull;
  }
  return sum ^ bytes.size();
}

inline std::vector<unsigned char> load(const std::string& folder, const Data& data, u64 size) {
  std::string path = folder + "/data/" + data.file;
  std::vector<unsigned char> bytes(size);
  FILE* file = std::fopen(path.c_str(), "rb");
  if (!file) die("cannot read " + path + "; give the folder that holds data/ as the first argument");
  size_t got = size ? std::fread(bytes.data(), 1, size, file) : 0;
  bool more = std::fgetc(file) != EOF;
  std::fclose(file);
  if (got != size || more || checksum(bytes) != data.sum) die(path + " is damaged or not of this program");
  return bytes;
}

inline bool readable(const std::string& path) {
  FILE* file = std::fopen(path.c_str(), "rb");
  if (file) std::fclose(file);
  return file != nullptr;
}

inline std::string folder_of(const std::string& path) {
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

/// Beside main.cu where it was compiled, beside the program, or here.
inline std::string find_folder(const Program& program, const char* argv0) {
  const std::string candidates[] = {folder_of(program.source_file), folder_of(argv0), "."};
  for (const std::string& folder : candidates)
    for (int i = 0; i < program.instance_count; ++i) {
      const Instance& instance = program.instances[i];
      const char* file = instance.region_count ? instance.regions[0].before.file : instance.variable_count ? instance.variables[0].before.file : nullptr;
      if (!file || readable(folder + "/data/" + file)) return folder;
    }
  return ".";
}

// ---- comparing --------------------------------------------------------------------------------------------------------

struct Difference {
  u64 count = 0, elements = 0, index = 0;  ///< Mismatches; elements compared; the worst one.
  double worst = 0;                        ///< Largest difference over the buffer's magnitude, mismatch or not.
  double expected = 0, got = 0;
};

inline double half_value(uint16_t bits) {
  int exponent = (bits >> 10) & 31, fraction = bits & 1023;
  double value = exponent == 31 ? (fraction ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity())
                 : exponent ? std::ldexp(1024 + fraction, exponent - 25) : std::ldexp(fraction, -24);
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
    case kInt16: case kHalf: case kBfloat: return 2;
    case kInt32: case kFloat: return 4;
    case kInt64: case kDouble: case kPointer: return 8;
    default: return 1;
  }
}

inline double value_at(const unsigned char* at, Element element) {
  switch (element) {
    case kInt16: { int16_t v; std::memcpy(&v, at, 2); return v; }
    case kInt32: { int32_t v; std::memcpy(&v, at, 4); return v; }
    case kInt64: case kPointer: { int64_t v; std::memcpy(&v, at, 8); return static_cast<double>(v); }
    case kHalf: { uint16_t v; std::memcpy(&v, at, 2); return half_value(v); }
    case kBfloat: { uint16_t v; std::memcpy(&v, at, 2); return bfloat_value(v); }
    case kFloat: { float v; std::memcpy(&v, at, 4); return v; }
    case kDouble: { double v; std::memcpy(&v, at, 8); return v; }
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

/// Integers, addresses and untyped bytes must be equal. Floating-point values must agree within `tolerance` of their own
/// size, or within a tenth of it of the buffer's largest value (sums that cancel lose digits of what they cancel from).
/// NaN agrees with NaN only, an infinity with itself only.
inline Difference compare(const std::vector<unsigned char>& expected, const std::vector<unsigned char>& got, Element element,
                          double tolerance) {
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
  for (u64 i = 0; i < difference.elements; ++i) {
    const unsigned char *e = expected.data() + i * width, *g = got.data() + i * width;
    if (std::memcmp(e, g, width) == 0) continue;
    double want = value_at(e, element), have = value_at(g, element), off = 1;
    bool bad = true;
    if (!exact && std::isfinite(want) && std::isfinite(have)) {
      double apart = std::fabs(want - have);
      off = largest > 0 ? apart / largest : apart;
      bad = apart > tolerance * std::fabs(want) && apart > 0.1 * tolerance * largest;
    } else if (!exact && std::isnan(want) && std::isnan(have)) {
      continue;
    }
    if (bad && (difference.count == 0 || off > difference.worst || (exact && difference.count == 0)))
      difference.index = i, difference.expected = want, difference.got = have;
    if (bad) ++difference.count;
    difference.worst = std::max(difference.worst, off);
  }
  return difference;
}

/// Prints "PASS  arg 0 (u)  4096 x float  …" and returns whether it passes.
inline bool report(const char* name, const char* element_name, Element element, const std::vector<unsigned char>& expected,
                   const std::vector<unsigned char>& got, double tolerance) {
  Difference d = compare(expected, got, element, tolerance >= 0 ? tolerance : default_tolerance(element));
  std::printf("  %s  %-28s %10llu x %-8s", d.count ? "FAIL" : "PASS", name, d.elements, element_name);
  if (d.count == 0 && d.worst == 0) std::printf(" identical\n");
  else if (d.count == 0) std::printf(" largest difference %.2g of the buffer's magnitude\n", d.worst);
  else
    std::printf(" %llu differ, worst at [%llu]: expected %.9g, got %.9g\n", d.count, d.index, d.expected, d.got);
  return d.count == 0;
}

inline double median(std::vector<double> samples) {
  if (samples.empty()) return 0;
  std::sort(samples.begin(), samples.end());
  size_t middle = samples.size() / 2;
  return samples.size() % 2 ? samples[middle] : (samples[middle - 1] + samples[middle]) / 2;
}

}  // namespace kl_replay
