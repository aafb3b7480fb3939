// Kernels are joined by their keys; those of one key in several files by what was recorded of them.
#include "cli/loop/loop_rows.h"

#include <algorithm>
#include <filesystem>

#include "core/model/kernel_key.h"
#include "extractor/extract/capture_join.h"

namespace fs = std::filesystem;

namespace kernelift::cli {
namespace {

/// If several files define a kernel of this name: those definitions that were recorded.
std::vector<const ScannedKernel*> recorded_namesakes(const std::string& key, const ScanIndex& scanned,
                                                     const Capture& capture) {
  auto namesakes = scanned.namesakes(key);
  std::vector<const ScannedKernel*> found;
  if (namesakes.size() < 2) return found;
  extractor::CaptureJoin join(scanned, capture);
  for (auto* kernel : namesakes)
    if (std::any_of(capture.instances().begin(), capture.instances().end(), [&](auto& instance) {
          return join.joins(instance, *kernel) == extractor::CaptureJoin::Answer::Yes;
        }))
      found.push_back(kernel);
  if (found.size() < 2) found.clear();  // If only one ran, `extract` finds it by the name alone.
  return found;
}

}  // namespace

std::vector<LoopRow> rows_of(const Capture& capture, const ScanIndex& scanned,
                             const std::vector<reintegrate::KernelShare>& shares) {
  std::vector<LoopRow> rows;
  for (auto& [key, share] : shares) {
    LoopRow row;
    row.kernel = key, row.share = share;
    for (auto& instance : capture.instances())
      if (double seconds = instance.microseconds * 1e-6; instance.kernel == key && seconds > 0)
        row.launch_seconds = row.launch_seconds > 0 ? std::min(row.launch_seconds, seconds) : seconds;
    auto namesakes = recorded_namesakes(key, scanned, capture);
    if (namesakes.empty()) rows.push_back(row);
    for (auto* one : namesakes) {
      row.id = one->id, row.file = fs::path(one->definition.file).lexically_proximate(scanned.root).string();
      rows.push_back(row);
    }
  }
  return rows;
}

bool is_tuned_copy(const std::string& kernel, const std::string& of) {
  const std::string name = base_name(kernel), copy = base_name(of) + "_tuned";
  return name.starts_with(copy) && name.find_first_not_of("0123456789", copy.size()) == name.npos;
}

std::string shortest_name(const LoopRow& wanted, const ScanIndex& scanned, const std::vector<LoopRow>& rows) {
  if (!wanted.id.empty()) return wanted.id;
  const std::string& key = wanted.kernel;
  std::string name = shown_name(key);
  bool one = std::ranges::all_of(scanned.find(name), [&](auto* kernel) { return kernel->key == key; }) &&
             std::count_if(rows.begin(), rows.end(), [&](auto& row) { return key_matches(row.kernel, name); }) == 1;
  return one ? name : key;
}

}  // namespace kernelift::cli
