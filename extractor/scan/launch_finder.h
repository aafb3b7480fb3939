// Launch sites of one parsed unit: `k<<<…>>>(…)`, through hipLaunchKernelGGL too, and cudaLaunchKernel with its kin
// where the kernel is named. A site in a template or a header is one site, however many instances and units show it.
#pragma once
#include <vector>

#include "extractor/scan/geometry_text.h"
#include "extractor/source/source_items.h"

namespace kernelift {

struct FoundLaunch {
  LaunchSite site;                                  ///< `kernels` left empty.
  std::vector<const clang::FunctionDecl*> kernels;  ///< That it may launch; empty if only known at run time.
  std::set<const clang::MacroInfo*> macros;         ///< Feeding its geometry.
  std::set<const clang::VarDecl*> constants;
  std::set<const clang::Decl*> enumerators;
};

/// A kernel's address that goes somewhere else, where launches may follow that are not seen.
struct FoundPointer {
  const clang::FunctionDecl* kernel = nullptr;
  SourceRange range;
};

struct FoundLaunches {
  std::vector<FoundLaunch> launches;
  std::vector<FoundPointer> pointers;
};

FoundLaunches find_launches(const ParsedUnit& unit, const SourceItems& items);

}  // namespace kernelift
