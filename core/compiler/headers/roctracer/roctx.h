// ROC-TX without a profiler: ranges and marks say nothing.
#pragma once
#include <stdint.h>
typedef uint64_t roctx_range_id_t;
#define roctxMark(message) ((void)(message))
#define roctxMarkA(message) ((void)(message))
static inline int roctxRangePush(const char* message) { return (void)message, 0; }
static inline int roctxRangePushA(const char* message) { return (void)message, 0; }
static inline int roctxRangePop(void) { return 0; }
static inline roctx_range_id_t roctxRangeStart(const char* message) { return (void)message, 0; }
static inline void roctxRangeStop(roctx_range_id_t id) { (void)id; }
