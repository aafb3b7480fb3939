// scan.json: every kernel, launch site and knob of an application, with the places a patch would touch.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/base/result.h"
#include "core/model/launch/expression.h"

namespace kernelift {

inline constexpr int kScanVersion = 1;

/// A range of bytes in a file, with its first line (1-based) for people.
struct SourceRange {
  std::string file;
  uint64_t begin = 0, end = 0;
  uint32_t line = 0, end_line = 0;
};

struct ScannedParameter {
  std::string name, type;  ///< Type as the source spells it.
  std::string pointee;     ///< Canonical element type if a pointer ("float", "struct Cell"), else empty.
  bool pointee_const = false;
  std::string scalar;       ///< Canonical type if an integer or float scalar, else empty.
  std::string record = {};  ///< Canonical name of a structure that is passed by value, else empty.
};

/// An address in a structure, by its type.
struct ScannedPointer {
  uint32_t offset = 0;
  std::string pointee;  ///< As a parameter's; "void" in a union, which may hold something else.
};

/// A structure, class or lambda that a kernel is given by value, or that a pointer leads to.
struct ScannedRecord {
  std::string name;  ///< Canonical: "app::View<double>".
  uint64_t size = 0;
  std::string element;  ///< What its bytes are, as a MEP's regions have it: "float", "{float@0,int@4}8", "byte".
  std::vector<ScannedPointer> pointers;  ///< By offset: its own, its members' and its bases'.
  bool open = false;  ///< It may hold addresses elsewhere, too: too many of them, or of no known layout.
};

/// A module variable that a kernel reaches and that holds addresses, by its type.
struct ScannedVariable {
  std::string key;   ///< canonical_key.
  std::string type;  ///< Of its elements, as a pointer's pointee: "float *", "struct app::View<double>".
};

/// One concrete kernel: a function, or one instance of a template.
struct ScannedKernel {
  std::string id;          ///< Short and stable: first 8 hex digits of a hash of key and TU.
  std::string key;         ///< canonical_key.
  std::string name;        ///< Qualified, with template arguments: "app::smooth<float, 8>".
  std::string mangled;     ///< As clang spells it.
  std::string tu;          ///< The translation unit's main file.
  SourceRange definition;  ///< From the first token (template<…> included) to the closing brace.
  std::vector<ScannedParameter> parameters;
  std::vector<ScannedRecord> records;  ///< What the parameters and variables are or lead to, each once.
  std::vector<ScannedVariable> variables;
  bool is_template = false;
  bool through_macro = false;           ///< A macro writes the definition; `definition` is the use of the macro.
  int max_threads = 0, min_blocks = 0;  ///< __launch_bounds__, 0 if absent.
  std::vector<std::string> uses;  ///< Features: "shared", "dynamic-shared", "atomics", "shuffle", "cooperative-groups"…

  const ScannedRecord* record(const std::string& name) const;  ///< nullptr: not known.
};

/// `k<<<grid, block, shared, stream>>>(…)`, or a cudaLaunchKernel call on a known function.
struct LaunchSite {
  std::vector<std::string> kernels;                   ///< Ids of ScannedKernel that this site may launch.
  SourceRange range;                                  ///< The whole call expression.
  SourceRange grid_range, block_range, shared_range;  ///< The arguments as spelled; begin == end if absent.
  std::string enclosing;                              ///< Qualified name of the function that launches.
  /// Over macros, constants and the site's variables; nullopt where it is not an integer expression.
  std::optional<Expression> grid[3], block[3], shared;
  std::vector<std::string> argument_text;  ///< The kernel arguments as spelled.
  bool through_macro = false;              ///< The launch is written by a macro: a patch must not touch its geometry.
  /// What the arguments are as spelled: "dim3", "number" (an integer that becomes one), "other", or empty: not known.
  std::string grid_form = {}, block_form = {};
  /// Arguments for which some caller of the enclosing function passes one memory, a pair each: (0, 1) of
  /// `smooth(to, from)`, which launches k(to, from), where somebody calls smooth(a, a).
  std::vector<std::pair<size_t, size_t>> one_memory = {};
};

/// A call or launch in a host function, as a scan of one unit sees it. `arguments` are what each leads to, by its
/// words: "a" of `&a[n]`, "#1" where that is the caller's second parameter, "#1.data()" what one gets of it.
struct HostCall {
  std::string callee, caller;  ///< Labels of functions; a launch is "FILE:BEGIN" of its site.
  std::vector<std::set<std::string>> arguments;
};

/// Where kernels' addresses go to something other than a launch that was seen: a parameter, a table, a graph's node.
struct KernelPointer {
  std::vector<std::string> kernels;  ///< Ids.
  SourceRange range;
};

/// A macro or constant that feeds a kernel, its launch, or both.
struct Knob {
  std::string name;
  int64_t value = 0;
  SourceRange value_range;  ///< Where the value is spelled.
  bool is_macro = false;
  bool in_kernel = false, in_geometry = false;
  std::vector<std::string> kernels;  ///< Ids.
  /// An array's extent that data may fill up to: a smaller one could be too small for data that was not recorded.
  bool grows_only = false;
  /// Work is dealt out in whole chunks of it: sizes have to be multiples of it, and then are of its divisors.
  bool divides_only = false;
};

struct ScannedUnit {
  std::string file, folder;           ///< Main file; folder the command runs in.
  std::vector<std::string> command;   ///< As in the compile database, response files expanded.
  std::vector<std::string> problems;  ///< What could not be parsed; empty if all was.
  std::string headers = "lean";       ///< The headers it parsed best with: lean (ours) | toolkit.
};

struct ScanIndex {
  std::string root;      ///< The application's root.
  std::string language;  ///< cuda | hip
  std::string database;  ///< The compile database that was read; empty in scans of earlier versions.
  std::vector<ScannedUnit> units;
  std::vector<ScannedKernel> kernels;
  std::vector<LaunchSite> launches;
  std::vector<KernelPointer> pointers;
  std::vector<Knob> knobs;
  std::vector<HostCall> calls;  ///< Of one unit's findings; what they say is in the launches when all are merged.

  static Result<ScanIndex> read(const std::filesystem::path& file);
  Status write(const std::filesystem::path& file) const;
  /// Kernels matching a user's word (id, key, or partial name); ambiguity is the caller's to report.
  std::vector<const ScannedKernel*> find(const std::string& word) const;
  /// Kernels of one key, by the place of their text: a header's kernel is one, in all its units. Several files may have
  /// a static kernel of one name, and a profile counts them as one.
  std::vector<const ScannedKernel*> namesakes(const std::string& key) const;
};

Json to_json(const ScanIndex&);
Result<ScanIndex> scan_index_from_json(const Json&, const std::string& where);

}  // namespace kernelift
