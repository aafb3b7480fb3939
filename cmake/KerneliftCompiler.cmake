# Language level, warnings, linker and sanitizers for our own code.
# The tree's root: not CMAKE_SOURCE_DIR where a folder of it is configured by itself (sandbox/device/cpu).
get_filename_component(KERNELIFT_ROOT ${CMAKE_CURRENT_LIST_DIR} DIRECTORY)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_PCH_INSTANTIATE_TEMPLATES ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()
# RelWithDebInfo is for developing on small machines, hence -O1 with line tables only; Release is -O2.
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1 -gline-tables-only")
set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O1 -gline-tables-only")
set(CMAKE_CXX_FLAGS_RELEASE "-O2")
set(CMAKE_C_FLAGS_RELEASE "-O2")

option(KERNELIFT_WERROR "Treat warnings as errors" ON)
set(KERNELIFT_SANITIZE "" CACHE STRING "Sanitizers for Kernelift's own code, e.g. address,undefined or thread")

add_library(kernelift_options INTERFACE)
target_compile_options(kernelift_options INTERFACE -Wall -Wextra -Wno-unused-parameter
  -ffunction-sections -fdata-sections $<$<BOOL:${KERNELIFT_WERROR}>:-Werror>)
target_include_directories(kernelift_options INTERFACE ${KERNELIFT_ROOT})
target_link_options(kernelift_options INTERFACE -fuse-ld=lld -Wl,--gc-sections)
if(KERNELIFT_SANITIZE)
  # std::stable_sort uses a function that its own library marks as deprecated; with sanitizers clang warns about it.
  target_compile_options(kernelift_options INTERFACE -fsanitize=${KERNELIFT_SANITIZE} -fno-omit-frame-pointer
    -Wno-deprecated-declarations)
  target_link_options(kernelift_options INTERFACE -fsanitize=${KERNELIFT_SANITIZE})
else()
  # Clusters have an older C++ library, so libstdc++ is linked statically. (libgcc_s exists everywhere, and its static version
  # requires glibc 2.35.)
  target_link_options(kernelift_options INTERFACE -static-libstdc++)
endif()

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  # With precompiled headers, ccache needs pch_defines and a lenient time check to have any hits.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      CCACHE_BASEDIR=${KERNELIFT_ROOT} ${CCACHE_PROGRAM})
  set(CMAKE_C_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
endif()
