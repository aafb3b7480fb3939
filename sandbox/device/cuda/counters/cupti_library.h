// CUPTI, opened at run time and once per process. Functions are looked up by name, because versions differ in the
// functions that they have.
#pragma once
#include <cupti_result.h>

#include <filesystem>
#include <string>

#include "core/base/result.h"

namespace kernelift::sandbox {

class CuptiLibrary {
 public:
  /// An Error lists the folders that were searched and says how to get CUPTI.
  static Result<const CuptiLibrary*> open();

  template <class F>
  Status look_up(const char* name, F& function) const {
    function = reinterpret_cast<F>(symbol(name));
    if (function) return done();
    return environment_error(path_.string() + " is too old: it has no " + name + "; CUDA 12.6 or newer has it");
  }
  /// An Error "CUPTI cannot WHAT: why" unless `result` is success.
  Status check(CUptiResult result, const char* what) const;

 private:
  void* symbol(const char* name) const;
  std::filesystem::path path_;
  void* handle_ = nullptr;
};

}  // namespace kernelift::sandbox
