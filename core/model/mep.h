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

inline constexpr int kMepVersion = 2;

/// The file and line from which a line of kernel.cu comes; `file` is empty for lines that the writer added.
struct LineOrigin {
  std::string file;
  uint32_t line = 0;
};

/// A function of the application whose text the slice holds.
struct SlicedFunction {
  std::string name, file;  ///< Qualified; absolute.
  uint32_t line = 0, end_line = 0;
  bool on_host = false;  ///< Compiled for the host as well.
};

/// Memory of one instance; images are raw files `data/<hash>.bin`, each stored once.
struct MepRegion {
  uint64_t address = 0, size = 0;
  MemoryKind kind = MemoryKind::Device;
  std::string before, after;     ///< File names under data/; equal if unchanged.
  Origin reached_from;           ///< The pointer that leads to it.
  int parameter = -1;            ///< Index of the pointer parameter that reaches it, or -1.
  std::string element = "byte";  ///< Canonical element type: float double int byte…
  /// Positions of addresses according to the type: at every offset of every `pointer_stride` bytes. Stride 0: the type
  /// is not known (then element is "byte") or holds no addresses.
  uint64_t pointer_stride = 0;
  std::vector<uint32_t> pointer_offsets = {};
  /// If the allocation holds arrays of several types and this is one of them, the allocation's address; else 0.
  uint64_t part_of = 0;
  uint64_t allocation() const { return part_of ? part_of : address; }
  /// Other work of the application writes it before every launch, so the caches hold it as that work left it. Replay
  /// restores it before each timed launch, though the kernel may not change it.
  bool rewritten = false;
};

/// Eight recorded bytes that hold the address of a variable of the kernel's module. The variable's address differs from
/// image to image, so replay writes the one of its own image there. At most one of region and variable is set; if
/// neither is, the bytes are in the arguments.
struct MepSymbolSlot {
  int region = -1, variable = -1;  ///< Index into the instance's regions or variables; both -1: in the arguments.
  uint64_t offset = 0;             ///< Bytes from the start of the region, variable or arguments.
  std::string key, spelling;       ///< The variable that it points to: canonical key; name in the source.
  std::string name;                ///< The variable's name as clang mangles it.
  uint64_t addend = 0;             ///< Bytes from the variable's start to the address.
};

struct MepVariable {
  std::string name, key;  ///< Name as clang mangles it; canonical key.
  std::string spelling;   ///< Name in the source, for cudaMemcpyToSymbol.
  std::string element = "byte";
  bool constant = false;
  uint64_t size = 0;
  std::string before, after;
  std::string recorded_name = {};  ///< Name in the image that the application ran; or empty.
};

/// How the duration in the application was measured: what a replayed duration may be compared with.
struct InVivo {
  std::string cache;         ///< "cold" | "warm" | "as recorded"; "" if not known.
  std::string how;           ///< "CUPTI activity, launches without snapshot".
  double spread = 0;         ///< Half the interquartile range as a share of the median.
  uint64_t launches = 0;     ///< Number of launches of which the median is taken.
  double low = 0, high = 0;  ///< Their quartiles, in microseconds; 0: not known.
  double own = 0;            ///< Duration of the snapshotted launch, in microseconds.
  std::string why = {};      ///< The reason for that cache mode, as a clause for people; or empty.
};

struct MepInstance : RecordedLaunch {
  InVivo in_vivo;
  std::string code;                              ///< data/ file: the cubin that the application ran; or empty.
  bool arguments_typed = false;                  ///< argument_pointers is complete; else addresses are found by value.
  std::vector<uint32_t> argument_pointers = {};  ///< Offsets in `arguments` at which the types hold addresses.
  std::vector<MepRegion> regions;
  std::vector<MepVariable> variables;
  std::vector<MepSymbolSlot> symbols;

  /// Eight argument bytes that hold an address inside a region, or just past its end.
  struct ArgumentSlot {
    uint32_t offset = 0;
    size_t region = 0;
  };
  /// The words of the arguments that must be changed if regions are mapped at other addresses than recorded; no others
  /// may be.
  std::vector<ArgumentSlot> argument_slots() const;
  uint64_t region_bytes() const;  ///< Of all regions together.
};

