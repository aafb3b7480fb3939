// Constants laid out as the C structs of image_abi.h are; LLVM's default struct layout for the host is C's.
#include "sandbox/device/cpu/lower/host/image_tables.h"

#include "core/toolchain/image_abi.h"
#include "sandbox/device/cpu/lower/host/variable_room.h"
#include "sandbox/device/cpu/lower/services.h"

namespace kernelift::cpu {

using namespace llvm;

namespace {

class Tables {
 public:
  explicit Tables(Module& module)
      : module_(module), context_(module.getContext()), pointer_(PointerType::get(context_, 0)) {}

  Constant* word(uint64_t value) { return ConstantInt::get(Type::getInt32Ty(context_), value); }
  Constant* wide(uint64_t value) { return ConstantInt::get(Type::getInt64Ty(context_), value); }
  Constant* text(StringRef value) { return global(ConstantDataArray::getString(context_, value)); }
  Constant* null() { return ConstantPointerNull::get(pointer_); }

  Constant* global(Constant* value) {
    return new GlobalVariable(module_, value->getType(), true, GlobalValue::PrivateLinkage, value, "kl.table");
  }
  Constant* record(ArrayRef<Constant*> fields) { return ConstantStruct::getAnon(context_, fields); }
  Constant* array(const std::vector<Constant*>& elements) {
    if (elements.empty()) return null();
    return global(ConstantArray::get(ArrayType::get(elements[0]->getType(), elements.size()), elements));
  }

  Constant* kernel(const Kernel& kernel) {
    std::vector<Constant*> parameters;
    for (const KernelParameter& parameter : kernel.parameters)
      parameters.push_back(record({word(parameter.offset), word(parameter.size)}));
    return record({text(kernel.name), kernel.run ? kernel.run : null(), word(kernel.mode), text(kernel.mode_reason),
                   word(kernel.parameters.size()), word(kernel.parameter_bytes), array(parameters),
                   word(kernel.static_shared_bytes), word(kernel.frame_bytes), word(kernel.stack_bytes),
                   word(kernel.max_threads), word(kernel.flags)});
  }
  Constant* variable(const Variable& variable) {
    const uint64_t size = module_.getDataLayout().getTypeAllocSize(variable.global->getValueType()).getFixedValue();
    return record({text(variable.name), address_of(variable), wide(size - 2 * variable.room),
                   word((variable.constant ? KL_VARIABLE_CONSTANT : 0) | (variable.managed ? KL_VARIABLE_MANAGED : 0)),
                   word(variable.room)});
  }

 private:
  Module& module_;
  LLVMContext& context_;
  PointerType* pointer_;
};

}  // namespace

void add_image_tables(DeviceModule& device) {
  Module& module = *device.module;
  Tables tables(module);
  for (Variable& variable : device.variables) {
    variable.global->setLinkage(GlobalValue::InternalLinkage);
    variable.global->setExternallyInitialized(true);
  }
  std::vector<Constant*> kernels, variables, blocks;
  for (const auto* list : {&device.kernels, &device.left_out})
    for (const Kernel& kernel : *list) kernels.push_back(tables.kernel(kernel));
  for (const Variable& variable : device.variables) variables.push_back(tables.variable(variable));
  for (const kl_code_block& block : device.code_blocks)
    blocks.push_back(tables.record({tables.word(block.line), tables.word(block.column), tables.word(block.entry)}));
  Constant* image =
      tables.record({tables.wide(KL_IMAGE_MAGIC), tables.word(KL_IMAGE_VERSION), tables.word(kernels.size()),
                     tables.word(variables.size()), tables.word(device.architecture), tables.array(kernels),
                     tables.array(variables), services_global(module), tables.array(blocks),
                     device.reached ? device.reached : tables.null(), tables.word(blocks.size())});
  if (GlobalVariable* taken = module.getNamedGlobal("kernelift_image")) taken->setName("kernelift_image.user");
  new GlobalVariable(module, image->getType(), true, GlobalValue::ExternalLinkage, image, "kernelift_image");
}

}  // namespace kernelift::cpu
