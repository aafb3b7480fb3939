/* Simulates CUPTI on a machine where only root may read counters: every call that needs the hardware reports
   insufficient privileges. */
// clang-format off
enum { kInsufficientPrivileges = 35 };
#define REFUSES(name) \
  int name(void* parameters) { return (void)parameters, kInsufficientPrivileges; }
REFUSES(cuptiProfilerInitialize)
REFUSES(cuptiProfilerDeInitialize)
REFUSES(cuptiDeviceGetChipName)
REFUSES(cuptiProfilerGetCounterAvailability)
REFUSES(cuptiProfilerHostInitialize)
REFUSES(cuptiProfilerHostDeinitialize)
REFUSES(cuptiProfilerHostConfigAddMetrics)
REFUSES(cuptiProfilerHostGetConfigImageSize)
REFUSES(cuptiProfilerHostGetConfigImage)
REFUSES(cuptiProfilerHostGetNumOfPasses)
REFUSES(cuptiProfilerHostEvaluateToGpuValues)
REFUSES(cuptiRangeProfilerEnable)
REFUSES(cuptiRangeProfilerDisable)
REFUSES(cuptiRangeProfilerGetCounterDataSize)
REFUSES(cuptiRangeProfilerCounterDataImageInitialize)
REFUSES(cuptiRangeProfilerSetConfig)
REFUSES(cuptiRangeProfilerStart)
REFUSES(cuptiRangeProfilerStop)
REFUSES(cuptiRangeProfilerPushRange)
REFUSES(cuptiRangeProfilerPopRange)
REFUSES(cuptiRangeProfilerDecodeData)
REFUSES(cuptiRangeProfilerGetCounterDataInfo)
// clang-format on
int cuptiGetResultString(int result, const char** text) { return (void)result, *text = "not permitted", 0; }
