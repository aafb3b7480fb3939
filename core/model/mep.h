// mep.json: a minimal executable program. One kernel's source, how it is launched, and all recorded instances of it
// with the memory they saw and left. Folder: mep.json kernel.cu main.cu kernelift_replay.h data/ CMakeLists.txt
// README.md.
#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/model/capture.h"
#include "core/model/scan/scan_index.h"

namespace kernelift {

inline constexpr int kMepVersion = 1;

/// One line of kernel.cu and where it came from; file is empty for lines that the writer added.
struct LineOrigin {
  std::string file;
  uint32_t line = 0;
};

/// A function of the application whose text the slice holds.
struct SlicedFunction {
  std::string name, file;  ///< Qualified; absolute.
  uint32_t line = 0, end_line = 0;
  bool on_host = false;  ///< It is compiled for the host as well.
};

/// Memory of one instance; images are raw files `data/<hash>.bin`, each stored once.
struct MepRegion {
  uint64_t address = 0, size = 0;
  MemoryKind kind = MemoryKind::Device;
  std::string before, after;     ///< File names under data/; equal if unchanged.
  std::string reached_from;      ///< "arg 2"…
  int parameter = -1;            ///< Index of the pointer parameter that reaches it, or -1.
  std::string element = "byte";  ///< Canonical element type: float double int byte…
  /// Where addresses lie, by type: at every offset of every `pointer_stride` bytes. Stride 0: the type is not known or
  /// holds none (element tells which: "byte" is not known).
  uint64_t pointer_stride = 0;
  std::vector<uint32_t> pointer_offsets = {};
  /// Where the allocation begins that this is one array of, among others of other types; 0: it is the whole.
  uint64_t part_of = 0;
  uint64_t allocation() const { return part_of ? part_of : address; }
  /// Other work writes it before every launch, whose caches hold it as that left it: put back before each timed one,
  /// though the kernel may not change it.
  bool rewritten = false;
};

/// Eight recorded bytes that hold the address of something of the kernel's module, which lies elsewhere in every image:
/// replay writes the address of the image's own there. Exactly one of region and variable is set, or neither:
/// arguments.
struct MepSymbolSlot {
  int region = -1, variable = -1;  ///< Indices of the instance's; -1 both: `offset` is in arguments.
  uint64_t offset = 0;
  std::string key, spelling;  ///< The variable it points to: canonical; as the source names it.
  std::string name;           ///< As clang mangles it.
  uint64_t addend = 0;        ///< Bytes past the variable's begin.
};

struct MepVariable {
  std::string name, key;  ///< Mangled (clang) and canonical.
  std::string spelling;   ///< How the source names it, for cudaMemcpyToSymbol.
  std::string element = "byte";
  bool constant = false;
  uint64_t size = 0;
  std::string before, after;
  std::string recorded_name = {};  ///< As the image that the application ran spells it; or empty.
};

/// How the recorded duration came about: what a replayed one may be compared with.
struct InVivo {
  std::string cache;         ///< "cold" | "warm" | "as recorded"; "" where nobody knows.
  std::string how;           ///< "CUPTI activity, launches without snapshot".
  double spread = 0;         ///< Of the median: half the interquartile range over it.
  uint64_t launches = 0;     ///< How many the median is of.
  double low = 0, high = 0;  ///< Their quartiles, in microseconds; 0: not known.
  double own = 0;            ///< What the snapshotted launch itself took, in microseconds.
  std::string why = {};      ///< Why that cache mode, as a clause for people; or empty.
};

struct MepInstance : RecordedLaunch {
  InVivo in_vivo;
  std::string code;                              ///< data/ file: the cubin that the application ran; or empty.
  bool arguments_typed = false;                  ///< argument_pointers is the whole truth; else values tell.
  std::vector<uint32_t> argument_pointers = {};  ///< Offsets in `arguments` where the types have addresses.
  std::vector<MepRegion> regions;
  std::vector<MepVariable> variables;
  std::vector<MepSymbolSlot> symbols;

  /// Eight argument bytes that hold an address inside a region, or just past it.
  struct ArgumentSlot {
    uint32_t offset = 0;
    size_t region = 0;
  };
  /// The only words of the arguments to be changed where regions lie elsewhere than recorded.
  std::vector<ArgumentSlot> argument_slots() const;
};

/// How strict the comparison of a buffer is. Integers are always bit-exact.
struct Tolerance {
  double relative = 0, absolute = 0;
};

struct Mep {
  std::string language = "cuda";  ///< cuda | hip
  std::string kernel_key, kernel_name,
      kernel_mangled;  ///< canonical; as an expression in kernel.cu; as clang mangles it.
  std::string kernel_id;
  std::vector<ScannedParameter> parameters;
  std::string slice_mode;  ///< "slice" | "whole-unit"
  bool proven = false;     ///< The slice's IR equals the original's (extractor/slice/proof.h).
  std::string proof_note;
  std::vector<LineOrigin> origins;                   ///< Per line of kernel.cu.
  std::map<std::string, std::string> origin_hashes;  ///< Of each file they name, as it was then (hash_text); or empty.
  std::vector<SlicedFunction> functions;  ///< Those that may run on the device; empty in MEPs of earlier versions.
  std::vector<std::string>
      linked;        ///< Further units whose text is here: only linked with the kernel's in the application.
  std::string unit;  ///< The original main file.
  std::vector<std::string> compile_command;  ///< The application's own for `unit`; empty: not known.
  std::string compile_folder;                ///< Where it ran.
  std::vector<std::string> compile_flags;    ///< Device-relevant flags in clang's spelling: -std -D -I -ffast-math…
  std::string architecture;  ///< What kernel.cu is compiled for in the application: "sm_90"; empty: not known, or HIP.
  std::string headers = "lean";      ///< lean | toolkit: the headers it was proven with.
  std::vector<LaunchSite> launches;  ///< Of the kernel itself.
  std::vector<LaunchSite>
      sibling_launches;  ///< Of others that its text defines, its template's other instances: a change reaches them.
  std::string unseen_launches;  ///< Why there may be more of either than those, a clause; or empty.
  std::vector<Knob> knobs;
  std::vector<MepInstance> instances;
  std::string captured_on;         ///< CaptureInfo::device.
  std::string inputs = "capture";  ///< capture | synth
  std::string app_root;
  Tolerance tolerance;  ///< For floating-point buffers; 0 means derived when judged.

  /// Of all kernels that its text defines.
  std::vector<const LaunchSite*> all_launches() const;
  /// By name, as recorded.
  Bindings knob_values() const;

  /// Where the kernel is in the application: "src/smooth.cu:12", or only the file. `text` is that of kernel.cu.
  std::string place(const std::string& text) const;

  /// What to be warned of where several units became one, a clause; empty where they did not.
  std::string linked_text() const;

  static Result<Mep> read(const std::filesystem::path& folder);
  Status write(const std::filesystem::path& folder) const;  ///< mep.json only.
  /// A data file, its size and content hash checked against its name.
  static Result<std::vector<std::byte>> load(const std::filesystem::path& folder, const std::string& file);
  static Result<std::string> store(const std::filesystem::path& folder, std::span<const std::byte> bytes);
};

}  // namespace kernelift
