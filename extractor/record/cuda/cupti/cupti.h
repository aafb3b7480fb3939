// CUPTI, opened at run time: the recorder is built with its headers and runs with whatever version the machine has. The
// application's own copy is used when it has one loaded (Python packages bring theirs): two copies in one process would
// be two profilers.
#pragma once
#include <cupti.h>

#include <string>

#include "core/base/result.h"

// clang-format off
#define KL_CUPTI_FUNCTIONS(X)                                                                            \
  X(cuptiSubscribe) X(cuptiUnsubscribe) X(cuptiEnableCallback) X(cuptiGetCallbackName)                   \
  X(cuptiGetResultString) X(cuptiActivityRegisterCallbacks) X(cuptiActivityEnable)                       \
  X(cuptiActivityDisable) X(cuptiActivityFlushAll) X(cuptiActivityGetNextRecord) X(cuptiActivityFlushPeriod)
// clang-format on

namespace kernelift {

struct Cupti {
#define KL_CUPTI_MEMBER(name) decltype(&::name) name = nullptr;
  KL_CUPTI_FUNCTIONS(KL_CUPTI_MEMBER)
#undef KL_CUPTI_MEMBER
  void* cuptiSubscribe_v2 = nullptr;  ///< Null before CUDA 13; only others call it.

  /// `path` is the library that the verb found.
  static Result<Cupti> open(const std::string& path);
  std::string text(CUptiResult result) const;
  /// Whether somebody in this process has asked for activity records. Whoever asks next gets all of them: CUPTI takes
  /// them from the one before without a word.
  bool records_are_taken() const;
  /// `tell` is called before anybody next takes CUPTI for himself. False: not in every case.
  bool before_others_use_it(void (*tell)()) const;
};

}  // namespace kernelift
