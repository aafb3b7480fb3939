// CUPTI, opened at run time and once per process. Who needs functions of it names them: versions differ in what they
// have.
#pragma once
#include <cupti_result.h>

#include <filesystem>
#include <string>

#include "core/base/result.h"

namespace kernelift {

class CuptiLibrary {
 public:
  /// An Error says where it was looked for and how to get it.
  static Result<const CuptiLibrary*> open();

  template <class F>
  Status look_up(const char* name, F& function) const {
    function = reinterpret_cast<F>(symbol(name));
    if (function) return done();
    return environment_error(path_.string() + " is too old: it has no " + name + "; CUDA 12.6 or newer has it");
  }
  /// "CUPTI cannot WHAT: why"
  Status check(CUptiResult result, const char* what) const;

 private:
  void* symbol(const char* name) const;
  std::filesystem::path path_;
  void* handle_ = nullptr;
};

}  // namespace kernelift
