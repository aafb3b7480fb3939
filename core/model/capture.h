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

/// Array: the texels of a CUDA array, row after row without padding. Texture: a texture or surface object, as
/// core/model/texture_object.h lays it out; its handle is the region's address.
enum class MemoryKind { Device, Managed, HostMapped, Variable, Array, Texture };

const char* name(MemoryKind);  ///< "device", "managed", "host-mapped", "variable", ...: as artefacts spell it.
Result<MemoryKind> memory_kind_from_name(const std::string&);

/// A range of memory that the kernel could reach, before and after the launch.
struct CapturedRegion {
  uint64_t address = 0;  ///< The application's address; replay maps the memory there again.
  MemoryKind kind = MemoryKind::Device;
  Image before, after;  ///< Equal sizes. `after` shares every chunk that did not change.
  Origin reached_from;  ///< Why it was captured: the pointer that leads to it.
  bool shared = false;  ///< Another process maps it too and may write it at any time.
};

/// A __device__, __constant__ or __managed__ variable of the kernel's module.
struct CapturedVariable {
  std::string name;  ///< Mangled name, as in the image.
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
  uint32_t offset = 0, size = 0;  ///< Bytes within the packed argument buffer.
};

/// Settings of a launch beyond its geometry, and those of its kernel and context. Only GPUs have these: a capture of
/// the CPU device has none of them.
struct LaunchSettings {
  bool known = false;               ///< false: no member below was recorded.
  std::string entry;                ///< The driver function that launched: "cuLaunchKernelEx".
  Dim3 cluster{0, 0, 0};            ///< Blocks of a cluster; zeros: the launch specified no cluster.
  int cluster_policy = 0;           ///< CUclusterSchedulingPolicy; 0: the default.
  int priority = 0;                 ///< Launch attribute; 0: not set.
  bool programmatic = false;        ///< Programmatic stream serialisation (dependent launch) was allowed.
  int carveout = -1;                ///< Launch's or function's preferred shared-memory share in %; -1: the default.
  std::vector<std::string> other;   ///< Further launch attributes, by name: recorded, not replayed.
  uint32_t max_dynamic_shared = 0;  ///< The limit that the application had set for the function, in bytes.
  uint32_t registers = 0, static_shared = 0, local_bytes = 0;  ///< The kernel's, in the application's own image.
  int binary_version = 0, ptx_version = 0;
  uint64_t stack_limit = 0, heap_limit = 0, printf_limit = 0;  ///< cuCtxGetLimit at the launch.
  int cache_config = 0;                                        ///< CUfunc_cache of the context.
  std::string stream;                                          ///< "default", "per-thread" or "created".
};

/// Durations in the application, in microseconds, of launches that are like an instance's and were not snapshotted:
/// launches with the same geometry and the same numbers among the arguments, and with about the same duration if the
/// durations of such launches differ much.
struct LaunchesLikeIt {
  uint64_t count = 0;
  double low = 0, high = 0;  ///< Quartiles; the median is the instance's `microseconds`.
  double own = 0;            ///< Duration of the snapshotted launch, right after its images were taken; 0: not known.
  /// Offsets in the arguments of addresses whose memory other work (a kernel, copy or fill) accessed last before most
  /// of these launches: the caches then do not hold that memory as the kernel's previous launch left it.
  std::vector<uint32_t> rewritten = {};
};

/// The members of a launch that captures and MEPs share.
struct RecordedLaunch {
  std::string id;  ///< "3f2a-0007": unique in the capture.
  Geometry geometry;
  LaunchSettings settings;
  std::vector<std::byte> arguments;  ///< Packed as the device sees them.
  std::vector<Parameter> parameters;
  double microseconds = 0;  ///< Duration in the application: the median of launches like it.
  double weight = 1;        ///< Share of the kernel's total time that its cluster of launches represents.
  bool held_out = false;    ///< For verification only; never tuned on.
  /// Allocations that were alive at the launch and have no image, because no pointer that the kernel is given leads to
  /// them: a replay that faults may have tried to access one of them.
  std::vector<MemoryRange> unreached;
};

struct CapturedInstance : RecordedLaunch {
  std::string kernel;         ///< canonical_key of the kernel.
  std::string mangled;        ///< Mangled name, as the device image spells it.
  std::string unit;           ///< Source file of its module, if known: distinguishes equal keys of two files.
  std::string source_stem;    ///< File name without folder and extension of its module's source, if only that is known.
  uint64_t launch_index = 0;  ///< Number of this launch among the kernel's launches, from 0.
  LaunchesLikeIt like;
  std::vector<CapturedRegion> regions;
  std::vector<CapturedVariable> variables;
  Image code;  ///< The machine code (a cubin) that the application ran; empty if it was not available.
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
  std::vector<Shape> shapes;  ///< One per geometry, most total time first.
};

