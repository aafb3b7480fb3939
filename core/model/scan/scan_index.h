// scan.json: every kernel, launch site and knob of an application, with the source ranges that a patch would change.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/base/result.h"
#include "core/model/launch/expression.h"

namespace kernelift {

inline constexpr int kScanVersion = 2;

/// A range of bytes in a file, with its first line (1-based) for people.
struct SourceRange {
  std::string file;
  uint64_t begin = 0, end = 0;
  uint32_t line = 0, end_line = 0;
};

struct ScannedParameter {
  std::string name, type;  ///< Type as the source spells it.
  std::string pointee;     ///< Canonical element type of a pointer ("float", "struct Cell"), else empty.
  bool pointee_const = false;
  std::string scalar;       ///< Canonical type of an integer or floating-point scalar, else empty.
  std::string record = {};  ///< Canonical name of a structure that is passed by value, else empty.
  /// Bytes of a lambda for host and device, as clang lays it out; else 0. nvcc adds a pointer that only the host reads.
  uint64_t lambda_bytes = 0;

  bool is_integer() const;
  bool is_index() const;  ///< An integer of 32 bits or more: what the host passes is not cut off.
  bool is_unsigned() const { return scalar.find("unsigned") != scalar.npos; }
};

/// A pointer in a structure.
struct ScannedPointer {
  uint32_t offset = 0;  ///< Bytes from the structure's start.
  std::string pointee;  ///< As in ScannedParameter; "void" in a union, which may hold another type.
};

/// A structure, class or lambda that a kernel gets by value, or to which a pointer leads.
struct ScannedRecord {
  std::string name;  ///< Canonical: "app::View<double>".
  uint64_t size = 0;
  std::string element;  ///< Its type as MepRegion::element spells it: "float", "{float@0,int@4}8", "byte".
  std::vector<ScannedPointer> pointers;  ///< Its own, its members' and its bases', by offset.
  bool open = false;  ///< It may hold further addresses: it has too many pointers, or parts whose layout is not known.
};

/// A module variable that a kernel accesses and whose type holds addresses.
struct ScannedVariable {
  std::string key;   ///< canonical_key.
  std::string type;  ///< Type of its elements, spelled like a pointee: "float *", "struct app::View<double>".
};

/// One concrete kernel: a function, or one instance of a template.
struct ScannedKernel {
  std::string id;          ///< Short and stable: first 8 hex digits of a hash of key and TU.
  std::string key;         ///< canonical_key.
  std::string name;        ///< Qualified, with template arguments: "app::smooth<float, 8>".
  std::string mangled;     ///< Name as clang mangles it.
  std::string tu;          ///< The translation unit's main file.
  SourceRange definition;  ///< From the first token (template<…> included) to the closing brace.
  std::vector<ScannedParameter> parameters;
  std::vector<ScannedRecord> records;  ///< Types of parameters and variables and of what they point to, each once.
  std::vector<ScannedVariable> variables;
  bool is_template = false;
  bool through_macro = false;           ///< A macro expands to the definition; `definition` is the macro's use.
  int max_threads = 0, min_blocks = 0;  ///< __launch_bounds__, 0 if absent.
  std::vector<std::string> uses;  ///< Features: "shared", "dynamic-shared", "atomics", "shuffle", "cooperative-groups"…

  const ScannedRecord* record(const std::string& name) const;  ///< nullptr: not known.
};

/// `k<<<grid, block, shared, stream>>>(…)`, or a cudaLaunchKernel call on a known function.
struct LaunchSite {
  std::vector<std::string> kernels;                   ///< Ids of the kernels that this site may launch.
  SourceRange range;                                  ///< The whole call expression.
  SourceRange grid_range, block_range, shared_range;  ///< The arguments as spelled; begin == end if absent.
  std::string enclosing;                              ///< Qualified name of the function that launches.
  /// Expressions over macros, constants and the site's variables; nullopt if not an integer expression.
  std::optional<Expression> grid[3], block[3], shared;
  std::vector<std::string> argument_text;  ///< The kernel arguments as spelled.
  bool through_macro = false;              ///< A macro expands to the launch: its text here is what the macro is given.
  /// How grid and block are spelled: "dim3", "number" (an integer that is converted to dim3), "other"; empty: not
  /// known.
  std::string grid_form = {}, block_form = {};
  /// Pairs of kernel arguments for which a caller of the enclosing function passes the same memory: (0, 1) if
  /// `smooth(to, from)` launches k(to, from) and is called as smooth(a, a).
  std::vector<std::pair<size_t, size_t>> one_memory = {};
  SourceRange kernel_range = {};  ///< The kernel as spelled, template arguments included; absent where it is not.
  /// Arguments that call or change something, so that a patch must not evaluate them once more.
  std::set<size_t> unrepeatable_arguments = {};
  /// Macros in these texts whose expansion is more than one operand (`n / 256 + 1`): beside others it needs brackets.
  std::set<std::string> open_macros = {};
  /// Axes of grid and block of floating point: `dim3(n / 256.0)` rounds where it converts.
  std::set<size_t> real_grid = {}, real_block = {};
  /// Canonical types of the arguments as written, before the launch converts them, where they are numbers: "int",
  /// "double". Of a template's instances that differ: "double" if one is of floating point, else none.
  std::map<size_t, std::string> argument_types = {};
  /// Conditions under which `grid` is what the host computes: `ceil((float)n / 256)` is ceil_div(n, 256) up to 2^24.
  std::vector<Expression> grid_where = {};
  /// The function of the application that launches the kernel which it is given, where the site is a call of one:
  /// `launch(scale, grid, block, x, n)`. Else empty.
  std::string launcher = {};

