// Types and loads of the block context. Loads from the block are marked invariant: nothing in it changes while the
// block runs. Loads from the thread are not: a loop over threads rewrites that struct in every iteration, and an
// invariant load could be hoisted above the rewrite.
#include "sandbox/device/cpu/lower/context_layout.h"

namespace kernelift::cpu {

using namespace llvm;

namespace {

StructType* named_struct(LLVMContext& context, StringRef name, ArrayRef<Type*> fields) {
  if (StructType* known = StructType::getTypeByName(context, name)) return known;
  return StructType::create(context, fields, name);
}

LoadInst* load_field(IRBuilderBase& builder, StructType* type, Value* base, unsigned field, const char* name) {
  return builder.CreateLoad(type->getElementType(field), builder.CreateStructGEP(type, base, field), name);
}

}  // namespace

StructType* thread_type(LLVMContext& context) {
  Type* i32 = Type::getInt32Ty(context);
  return named_struct(context, "kl_thread", {PointerType::get(context, 0), i32, i32, i32, i32});
}

StructType* block_type(LLVMContext& context) {
  Type* i32 = Type::getInt32Ty(context);
  Type* pointer = PointerType::get(context, 0);
  return named_struct(context, "kl_block",
                      {pointer, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, pointer, pointer, pointer,
                       Type::getInt64Ty(context), pointer, Type::getInt64Ty(context), pointer, pointer});
}

Value* load_thread_field(IRBuilderBase& builder, Value* thread, unsigned field) {
  static const char* const kNames[] = {"block", "tid.x", "tid.y", "tid.z", "linear"};
  return load_field(builder, thread_type(builder.getContext()), thread, field, kNames[field]);
}

Value* load_block_field(IRBuilderBase& builder, Value* block, unsigned field) {
  LoadInst* load = load_field(builder, block_type(builder.getContext()), block, field, "");
  load->setMetadata(LLVMContext::MD_invariant_load, MDNode::get(builder.getContext(), {}));
  return load;
}

Value* block_field_of(IRBuilderBase& builder, Value* thread, unsigned field) {
  return load_block_field(builder, load_thread_field(builder, thread, ThreadField::block), field);
}

}  // namespace kernelift::cpu
