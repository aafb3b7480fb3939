// Forced in before a source that is compiled by clang against the toolkit's headers: what nvcc predeclares and clang's
// wrapper does not. Host overloads of min and max, cache-hint stores of the types its wrapper leaves out, atomic constants.
#pragma once
#include "device/toolkit_min_max.h"

// Clusters of blocks: cooperative_groups.h offers them to nvcc, and to whoever says that the intrinsics are there. clang's
// header has them.
#define _CG_CLUSTER_INTRINSICS_AVAILABLE 1

// nvcc's own atomic builtins take these; clang's take the standard memory orders, with the same meaning.
#ifndef __NV_ATOMIC_RELAXED
#define __NV_ATOMIC_RELAXED __ATOMIC_RELAXED
#define __NV_ATOMIC_CONSUME __ATOMIC_CONSUME
#define __NV_ATOMIC_ACQUIRE __ATOMIC_ACQUIRE
#define __NV_ATOMIC_RELEASE __ATOMIC_RELEASE
#define __NV_ATOMIC_ACQ_REL __ATOMIC_ACQ_REL
#define __NV_ATOMIC_SEQ_CST __ATOMIC_SEQ_CST
#define __NV_THREAD_SCOPE_SYSTEM __MEMORY_SCOPE_SYSTEM
#define __NV_THREAD_SCOPE_DEVICE __MEMORY_SCOPE_DEVICE
#define __NV_THREAD_SCOPE_BLOCK __MEMORY_SCOPE_WRKGRP
#define __NV_THREAD_SCOPE_THREAD __MEMORY_SCOPE_SINGLE
#endif
