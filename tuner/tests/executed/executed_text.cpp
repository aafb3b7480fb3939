// See executed_text.h.
#include "tuner/tests/executed/executed_text.h"

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include "core/compiler/frontend.h"

namespace kernelift::tuner {

Result<ExecutedText> ExecutedText::make(const std::string& source) {
  llvm::LLVMContext context;
  KERNELIFT_ASSIGN(Compiled compiled, compile_to_device_ir(context, source, {}));
  cpu::LowerOptions options;
  options.checked = true, options.host_level = 1;
  KERNELIFT_ASSIGN(auto lowered, cpu::lower(std::move(compiled.module), options));
  KERNELIFT_ASSIGN(auto image, cpu::LoadedImage::load(lowered.elf, "executed"));
  if (image->image().kernel_count != 1) return usage_error("not one kernel");
  return ExecutedText(std::move(image));
}

ExecutedText::Outcome ExecutedText::run(KernelMemory& memory, const Geometry& geometry, const Bindings& sizes) const {
  CheckedExtents extents = memory.extents(image());
  extents.follow_all_reads = true;
  memory.restore(image());
  cpu::AccessCheck check(std::move(extents));
  cpu::LaunchOptions options;
  options.workers = 1, options.check = &check;
  options.no_progress_timeout = std::chrono::seconds(10);
  const auto arguments = memory.arguments(kernel(), sizes);
  const auto launched = cpu::launch(kernel(), geometry, arguments.data(), options);
  return {launched.ok() ? "" : "fault: " + launched.detail, check.findings(), memory.contents(image())};
}

}  // namespace kernelift::tuner
