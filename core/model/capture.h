// A capture: what one recorded run of an application left behind. Folder layout (docs/formats.md):
//   blobs.klb        content-addressed, zstd-compressed chunks shared by all images of all instances
//   instances.jsonl  one line per instance, with its own checksum, appended as each one is finished
//   manifest.json    profile, what was refused and why; written last, atomically
// CaptureWriter streams chunks to disk as it goes and never holds more than one staging chunk; finish_instance()
// makes everything up to that instance readable even if the process is killed right after. Used by the recorder
// inside a user's process: nothing here throws, prints or exits.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/hash.h"
#include "core/base/json.h"
#include "core/base/result.h"
#include "core/model/launch/geometry.h"
#include "core/model/origin.h"

namespace kernelift {

inline constexpr int kCaptureVersion = 1;
inline constexpr size_t kChunkBytes = 1 << 20;  ///< Unit of deduplication; large enough for zstd, small for reuse.

/// A byte image as a list of chunks, each kChunkBytes long but the last.
struct Image {
  uint64_t size = 0;
  std::vector<Hash> chunks;
  bool operator==(const Image&) const = default;
};

enum class MemoryKind { Device, Managed, HostMapped, Variable };

const char* name(MemoryKind);  ///< "device", "managed", "host-mapped", "variable": as artefacts spell it.
Result<MemoryKind> memory_kind_from_name(const std::string&);

/// A piece of memory the kernel could reach, before and after the launch.
struct CapturedRegion {
  uint64_t address = 0;  ///< As the application saw it; replay maps it there again.
  MemoryKind kind = MemoryKind::Device;
  Image before, after;  ///< Equal sizes. `after` shares every chunk that did not change.
  Origin reached_from;  ///< Why it was captured.
};

/// A __device__, __constant__ or __managed__ variable of the kernel's module.
struct CapturedVariable {
  std::string name;  ///< Mangled, as in the image.
  std::string key;   ///< canonical_key(name).
  bool constant = false;
  uint64_t address = 0;
  Image before, after;
};

struct MemoryRange {
  uint64_t address = 0, size = 0;
  bool operator==(const MemoryRange&) const = default;
};

struct Parameter {
  uint32_t offset = 0, size = 0;  ///< Within the packed argument buffer.
};

/// How a launch was made beyond its geometry, and what its kernel and context were set to. Only GPUs have these: a
/// capture of the CPU device has none of them.
struct LaunchSettings {
  bool known = false;               ///< false: nothing below was recorded.
  std::string entry;                ///< The driver's function that launched: "cuLaunchKernelEx".
  Dim3 cluster{0, 0, 0};            ///< Blocks of a cluster; zeros: no cluster was asked for at the launch.
  int cluster_policy = 0;           ///< CUclusterSchedulingPolicy, 0: the default.
  int priority = 0;                 ///< Launch attribute; 0: not set.
  bool programmatic = false;        ///< Programmatic stream serialisation (dependent launch) was allowed.
  int carveout = -1;                ///< Launch's or function's preferred shared-memory share in %; -1: the default.
  std::vector<std::string> other;   ///< Further launch attributes, by name: recorded, not replayed.
  uint32_t max_dynamic_shared = 0;  ///< The function's limit as the application had set it.
  uint32_t registers = 0, static_shared = 0, local_bytes = 0;  ///< Of the application's own image.
  int binary_version = 0, ptx_version = 0;
  uint64_t stack_limit = 0, heap_limit = 0, printf_limit = 0;  ///< cuCtxGetLimit at the launch.
  int cache_config = 0;                                        ///< CUfunc_cache of the context.
  std::string stream;                                          ///< "default", "per-thread" or "created".
};

/// Durations in the application of launches like an instance, none of which was snapshotted: of the same geometry and
/// numbers among the arguments, and of about its duration where such launches differ much. Microseconds.
struct LaunchesLikeIt {
  uint64_t count = 0;
  double low = 0, high = 0;  ///< Quartiles; the median is the instance's `microseconds`.
  double own = 0;  ///< What the snapshotted launch itself took, right after its images were taken; 0: not known.
  /// Offsets in the arguments of addresses whose memory other work (a kernel, copy or fill) touched last before most of
  /// these launches: what the kernel reads there is not what its own last launch left in the caches.
  std::vector<uint32_t> rewritten = {};
};

/// What captures and MEPs say alike of a launch.
struct RecordedLaunch {
  std::string id;  ///< "3f2a-0007": unique in the capture.
  Geometry geometry;
  LaunchSettings settings;
  std::vector<std::byte> arguments;  ///< Packed as the device sees them.
  std::vector<Parameter> parameters;
  double microseconds = 0;  ///< Its duration in the application: the median of launches like it.
  double weight = 1;        ///< Share of the kernel's total time that its cluster stands for.
  bool held_out = false;    ///< For verification only; never tuned on.
  /// Allocations that were alive at the launch and have no image, since nothing that the kernel is given leads to them:
  /// where a replay that faults may have wanted to go.
  std::vector<MemoryRange> unreached;
};

struct CapturedInstance : RecordedLaunch {
  std::string kernel;       ///< canonical_key of the kernel.
  std::string mangled;      ///< As the device image spells it.
  std::string unit;         ///< Source file of its module, where known: tells equal keys of two files apart.
  std::string source_stem;  ///< Name without folder and ending of the file its module was compiled from, if only that.
  uint64_t launch_index = 0;  ///< N-th launch of this kernel, from 0.
  LaunchesLikeIt like;
  std::vector<CapturedRegion> regions;
  std::vector<CapturedVariable> variables;
  Image code;  ///< The machine code (a cubin) that the application ran, empty if it could not be had.
};

struct KernelProfile {
  std::string key, mangled;
  uint64_t count = 0;
  double total_us = 0, min_us = 0, median_us = 0, max_us = 0;
  struct Shape {
    Geometry geometry;
    uint64_t count = 0;
    double total_us = 0;
  };
  std::vector<Shape> shapes;  ///< By geometry, most time first.
};

/// Something seen and not captured, by name.
struct Omission {
  std::string what, why;
};

/// What an instance turned out to stand for, known only when the run has ended.
struct InstanceShare {
  double weight = 1, microseconds = 0;
  bool held_out = false;
  LaunchesLikeIt like = {};
};

struct CaptureInfo {
  std::string device;                ///< "cpu" or "cuda:NAME:sm_90:DRIVER".
  std::vector<std::string> command;  ///< What was run.
  std::string folder;                ///< Where.
  double run_seconds = 0;            ///< Of the process, less recorder_seconds: what it would have taken unrecorded.
  double recorder_seconds =
      0;  ///< Spent on taking and storing images, less waits for the application's own work on the device.
  bool complete = false;               ///< false: the application was killed; finished instances are still good.
  std::vector<KernelProfile> profile;  ///< Most total time first.
  std::vector<Omission> omissions;
  std::map<std::string, InstanceShare> shares;  ///< By instance id; Capture::open puts them into the instances.
  std::vector<std::string>
      superseded;  ///< Ids of instances that made room for better ones; Capture::open leaves them out.
};

class CaptureWriter {
 public:
  /// The folder is made if need be; one that holds a capture already is an Error.
  static Result<std::unique_ptr<CaptureWriter>> create(const std::filesystem::path& folder);
  ~CaptureWriter();
  /// Stores `bytes` in chunks, each distinct chunk once; of a chunk that is much like `base`'s, an image of equal size
  /// stored before, only what differs.
  Result<Image> store(std::span<const std::byte> bytes, const Image* base = nullptr);
  /// Stores one chunk of an image (kChunkBytes, the last one less) that the caller puts together from several threads.
  Result<Hash> store_chunk(std::span<const std::byte> bytes, const Hash* base = nullptr);
  /// Makes the instance and all its chunks durable.
  Status finish_instance(const CapturedInstance& instance);
  /// Writes profile and omissions; call last. A forked child that must not touch its parent's files just drops the
  /// writer.
  Status finish(const CaptureInfo& info);
  uint64_t stored_bytes() const;  ///< Size of blobs.klb so far.