/// Allowed differences between floating-point values of a buffer. Integers are always compared bit by bit.
struct Tolerance {
  double relative = 0, absolute = 0;
};

struct Mep {
  std::string language = "cuda";  ///< cuda | hip
  std::string kernel_key;         ///< Canonical key.
  std::string kernel_name;        ///< The kernel as an expression in kernel.cu.
  std::string kernel_mangled;     ///< Name as clang mangles it.
  std::string kernel_id;          ///< ScannedKernel::id.
  std::vector<ScannedParameter> parameters;
  std::string slice_mode;  ///< "slice" | "whole-unit"
  bool proven = false;     ///< The slice's IR equals the original's (extractor/slice/proof.h).
  std::string proof_note;
  std::vector<LineOrigin> origins;                   ///< One per line of kernel.cu.
  std::map<std::string, std::string> origin_hashes;  ///< hash_text() of each file they name, when extracted; or empty.
  std::vector<SlicedFunction> functions;  ///< Functions that may run on the device; empty in MEPs of earlier versions.
  /// Further units whose text is in kernel.cu; in the application they are only linked with the kernel's unit.
  std::vector<std::string> linked;
  std::string unit;                          ///< The original main file.
  std::vector<std::string> compile_command;  ///< The application's own command for `unit`; empty: not known.
  std::string compile_folder;                ///< The folder in which it ran.
  std::vector<std::string> compile_flags;    ///< Device-relevant flags in clang's spelling: -std -D -I -ffast-math…
  std::string architecture;  ///< GPU for which the application compiles the unit: "sm_90"; empty: not known, or HIP.
  std::string headers = "lean";      ///< lean | toolkit: the headers with which the slice was proven.
  std::vector<LaunchSite> launches;  ///< Launch sites of the kernel itself.
  /// Launch sites of other kernels that its text defines, such as its template's other instances: a change of the text
  /// changes them too.
  std::vector<LaunchSite> sibling_launches;
  std::string unseen_launches;  ///< Why there may be further launch sites of either, as a clause; or empty.
  std::vector<Knob> knobs;
  /// Macros and constants of which launches are computed and that the kernel's text does not contain, by name.
  Bindings constants;
  std::vector<MepInstance> instances;
  std::string captured_on;         ///< CaptureInfo::device.
  std::string inputs = "capture";  ///< capture | synth
  std::string app_root;
  Tolerance tolerance;  ///< For floating-point buffers; 0: derived during calibration.

  /// Name of the file with the kernel's text: "kernel.cu".
  const char* kernel_file() const { return language == "hip" ? "kernel.hip" : "kernel.cu"; }
  /// The recorded value of the parameter; nullopt: it is no integer, or is not recorded.
  std::optional<int64_t> integer_argument(const MepInstance& instance, size_t parameter) const;
  /// The integer of that canonical type, at that offset of a parameter that is a structure, as recorded.
  std::optional<int64_t> integer_member(const MepInstance& instance, size_t parameter, uint64_t offset,
                                        const std::string& type) const;
  /// The launch sites of all kernels that its text defines.
  std::vector<const LaunchSite*> all_launches() const;
  /// The knobs' values in the application, by name.
  Bindings knob_values() const;
  /// The same, with the constants.
  Bindings named_values() const;

  /// Where the kernel is in the application: "src/smooth.cu:12", or only the file. `text` is that of kernel.cu.
  std::string place(const std::string& text) const;

  /// A warning, as a clause, if kernel.cu holds the text of several units; else empty.
  std::string linked_text() const;

  static Result<Mep> read(const std::filesystem::path& folder);
  Status write(const std::filesystem::path& folder) const;  ///< mep.json only.
  /// The content of a data file, checked against the hash in its name.
  static Result<std::vector<std::byte>> load(const std::filesystem::path& folder, const std::string& file);
  /// Stores `bytes` as a data file, unless it exists, and returns the file's name.
  static Result<std::string> store(const std::filesystem::path& folder, std::span<const std::byte> bytes);
};

}  // namespace kernelift
