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

namespace kernelift::record {

/// Why a process is not recorded in which somebody else was first.
inline constexpr const char* kCuptiIsTaken =
    "the application, or another tool, uses CUPTI already, and there can be one only";

struct Cupti {
#define KL_CUPTI_MEMBER(name) decltype(&::name) name = nullptr;
  KL_CUPTI_FUNCTIONS(KL_CUPTI_MEMBER)
#undef KL_CUPTI_MEMBER
  void* cuptiSubscribe_v2 = nullptr;  ///< Null before CUDA 13; only others call it.

  /// `path` is the library that the verb found.
  static Result<Cupti> open(const std::string& path);
  std::string text(CUptiResult result) const;
  /// As cuptiActivityRegisterCallbacks, which takes the records from whoever had them without a word. Refused, and they
  /// are his again, if somebody had. That cannot be asked: it is seen by what stood where CUPTI keeps ours.
  Status take_records(CUpti_BuffersCallbackRequestFunc request, CUpti_BuffersCallbackCompleteFunc complete) const;
  /// `tell` is called before anybody next takes CUPTI for himself. False: not in every case.
  bool before_others_use_it(void (*tell)()) const;
};

}  // namespace kernelift::record
