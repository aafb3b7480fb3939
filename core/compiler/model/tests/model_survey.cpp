// How much of existing kernels the model understands: `model_survey [-FLAG…] FILE…` compiles each CUDA source for the
// device and prints one line for each of its kernels, and the sums. Flags are clang's (-I, -D, -std).
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <cstdio>
#include <filesystem>

#include "core/base/file.h"
#include "core/compiler/frontend.h"
#include "core/compiler/model/model_builder.h"

namespace {

using namespace kernelift;

struct Sums {
  size_t files = 0, failed = 0, kernels = 0, complete = 0, accesses = 0, known = 0;
};

void survey(const llvm::Module& module, const std::string& file, Sums& sums) {
  for (auto& function : module) {
    if (function.isDeclaration() || function.getCallingConv() != llvm::CallingConv::PTX_Kernel) continue;
    auto own = llvm::CloneModule(module);
    auto model = build_kernel_model(*own, function.getName().str());
    ++sums.kernels;
    if (!model.ok()) {
      std::printf("%s %s: %s\n", file.c_str(), function.getName().str().c_str(), model.error().message.c_str());
      continue;
    }
    const size_t known = model->known_accesses();
    sums.complete += model->complete(), sums.accesses += model->accesses.size(), sums.known += known;
    std::printf("%s %s: %zu of %zu accesses%s%s\n", file.c_str(), function.getName().str().c_str(), known,
                model->accesses.size(),
                model->complete() ? "" : "; not understood: ", model->complete() ? "" : model->gaps[0].what.c_str());
  }
}

bool survey(const std::filesystem::path& file, const std::vector<std::string>& flags, Sums& sums) {
  auto text = read_text(file);
  if (!text.ok()) return false;
  std::string first;
  for (HeaderSet headers : {HeaderSet::Lean, HeaderSet::Toolkit}) {
    llvm::LLVMContext context;
    FrontendOptions options;
    options.file_name = file.filename().string(), options.folder = std::filesystem::absolute(file).parent_path();
    options.headers = headers, options.flags = flags;
    options.flags.insert(options.flags.begin(), "-I" + options.folder);
    auto compiled = compile_to_device_ir(context, *text, options);
    if (compiled.ok()) return survey(*compiled->module, file.string(), sums), true;
    if (first.empty()) first = compiled.error().message.substr(0, compiled.error().message.find('\n'));
  }
  std::printf("%s does not compile: %s\n", file.c_str(), first.c_str());
  return false;
}

}  // namespace

int main(int count, char** arguments) {
  std::vector<std::string> flags, files;
  for (int i = 1; i < count; ++i) (arguments[i][0] == '-' ? flags : files).push_back(arguments[i]);
  Sums sums;
  for (auto& file : files) ++sums.files, sums.failed += !survey(file, flags, sums);
  std::printf("sum: %zu files, %zu do not compile; %zu kernels, %zu understood whole; %zu of %zu accesses\n",
              sums.files, sums.failed, sums.kernels, sums.complete, sums.known, sums.accesses);
  return files.empty() ? 2 : 0;
}
