// Links the embedded device library lazily: only the functions that are called are materialised.
#include "sandbox/device/cpu/lower/device_library.h"

#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/Linker/Linker.h>

#include <set>

#include "sandbox/device/cpu/lower/module/device_module.h"

namespace kernelift::cpu {

using namespace llvm;

namespace {

constexpr unsigned char kBitcode[] = {
#include KERNELIFT_DEVICELIB
};

std::unique_ptr<Module> open_library(LLVMContext& context) {
  MemoryBufferRef bytes(StringRef(reinterpret_cast<const char*>(kBitcode), sizeof kBitcode), "device library");
  auto library = getLazyBitcodeModule(bytes, context, /*ShouldLazyLoadMetadata=*/true);
  KERNELIFT_ASSERT(bool(library), "the embedded device library does not parse");
  return std::move(*library);
}

const std::set<std::string>& library_names() {
  static const std::set<std::string> kNames = [] {
    std::set<std::string> names;
    LLVMContext context;
    std::unique_ptr<Module> library = open_library(context);
    for (Function& function : *library)
      if (!function.isDeclaration()) names.insert(function.getName().str());
    return names;
  }();
  return kNames;
}

bool from_library(StringRef name) {
  return name.starts_with("__nv_") || name.starts_with("__nvvm_") || name.starts_with("__kl_note_");
}

}  // namespace

std::string device_library_name(StringRef nvvm_name) {
  std::string name = "__nvvm_";
  for (size_t i = 0; i < nvvm_name.size(); ++i) {
    if (nvvm_name.substr(i).starts_with(".ftz")) i += 3;
    else name += nvvm_name[i] == '.' ? '_' : nvvm_name[i];
  }
  return library_names().contains(name) ? name : "";
}

void refuse_unknown_mathematics(DeviceModule& device) {
  for (Function& function : *device.module) {
    const std::string name = function.getName().str();
    if (!function.isDeclaration() || !from_library(name) || library_names().contains(name)) continue;
    for (User* user : function.users())
      if (auto* use = dyn_cast<Instruction>(user))
        device.refuse(*use, "the CPU device's mathematics library has no function " + name);
  }
}

Status link_device_library(Module& module, function_ref<bool(const Function&)> wanted) {
  std::set<std::string> called;
  for (Function& function : module)
    if (function.isDeclaration() && from_library(function.getName()) && !function.use_empty() && wanted(function))
      called.insert(function.getName().str());
  for (const std::string& name : called)
    if (!library_names().contains(name))
      return refused("the address of the device function " + name +
                     ", which the CPU device's mathematics library lacks");
  if (called.empty()) return done();
  std::unique_ptr<Module> library = open_library(module.getContext());
  library->setDataLayout(module.getDataLayout());
  library->setTargetTriple(module.getTargetTriple());
  for (const std::string& name : called)
    if (library->getFunction(name)->getFunctionType() != module.getFunction(name)->getFunctionType())
      return refused("the program declares " + name + " with other types than libdevice has");
  std::set<std::string> before;
  for (Function& function : module)
    if (!function.isDeclaration()) before.insert(function.getName().str());
  if (Linker::linkModules(module, std::move(library), Linker::LinkOnlyNeeded))
    return environment_error("the device library could not be linked into the module");
  for (Function& function : module) {
    if (function.isDeclaration() || before.contains(function.getName().str())) continue;
    function.setLinkage(GlobalValue::InternalLinkage);
    for (const char* attribute :
         {"target-cpu", "target-features", "tune-cpu", "frame-pointer", "min-legal-vector-width"})
      function.removeFnAttr(attribute);
    // Else LLVM would inline nothing of the library into code that flushes denormals (-use_fast_math).
    function.addFnAttr("denormal-fp-math", "dynamic,dynamic");
  }
  return done();
}

}  // namespace kernelift::cpu
