// A recorder knows the source file of a launched kernel (on the CPU device), or that file's stem and the program or
// library that holds the code (CUDA, where symbols and the driver's calls say so).
#include "extractor/extract/missing_source.h"

#include <algorithm>
#include <filesystem>

#include "core/base/within.h"
#include "core/model/kernel_key.h"
#include "extractor/scan/lost_kernels.h"

namespace kernelift::extractor {
namespace {

namespace fs = std::filesystem;

/// What the CUDA recorder writes for code that lies in no program or library (docs/formats.md).
constexpr const char* kCodeInMemory = "(memory)";

std::string read_in_part(const ScanIndex& index, const ScannedUnit& unit) {
  return relative_to(unit.file, index.root) + " (" + unit.problems.front() + ")";
}

/// Whether the recording says that the kernel was compiled from this file; false where it does not say.
bool is_from(const CapturedInstance& instance, const std::string& file) {
  return instance.unit == file ||
         (!instance.source_stem.empty() && fs::path(file).stem() == fs::path(instance.source_stem));
}

/// Where the recording does not say which file it was: all files that were not read completely.
std::string perhaps_in_part(const ScanIndex& index, const std::vector<const ScannedUnit*>& in_part) {
  constexpr size_t kShown = 3;
  std::string units;
  for (size_t i = 0; i < in_part.size() && i < kShown; ++i) units += (i ? ", " : "") + read_in_part(index, *in_part[i]);
  return "no source that was read completely defines it, and " + std::to_string(in_part.size()) +
         (in_part.size() == 1 ? " file was" : " files were") + " read in part only: " + units;
}

}  // namespace

std::string why_without_source(const ScanIndex& index, const CapturedInstance& instance) {
  const std::string name = unqualified_name(base_name(instance.kernel));
  std::vector<const ScannedUnit*> in_part;
  for (auto& unit : index.units)
    if (!unit.problems.empty()) in_part.push_back(&unit);
  auto at = std::ranges::find_if(in_part, [&](auto* unit) { return names_lost_kernel(unit->problems.back(), name); });
  if (at != in_part.end())
    return "its source was read in part only, and the kernel is in what was lost: " + read_in_part(index, **at) +
           "; mend what is named and run kernelift scan again";
  if (instance.unit == kCodeInMemory)
    return "its code was made or loaded while the application ran (NVRTC, Triton, a cubin): the driver got it from "
           "memory, and not from a program or library, and the recording holds no text that NVRTC compiled to it";
  for (std::string library : {"thrust", "cub"})
    if (base_name(instance.kernel).starts_with(library + "::"))
      return "it is a kernel of " + library +
             ", whose headers are none of the application's: nothing in them is changed";
  const bool by_path = instance.unit.find('/') != std::string::npos;
  const bool in_library = !by_path && instance.unit.find(".so") != std::string::npos;
  if (by_path || !instance.source_stem.empty()) {
    const std::string file = (by_path ? relative_to(instance.unit, index.root) : instance.source_stem + ".cu") +
                             (in_library ? " of the library " + instance.unit : "");
    auto scanned = std::ranges::find_if(index.units, [&](auto& unit) { return is_from(instance, unit.file); });
    if (scanned == index.units.end())
      return "its file, " + file + ", is not among the compile commands that were scanned: " +
             (by_path && !within(instance.unit, index.root)
                  ? "it lies outside of the application (" + index.root + ")"
                  : std::string("build again from clean through kernelift build, and scan again"));
    if (!scanned->problems.empty())
      return "its file was read in part only: " + read_in_part(index, *scanned) +
             "; mend what is named and run kernelift scan again";
    return "its file, " + relative_to(scanned->file, index.root) +
           ", was read completely and does not define it: a header outside of the application does, in which nothing "
           "could be changed, or a compile of the file with other flags";
  }
  if (in_library)
    return "its code is that of the library " + instance.unit +
           ", and no source that was scanned defines it: where the library is your own, build it through kernelift "
           "build, too";
  if (!in_part.empty()) return perhaps_in_part(index, in_part);
  return "no source of the application defines it, and the recording does not say where its code came from: a library "
         "(thrust's, cub's), code made while the application runs (NVRTC, a loaded cubin), or a file whose compile was "
         "not logged (then build again from clean through kernelift build); kernelift scan lists the application's own";
}

}  // namespace kernelift::extractor