  /// False: a macro's definition spells grid or block, which a patch cannot change for this launch alone.
  bool spells_geometry() const {
    auto here = [&](const SourceRange& part) {
      return part.file == range.file && range.begin <= part.begin && part.begin < part.end && part.end <= range.end;
    };
    return !through_macro || (here(grid_range) && here(block_range));
  }
  /// Whether grid, block or shared memory are computed from the name.
  bool uses(const std::string& name) const;
  bool is_real_argument(size_t index) const;
  /// The argument as spelled, if it may be evaluated once more; else empty.
  std::string repeatable_argument(size_t index) const {
    return index < argument_text.size() && !unrepeatable_arguments.contains(index) ? argument_text[index] : "";
  }
};

/// A variable from which an argument is computed: "a" for `&a[n]`, "#1" for the caller's second parameter, "#1.data()"
/// for its data(). Of `k % 2 ? a : b`, a where "k%2" holds.
struct PassedMemory {
  std::string text;
  std::map<std::string, bool> where = {};
  auto operator<=>(const PassedMemory&) const = default;
};

/// A call or launch in a host function, as the scan of one unit sees it.
struct HostCall {
  std::string callee, caller;  ///< Labels of functions; a launch is "FILE:BEGIN" of its site.
  std::vector<std::set<PassedMemory>> arguments;
};

/// A use of kernels' addresses other than in a launch that was found.
struct KernelPointer {
  std::vector<std::string> kernels;  ///< Ids.
  SourceRange range;
};

/// A macro or constant that feeds a kernel, its launch, or both.
struct Knob {
  std::string name;
  int64_t value = 0;
  SourceRange value_range;  ///< The value's text in the source.
  bool is_macro = false;
  bool in_kernel = false, in_geometry = false;
  std::vector<std::string> kernels;  ///< Ids.
  /// The extent of an array that data may fill: a smaller value could be too small for data that was not recorded.
  bool grows_only = false;
  bool is_local = false;  ///< A variable of one function, which no other text can name.
};

struct ScannedUnit {
  std::string file, folder;           ///< Main file; folder in which the command runs.
  std::vector<std::string> command;   ///< As in the compile database, with response files expanded.
  std::vector<std::string> problems;  ///< Diagnostics of parts that could not be parsed; empty if there were none.
  std::string headers = "lean";       ///< The headers with which it parsed best: lean (ours) | toolkit.
};

struct ScanIndex {
  std::string root;      ///< The application's root.
  std::string language;  ///< cuda | hip
  std::string database;  ///< The compile database that was read; empty in scans of earlier versions.
  std::vector<ScannedUnit> units;
  std::vector<ScannedKernel> kernels;
  std::vector<LaunchSite> launches;
  std::vector<KernelPointer> pointers;  ///< From which launches may follow: a parameter, a table, a graph's node.
  /// Calls without which a launch of the kernel may fail (cudaFuncSetAttribute: more shared memory, other clusters).
  std::vector<KernelPointer> settings;
  std::vector<Knob> knobs;
  std::vector<HostCall> calls;  ///< In one unit's findings only; merging units turns them into `one_memory`.

  static Result<ScanIndex> read(const std::filesystem::path& file);
  Status write(const std::filesystem::path& file) const;
  /// Kernels that match a user's word (id, key, or partial name); the caller reports ambiguity.
  std::vector<const ScannedKernel*> find(const std::string& word) const;
  /// The kernels with this key, one per definition in the source: a header's kernel counts once for all its units.
  /// Several files may define static kernels with the same name, which a profile counts as one.
  std::vector<const ScannedKernel*> namesakes(const std::string& key) const;
};

Json to_json(const ScanIndex&);
Result<ScanIndex> scan_index_from_json(const Json&, const std::string& where);

}  // namespace kernelift
