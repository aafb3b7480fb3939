// kernelift_replay.h: replays recorded launches of one kernel, and judges and times them. Needs a C++14 compiler and
// the GPU toolkit, nothing else. main.cu (or main.hip) holds the tables; data/ holds the memory.
//
// Memory is put back at the addresses it had in the application, because addresses hide in structs and in memory
// itself. Where the driver refuses that, memory goes elsewhere, the addresses that are known are rewritten, and the
// output says so.
#pragma once
#include <sys/personality.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <random>
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
/// One scalar of a struct, at `offset` in each of its elements.
struct Lane {
  Element element;
  unsigned offset;
};
/// What a buffer is made of: scalars, or structs of `stride` bytes whose lanes are compared each by its own type.
struct Shape {
  Element element;
  const char* name;
  u64 stride;
  const Lane* lanes;
  int lane_count;
};
/// A texture or surface object: the memory or array that it reads or writes, and how. Numbers are CUDA's; height and
/// depth are 0 where the array has no such dimension, and layers count in depth.
struct Texture {
  u64 memory, row_bytes;  ///< The recorded address of its texels; from row to row.
  unsigned width, height, depth, channels, bits;
  int format, resource, address[3];
  bool surface, linear, as_float, normalized;
  unsigned array_flags;
  unsigned border[4];  ///< The bits of floats.
};
/// Memory that the kernel could reach. Addresses lie, by the type of its elements, at every one of `pointers` bytes
/// past every multiple of `pointer_stride`; 0: none, or not known (kBytes). `rewritten`: in the application other work
/// writes it before every launch. `texture`: a texture or surface object with that handle, and no memory.
struct Region {
  u64 address, size;
  Data before, after;
  const char* name;
  Shape shape;
  u64 pointer_stride;
  const unsigned* pointers;
  int pointer_count;
  bool rewritten;
  const Texture* texture;
};
/// A variable of the kernel's module; `index` is how main.cu's read_variable and write_variable know it.
struct Variable {
  int index;
  u64 size;
  Data before, after;
  const char* name;
  Shape shape;
  bool constant;
};
/// Eight bytes of region `region`, or of variable `variable`, or of the arguments (both -1), that hold the address of
/// variable `target` plus `addend`: it lies elsewhere in every program.
struct Symbol {
  int region, variable;
  u64 offset;
  int target;
  u64 addend;
};
/// How the launch was made beyond its geometry. Zeros, and -1 for the carve-out: not set.
struct Settings {
  unsigned cluster[3];
  int cluster_policy, priority;
  bool programmatic;
  int carveout, cache_config;
  unsigned max_dynamic_shared;
  u64 stack, heap, printf_buffer;
};
struct Parameter {
  unsigned offset, size;
};
/// Eight argument bytes at `offset` hold an address inside region `region`.
struct Slot {
  unsigned offset;
  int region;
};
struct Instance {
  const char* id;
  unsigned grid[3], block[3], shared;
  bool cooperative, held_out;
  Settings settings;
  double microseconds, weight;
  const char*
      cache_mode;  ///< "warm" or "cold": what the recorded duration is compared with, chosen when it was recorded.
  const char* measured_by;  ///< How the recorded duration came about.
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
  const Symbol* symbols;
  int symbol_count;
  const char* unreached;  ///< Memory that was alive at the launch and was not recorded, as a sentence; or "".
};
/// What main.cu hands over.
struct Program {
  const char* kernel_name;
  const char* captured_on;
  const char* source_file;  ///< __FILE__ of main.cu: data/ is beside it.
  const void* kernel;       ///< Host handle of the kernel.
  bool (*write_variable)(int index, const void* bytes, size_t size);
  bool (*read_variable)(int index, void* bytes, size_t size);
  bool (*find_variable)(int index, u64* address);
  const Instance* instances;
  int instance_count;
  double tolerance;  ///< Relative, for floating-point buffers; < 0: by type.
};

struct Options {
  std::string folder;     ///< Holds data/.
  double tolerance = -1;  ///< Relative, for floating-point buffers; < 0: by type.
  bool timing = true;
  bool relocate = false;  ///< As if every recorded address were refused: shows whether relocation holds.
  std::string only;       ///< Instance id; empty: all.
};

/// Exit codes: 0 all buffers pass, 1 some fail, 2 wrong usage, 3 the machine or the data lacks something.
enum { kPass = 0, kFail = 1, kUsage = 2, kEnvironment = 3 };

inline void die(const std::string& message) {
  std::fflush(stdout);
  std::fprintf(stderr, "replay: %s\n", message.c_str());
  std::exit(kEnvironment);
}

/// "12 345 678": byte counts that a person can read.
inline std::string grouped(u64 value) {
  std::string digits = std::to_string(value);
  for (size_t at = digits.size(); at > 3;) digits.insert(at -= 3, " ");
  return digits;
}
inline std::string hex(u64 value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", value);
  return text;
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
      const char* file = instance.region_count     ? instance.regions[0].before.file
                         : instance.variable_count ? instance.variables[0].before.file
                                                   : nullptr;
      if (!file || readable(folder + "/data/" + file)) return folder;
    }
  return ".";
}

}  // namespace kl_replay
