// isl's state, with a bounded number of operations: what takes more fails, and is null from then on.
#pragma once
#include <isl/ctx.h>
#include <isl/options.h>
#include <polly/isl/isl-noexceptions.h>

namespace kernelift::legality {

class BoundedContext {
 public:
  explicit BoundedContext(unsigned long operations) : context_(isl_ctx_alloc()) {
    isl_options_set_on_error(context_, ISL_ON_ERROR_CONTINUE);
    isl_ctx_set_max_operations(context_, operations);
  }
  ~BoundedContext() { isl_ctx_free(context_); }
  BoundedContext(const BoundedContext&) = delete;
  BoundedContext& operator=(const BoundedContext&) = delete;
  isl::ctx get() const { return isl::ctx(context_); }

 private:
  isl_ctx* context_;
};

}  // namespace kernelift::legality