/// A launch, kernel or range of memory that was seen and not captured, by name.
struct Omission {
  std::string what, why;
};

/// The launches that an instance represents, known only when the run has ended.
struct InstanceShare {
  double weight = 1, microseconds = 0;
  bool held_out = false;
  LaunchesLikeIt like = {};
};

/// One process of a recorded run that launched kernels.
struct RecordedProcess {
  std::string name;              ///< Of its folder: "process-4711".
  std::optional<uint64_t> rank;  ///< As its launcher numbers it; none: it was started without one.
  std::vector<std::string> command;
  double run_seconds = 0, kernel_us = 0;
  uint64_t launches = 0;
  bool images = false;  ///< The instances are its.
};

struct CaptureInfo {
  std::string device;                 ///< "cpu" or "cuda:NAME:sm_90:DRIVER".
  std::vector<std::string> command;   ///< The command line that was run.
  std::string folder;                 ///< The folder in which it was run.
  std::optional<uint64_t> rank = {};  ///< Of the process that has the images, if its launcher numbers them.
  /// Where several processes launched kernels, all of them; profile, run_seconds and span_seconds are their sums then
  /// (run_seconds without processes that hardly used the device).
  std::vector<RecordedProcess> processes = {};
  double run_seconds = 0;  ///< The process's run time less recorder_seconds: an estimate of it unrecorded.
  /// From the first kernel's start to the last one's end, less what the recorder took in between; 0: not known.
  double span_seconds = 0;
  /// Time spent on taking and storing images, less waits for the application's own work on the device.
  double recorder_seconds = 0;
  bool complete = false;               ///< false: the application was killed; finished instances are still good.
  std::vector<KernelProfile> profile;  ///< Most total time first.
  std::vector<Omission> omissions;
  std::map<std::string, InstanceShare> shares;  ///< By instance id; Capture::open puts them into the instances.
  /// Ids of instances that were replaced by better ones; Capture::open leaves them out.
  std::vector<std::string> superseded;
};

/// Replaces the manifest of a capture that nobody writes any more.
Status write_capture_info(const std::filesystem::path& folder, const CaptureInfo& info);

class CaptureWriter {
 public:
  /// The folder is created if it does not exist; a folder that holds a capture already is an Error.
  static Result<std::unique_ptr<CaptureWriter>> create(const std::filesystem::path& folder);
  ~CaptureWriter();
  /// Stores `bytes` in chunks, each distinct chunk once. If a chunk differs little from the same chunk of `base`, an
  /// image of equal size that was stored before, only the difference is stored.
  Result<Image> store(std::span<const std::byte> bytes, const Image* base = nullptr);
  /// Stores one chunk of an image (kChunkBytes, the last one fewer) that the caller assembles from several threads.
  Result<Hash> store_chunk(std::span<const std::byte> bytes, const Hash* base = nullptr);
  /// Makes the instance and all its chunks durable.
  Status finish_instance(const CapturedInstance& instance);
  /// Writes profile and omissions; call last. A forked child that must not write to its parent's files destroys the
  /// writer without calling it.
  Status finish(const CaptureInfo& info);
  uint64_t stored_bytes() const;  ///< Size of blobs.klb so far.

 private:
  struct State;
  explicit CaptureWriter(std::unique_ptr<State>);
  std::unique_ptr<State> state_;
};

class Capture {
 public:
  /// Opens a capture folder, complete or not. Damage that makes all of it unreadable is an Error that names file and
  /// offset. An instance whose line is damaged is left out and reported, with file and offset, in damage(). A damaged
  /// chunk is an Error of the load() calls that need it, and of no others.
  static Result<Capture> open(const std::filesystem::path& folder);
  const CaptureInfo& info() const;
  const std::vector<CapturedInstance>& instances() const;
  const std::vector<std::string>& damage() const;  ///< Empty for a sound capture.
  /// Why what the manifest says of the instances, which of them are held out among it, is not known though there is
  /// one; empty if it is known, or the application was killed before it wrote any.
  const std::string& lost_marks() const;
  /// Reads an image back; every chunk's checksum is verified.
  Result<std::vector<std::byte>> load(const Image& image) const;
  /// The same, into memory of the image's size, on all cores.
  Status load(const Image& image, std::span<std::byte> into) const;

 private:
  struct State;
  explicit Capture(std::shared_ptr<const State>);
  std::shared_ptr<const State> state_;
};

/// The message for a replay that accesses memory which the capture does not hold: how much was alive and left out, the
/// addresses of the largest allocations, and how to record them. Empty for an empty list.
std::string unreached_text(const std::vector<MemoryRange>& unreached);

/// JSON of the structures that captures and MEPs share. The readers throw nlohmann's exceptions: call them inside
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
