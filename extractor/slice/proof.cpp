// One LLVMContext for both, because the comparison relies on shared types and constants. Debug lines are off: the
// slice's lines differ by design, and code that depends on them (__LINE__, assert) is compared as the constants that
// they become.
#include "extractor/slice/proof.h"

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "core/compiler/clang_job.h"
#include "core/toolchain/architecture.h"
#include "extractor/slice/ir_closure.h"
#include "extractor/slice/ir_compare.h"

namespace kernelift::extractor {
namespace {

std::string first_line(const std::string& text) {
  // The line with "error:" is more useful than a warning or a note above it.
  size_t at = text.find("error:");
  size_t begin = at == std::string::npos ? 0 : text.rfind('\n', at) + 1;
  return text.substr(begin, text.find('\n', begin) - begin);
}

/// Gives every symbol of a whole unit whose name contains the renamed main its original name, and returns the kernel's
/// name before that. Names are matched demangled: main's new name shifts the back references in mangled names.
std::string name_as_in(const llvm::Module& original, llvm::Module& unit, const std::string& mangled) {
  std::map<std::string, std::string> names;
  for (auto& value : original.global_values()) names[plain_name(value.getName())] = value.getName().str();
  std::vector<std::pair<llvm::GlobalValue*, std::string>> renamed;
  for (auto& value : unit.global_values()) {
    if (!value.getName().contains("kernelift_application_main")) continue;
    if (auto found = names.find(plain_name(value.getName())); found != names.end())
      renamed.emplace_back(&value, found->second);
  }
  std::string kernel;
  for (auto& [value, name] : renamed) {
    if (name == mangled) kernel = value->getName().str();
    value->setName(name);
  }
  return kernel;
}

}  // namespace

ProofOutcome prove_equal(const std::string& original, const std::string& slice, const std::string& mangled,
                         const FrontendOptions& options) {
  ProofOutcome outcome;
  FrontendOptions plain = options;
  plain.debug_lines = false;
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> names;  // The original, if the kernel may have another name in the slice.
  if (mangled.find("4mainE") != mangled.npos)
    if (auto compiled = compile_to_device_ir(context, original, plain); compiled.ok())
      names = std::move(compiled->module);
  auto compile = [&](const std::string& text, bool& compiles) -> Result<Compiled> {
    KERNELIFT_ASSIGN(auto compiled, compile_to_device_ir(context, text, plain));
    if (names && !compiled.module->getFunction(mangled))
      outcome.slice_mangled = name_as_in(*names, *compiled.module, mangled);
    KERNELIFT_TRY(cut_to_kernel(*compiled.module, mangled));
    compiles = true;
    normalise(*compiled.module);
    return compiled;
  };
  auto cut = compile(slice, outcome.slice_compiles);
  if (!cut.ok()) {
    outcome.note = "the slice does not compile: " + first_line(cut.error().message);
    return outcome;
  }
  auto whole = compile(original, outcome.original_compiles);
  if (!whole.ok()) {
    outcome.note = "the original unit does not compile with clang, so there is nothing to compare with: " +
                   first_line(whole.error().message);
    return outcome;
  }
  auto difference = first_difference(*whole->module->getFunction(mangled), *cut->module->getFunction(mangled));
  outcome.equal = !difference;
  outcome.note = difference
                     ? "the slice's device code differs from the original's: " + *difference
                     : "the device code of slice and original unit is equal: instructions, flags, attributes, callees, "
                       "variables and their initial values";
  return outcome;
}

int passes_that_fail(const std::string& text, const FrontendOptions& options) {
  int failed = 0;
  for (const char* pass : {"--cuda-host-only", "--cuda-device-only"}) {
    FrontendOptions other = options;
    if (std::string_view(pass) == "--cuda-device-only") other.arch = newest_architecture({});
    std::vector<std::string> arguments = frontend_arguments(other);
    std::ranges::replace(arguments, std::string("--cuda-device-only"), std::string(pass));
    if (!other.folder.empty()) arguments.push_back("-working-directory=" + other.folder);
    std::string file = std::filesystem::absolute(std::filesystem::path(other.folder) / other.file_name).string();
    arguments.insert(arguments.end(), {"-fsyntax-only", file});
    auto jobs = clang_jobs(arguments);
    failed += !jobs.ok() || !run_clang_job(jobs->front(), {{file, text}}).ok();
  }
  return failed;
}

}  // namespace kernelift::extractor
