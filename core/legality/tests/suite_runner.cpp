// Prints how the suite's variants are judged. `legality_suite [KERNEL] [--all] [--models] [--suite FOLDER]`: one
// kernel; a line for each variant, not only for those whose answer disagrees with their label or settles nothing; the
// models, too; of another folder of kernels.
#include <cstdio>
#include <cstring>

#include "core/legality/tests/suite.h"

int main(int count, char** arguments) {
  using namespace kernelift::legality;
  std::string only, folder = KERNELIFT_SUITE;
  bool all = false, models = false;
  for (int i = 1; i < count; ++i) {
    if (std::strcmp(arguments[i], "--all") == 0) all = true;
    else if (std::strcmp(arguments[i], "--models") == 0) models = true;
    else if (std::strcmp(arguments[i], "--suite") == 0 && i + 1 < count) folder = arguments[++i];
    else only = arguments[i];
  }
  const auto kernels = read_suite(folder, only);
  if (models)
    for (auto& kernel : kernels) {
      std::printf("%s\n%s", kernel.name.c_str(), to_text(suite_model(kernel.text, kernel.launch.block)).c_str());
      for (auto& variant : kernel.variants)
        std::printf("%s: %s\n%s", kernel.name.c_str(), variant.what.c_str(),
                    to_text(suite_model(variant.text, variant.launch.block)).c_str());
    }
  const auto judged = judge_suite(kernels);
  const char* const labels[] = {"right", "wrong", "values"};
  const char* const kinds[] = {"proven", "proven under a premise", "refuted", "not known"};
  bool faults = false;
  for (auto& one : judged) {
    faults |= !one.fault.empty();
    if (!all && one.settled) continue;
    auto& memory = one.memory;
    std::printf("%s%s, %s %s: %s\n    %s%s%s%s%s (%.0f ms)\n", one.fault.empty() ? "" : "FAULT (",
                (one.fault.empty() ? one.kernel->name : one.fault + ") " + one.kernel->name).c_str(),
                labels[int(one.variant->label)], one.variant->kind.c_str(), one.variant->what.c_str(),
                kinds[int(memory.kind)], memory.premise ? " if " : "",
                memory.premise ? memory.premise->text().c_str() : "", memory.why.empty() ? "" : ": ",
                memory.why.c_str(), one.milliseconds);
    if (all && one.values) std::printf("    values: %s: %s\n", kinds[int(one.values->kind)], one.values->why.c_str());
  }
  std::printf("\n%s", table(judged).c_str());
  return faults ? 1 : 0;
}
