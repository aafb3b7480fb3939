// Models of kernels (core/model/kernel), made by compile workers. Those that were used last are kept.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>

#include "core/base/hash.h"
#include "core/model/kernel/kernel_model.h"
#include "core/model/launch/geometry.h"
#include "sandbox/compile/compile_pool.h"

namespace kernelift::sandbox {

class KernelModels {
 public:
  using Modelled = Result<std::shared_ptr<const KernelModel>>;

  /// EXPECTS: `pool` outlives this.
  explicit KernelModels(CompilePool& pool) : pool_(pool) {}

  /// `kernel`: as clang mangles it, or by its name in the source. Thread-safe; some ten milliseconds for a text that is
  /// new. Errors: the front end's, and a kernel that is not in the text; they are kept, too.
  Modelled of(const std::string& source, const std::string& kernel, const Dim3& block);
  size_t kept() const;

  /// The original's at its blocks, and those of the candidates that are asked about side by side; a large kernel's
  /// takes megabytes.
  static constexpr size_t kMostKept = 32;

 private:
  struct Kept {
    Modelled model;
    uint64_t used = 0;
  };

  CompilePool& pool_;
  mutable std::mutex mutex_;
  std::map<std::tuple<Hash, std::string, Dim3>, Kept> kept_;  ///< By source, kernel and block.
  uint64_t uses_ = 0;
};

}  // namespace kernelift::sandbox
