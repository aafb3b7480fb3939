// kernelift_corpus_check DATABASE ROOT [REGEX]: scans an application, slices every kernel of it, and prints the result
// of each, with totals. It runs both stages on foreign code: the quickest way to see which constructs are not handled.
#include <cstdio>
#include <map>
#include <regex>

#include "extractor/scan/scan.h"
#include "extractor/slice/slice.h"

using namespace kernelift;
using namespace kernelift::extractor;

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: %s compile_commands.json ROOT [KERNEL-REGEX]\n", argv[0]);
    return 2;
  }
  ScanOptions options;
  options.compile_database = argv[1], options.root = argv[2];
  auto index = scan_application(options);
  if (!index.ok()) {
    std::fprintf(stderr, "%s\n", index.error().message.c_str());
    return static_cast<int>(index.error().exit);
  }
  size_t broken = 0, geometry = 0;
  for (auto& unit : index->units)
    if (!unit.problems.empty())
      ++broken, std::printf("unit %s: %s\n", unit.file.c_str(), unit.problems.front().c_str());
  for (auto& site : index->launches) {
    bool known = site.grid[0] && site.block[0];
    geometry += known;
    if (!known)
      std::printf("launch at %s:%u: its geometry is not an expression\n", site.range.file.c_str(), site.range.line);
  }
  std::map<std::string, size_t> totals;
  std::regex wanted(argc > 3 ? argv[3] : "");
  for (auto& kernel : index->kernels) {
    if (!std::regex_search(kernel.name, wanted)) continue;
    auto slice = slice_kernel(*index, kernel);
    std::string verdict = !slice.ok() ? "failed" : slice->mode + (slice->proof.proven ? " proven" : " unproven");
    ++totals[verdict];
    std::printf("%-20s %s  %s\n", verdict.c_str(), kernel.name.c_str(),
                !slice.ok() ? slice.error().message.c_str()
                : slice->mode == "whole-unit" || !slice->proof.proven
                    ? (slice->note + " | " + slice->proof.note).c_str()
                    : "");
    if (slice.ok() && argc > 3) std::printf("%s\n%s", slice->text.c_str(), closure_report(*slice, index->root).c_str());
  }
  std::printf("units %zu (%zu with errors), kernels %zu, launches %zu (%zu with geometry), knobs %zu;",
              index->units.size(), broken, index->kernels.size(), index->launches.size(), geometry,
              index->knobs.size());
  for (auto& [verdict, count] : totals) std::printf(" %s %zu", verdict.c_str(), count);
  std::printf("\n");
  return 0;
}