 private:
  struct State;
  explicit CaptureWriter(std::unique_ptr<State>);
  std::unique_ptr<State> state_;
};

class Capture {
 public:
  /// Opens a capture folder, complete or not. Damage that hides everything is an Error that names file and offset;
  /// damage to one instance's line leaves that instance out and says so, file and offset, in damage(). A damaged chunk
  /// is an Error of the load() that needs it, and of no other.
  static Result<Capture> open(const std::filesystem::path& folder);
  const CaptureInfo& info() const;
  const std::vector<CapturedInstance>& instances() const;
  const std::vector<std::string>& damage() const;  ///< Empty for a sound capture.
  /// Reads an image back; every chunk's checksum is verified.
  Result<std::vector<std::byte>> load(const Image& image) const;
  /// The same into memory of the image's size, on all cores.
  Status load(const Image& image, std::span<std::byte> into) const;

 private:
  struct State;
  explicit Capture(std::shared_ptr<const State>);
  std::shared_ptr<const State> state_;
};

/// What to tell a user whose replay asks for memory that the capture does not hold: how much was alive and left out,
/// where the largest of it was, and how to record it. Empty for an empty list.
std::string unreached_text(const std::vector<MemoryRange>& unreached);

/// JSON of the pieces that captures and MEPs share. The readers throw nlohmann's exceptions: call them inside
/// reading().
Json to_json(const Geometry&);
Json to_json(const std::vector<Parameter>&);
Json to_json(const RecordedLaunch&);
Geometry geometry_from_json(const Json&);
std::vector<Parameter> parameters_from_json(const Json&);
void read_recorded_launch(const Json&, RecordedLaunch& into);
std::string hex_text(std::span<const std::byte> bytes);
std::vector<std::byte> bytes_from_hex(const Json& text);  ///< Throws unless an even number of hex digits.

}  // namespace kernelift
