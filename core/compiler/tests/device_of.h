// The device IR of a text, for tests of the front end.
#pragma once
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/raw_ostream.h>

#include <memory>
#include <string>

#include "core/compiler/frontend.h"

namespace kernelift {

struct Device {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module;
  std::string error;
  std::string ir() const {
    std::string text;
    llvm::raw_string_ostream out(text);
    if (module) module->print(out, nullptr);
    return text;
  }
};

inline std::unique_ptr<Device> compile(const std::string& source, FrontendOptions options = {}) {
  auto device = std::make_unique<Device>();
  auto compiled = compile_to_device_ir(device->context, source, options);
  if (compiled.ok()) device->module = std::move(compiled->module);
  else device->error = compiled.error().message;
  return device;
}

template <class Change>
FrontendOptions with(Change change) {
  FrontendOptions options;
  change(options);
  return options;
}

}  // namespace kernelift
