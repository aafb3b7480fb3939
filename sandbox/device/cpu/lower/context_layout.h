// block_context.h as LLVM sees it: field numbers of kl_thread and kl_block, and the struct types themselves. Loads of
// a block's fields are invariant while a kernel runs, and say so, so that the optimiser hoists them out of every loop.
#pragma once
#include "cmake/headers/llvm.h"

namespace kernelift::cpu {

struct ThreadField {
  enum { block, tid_x, tid_y, tid_z, linear };
};
struct BlockField {
  enum {
    launch,
    ctaid_x,
    ctaid_y,
    ctaid_z,
    ntid_x,
    ntid_y,
    ntid_z,
    nctaid_x,
    nctaid_y,
    nctaid_z,
    processor,
    shared,
    dynamic_shared,
    frame,
    frame_stride,
    current,
    moment,
    moments,
    shared_shadow,
  };
};

llvm::StructType* thread_type(llvm::LLVMContext&);
llvm::StructType* block_type(llvm::LLVMContext&);

/// Loads a field through a pointer to a thread or a block.
llvm::Value* load_thread_field(llvm::IRBuilderBase&, llvm::Value* thread, unsigned field);
llvm::Value* load_block_field(llvm::IRBuilderBase&, llvm::Value* block, unsigned field);
/// Through the thread to its block.
llvm::Value* block_field_of(llvm::IRBuilderBase&, llvm::Value* thread, unsigned field);

}  // namespace kernelift::cpu
