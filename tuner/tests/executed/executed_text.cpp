// See executed_text.h.
#include "tuner/tests/executed/executed_text.h"

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include "core/compiler/frontend.h"
#include "core/compiler/model/model_builder.h"

namespace kernelift::tuner {

struct CompiledText::State {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module;
};

CompiledText::CompiledText(std::unique_ptr<State> state) : state_(std::move(state)) {}
CompiledText::CompiledText(CompiledText&&) noexcept = default;
CompiledText::~CompiledText() = default;

Result<CompiledText> CompiledText::make(const std::string& source) {
  auto state = std::make_unique<State>();
  KERNELIFT_ASSIGN(Compiled compiled, compile_to_device_ir(state->context, source, {}));
  state->module = std::move(compiled.module);
  return CompiledText(std::move(state));
}

std::optional<KernelModel> CompiledText::model(const Dim3& block) const {
  const auto module = llvm::CloneModule(*state_->module);
  for (auto& function : *module)
    if (!function.isDeclaration() && function.getCallingConv() == llvm::CallingConv::PTX_Kernel) {
      auto model = build_kernel_model(*module, function.getName().str(), block);
      return model.ok() ? std::optional(std::move(*model)) : std::nullopt;
    }
  return std::nullopt;
}

Result<ExecutedText> ExecutedText::make(const CompiledText& text) {
  cpu::LowerOptions options;
  options.checked = true, options.host_level = 1;
  KERNELIFT_ASSIGN(auto lowered, cpu::lower(llvm::CloneModule(*text.state_->module), options));
  KERNELIFT_ASSIGN(auto image, cpu::LoadedImage::load(lowered.elf, "executed"));
  if (image->image().kernel_count != 1) return usage_error("not one kernel");
  return ExecutedText(std::move(image));
}

ExecutedText::Outcome ExecutedText::run(KernelMemory& memory, const Geometry& geometry, const Bindings& sizes,
                                        const std::set<std::string>& kept) const {
  CheckedExtents extents = memory.extents(image());
  extents.follow_all_reads = true;
  memory.restore(image(), kept);
  cpu::AccessCheck check(std::move(extents));
  cpu::LaunchOptions options;
  options.workers = 1, options.check = &check;
  options.no_progress_timeout = std::chrono::seconds(10);
  const auto arguments = memory.arguments(kernel(), sizes);
  const auto launched = cpu::launch(kernel(), geometry, arguments.data(), options);
  return {launched.ok() ? "" : "fault: " + launched.detail, check.findings(), memory.contents(image())};
}

}  // namespace kernelift::tuner
