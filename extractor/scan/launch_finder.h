// Launch sites of one parsed unit: `k<<<…>>>(…)`, through hipLaunchKernelGGL too, and calls of cudaLaunchKernel and its
// variants that name the kernel. A site in a template or a header is one site, whatever its instances and units.
#pragma once
#include <vector>

#include "extractor/scan/geometry_text.h"
#include "extractor/source/source_items.h"

namespace kernelift::extractor {

struct FoundLaunch {
  LaunchSite site;                                  ///< `kernels` left empty.
  std::vector<const clang::FunctionDecl*> kernels;  ///< Kernels it may launch; empty if known only at run time.
  const clang::DeclRefExpr* named = nullptr;        ///< The kernel, where the launch names it itself.
  std::set<const clang::MacroInfo*> macros;         ///< Macros that the geometry depends on.
  std::set<const clang::VarDecl*> constants;        ///< Constants that the geometry depends on.
  std::set<const clang::Decl*> enumerators;         ///< Enumerators that the geometry depends on.
};

/// A kernel's address that escapes to code which is not followed, and which may launch the kernel.
struct FoundPointer {
  const clang::FunctionDecl* kernel = nullptr;
  SourceRange range;
};

struct FoundLaunches {
  std::vector<FoundLaunch> launches;
  std::vector<FoundPointer> pointers, settings;  ///< As in ScanIndex.
};

FoundLaunches find_launches(const ParsedUnit& unit, const SourceItems& items);

}  // namespace kernelift::extractor
