# What the whole tree's top level provides, for the CPU device as a project by itself: options, packages, LLVM, and
# kernelift_core made of the four sources of core that the device and its users call. Every source compiles without
# precompiled headers, so that none depends on an include that it does not name.
list(APPEND CMAKE_MODULE_PATH ${CMAKE_CURRENT_LIST_DIR}/../../../../cmake)
set(KERNELIFT_PRECOMPILE OFF)
set(Boost_USE_STATIC_LIBS ON)  # The runtime lives in other people's processes.

find_package(Threads REQUIRED)
find_package(TBB REQUIRED)
find_package(Boost 1.74 REQUIRED COMPONENTS context)
set(BOOST_CONTEXT_STATIC Boost::context)
if(KERNELIFT_CPU_DEVICE_TESTS)
  find_package(GTest REQUIRED)
  find_package(benchmark REQUIRED)
endif()

include(KerneliftCompiler)
include(KerneliftLLVM)
include(KerneliftTargets)
enable_testing()

# hash.cpp takes xxHash as a header.
kernelift_library(kernelift_core
  SOURCES ${KERNELIFT_ROOT}/core/base/file.cpp ${KERNELIFT_ROOT}/core/base/hash.cpp
          ${KERNELIFT_ROOT}/core/model/launch/access_finding.cpp ${KERNELIFT_ROOT}/core/toolchain/fat_blob.cpp)
set_target_properties(kernelift_core PROPERTIES EXPORT_NAME core)

if(KERNELIFT_CPU_DEVICE_TESTS)
  # The tests compile CUDA text with the front end of core's compiler.
  kernelift_library(kernelift_frontend
    SOURCES ${KERNELIFT_ROOT}/core/base/process.cpp ${KERNELIFT_ROOT}/core/compiler/clang_job.cpp
            ${KERNELIFT_ROOT}/core/compiler/frontend.cpp ${KERNELIFT_ROOT}/core/compiler/paths.cpp
            ${KERNELIFT_ROOT}/core/compiler/precompiled.cpp
    DEPS kernelift_core kernelift_clang)
  # Core's sources count on the precompiled headers.
  target_precompile_headers(kernelift_frontend PRIVATE
    ${KERNELIFT_ROOT}/cmake/headers/llvm.h ${KERNELIFT_ROOT}/cmake/headers/clang.h)
endif()
