// Calls into the executor. Until the very end they are calls of declared functions `kl.NAME` with honest attributes
// (convergent, noreturn), so that passes can find and reason about them by name; lower_services() then turns each
// into an indirect call through the image's services table (block_context.h, kl_services).
#pragma once
#include "cmake/headers/llvm.h"

namespace kernelift::cpu {

/// In kl_services' order.
enum class Service {
  print,
  assert_fail,
  trap,
  divergent,
  allocate,
  release,
  global_timer,
  nanosleep,
  barrier,
  arrive,
  warp,
  active_mask,
  lockstep,
  yield,
  grid_sync,
  exit_thread,
  run_warps,
  grid_valid,
  check_access,
  check_barrier,
  field_load,
  field_store,
  field_load_word,
  field_store_word,
  field_touch,
  field_copy,
  field_parameter,
  field_of_bits,
  field_divide,
  field_apply,
  field_decide,
  field_constants_meant,
};

llvm::Function* service_function(llvm::Module&, Service);
llvm::CallInst* call_service(llvm::IRBuilderBase&, Service, llvm::ArrayRef<llvm::Value*> arguments);
/// Which service a call is of, if any.
bool is_service(const llvm::Instruction&, Service);
/// A form of __syncthreads(): barrier 0, of all threads.
bool is_block_barrier(const llvm::Instruction&);

/// The global in the image that the loader points at its table.
llvm::GlobalVariable* services_global(llvm::Module&);
void lower_services(llvm::Module&);

}  // namespace kernelift::cpu
