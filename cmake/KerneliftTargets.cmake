# kernelift_library(NAME SOURCES... DEPS...): a static library of one room.
# kernelift_test(NAME SOURCES... DEPS... [LABELS...]): a GoogleTest binary, each case a CTest test.
# kernelift_bench(NAME SOURCES... DEPS...): a Google Benchmark binary, never a test.
include(GoogleTest)

function(kernelift_library name)
  cmake_parse_arguments(A "" "" "SOURCES;DEPS;PRIVATE_DEPS" ${ARGN})
  add_library(${name} STATIC ${A_SOURCES})
  target_link_libraries(${name} PUBLIC kernelift_options ${A_DEPS} PRIVATE ${A_PRIVATE_DEPS})
endfunction()

function(kernelift_test name)
  cmake_parse_arguments(A "" "TIMEOUT" "SOURCES;DEPS;LABELS;SUITES" ${ARGN})
  if(NOT A_TIMEOUT)
    set(A_TIMEOUT 120)
  endif()
  if(NOT A_LABELS)
    set(A_LABELS unit)
  endif()
  add_executable(${name} ${A_SOURCES})
  target_link_libraries(${name} PRIVATE kernelift_options ${A_DEPS} GTest::gmock GTest::gtest_main)
  # SUITES: those that share something dear to set up. Each runs in one process; all other tests have one of their own.
  set(apart "")
  foreach(suite ${A_SUITES})
    add_test(NAME ${suite} COMMAND ${name} --gtest_filter=${suite}.*)
    set_tests_properties(${suite} PROPERTIES LABELS "${A_LABELS}" TIMEOUT ${A_TIMEOUT})
    string(APPEND apart ":${suite}.*")
  endforeach()
  if(apart)
    string(REGEX REPLACE "^:" "-" apart "${apart}")
    set(apart TEST_FILTER "${apart}")
  endif()
  if("gpu" IN_LIST A_LABELS)
    set_property(GLOBAL APPEND PROPERTY KERNELIFT_GPU_TESTS ${name})  # These travel in the bundle.
  endif()
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST ${apart} PROPERTIES LABELS "${A_LABELS}" TIMEOUT ${A_TIMEOUT})
endfunction()

function(kernelift_bench name)
  cmake_parse_arguments(A "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${A_SOURCES})
  target_link_libraries(${name} PRIVATE kernelift_options ${A_DEPS} benchmark::benchmark)
endfunction()

# Precompiles the LLVM headers that nearly every LLVM-facing source includes; one set per target.
function(kernelift_llvm_headers name)
  target_precompile_headers(${name} PRIVATE ${CMAKE_SOURCE_DIR}/cmake/llvm_headers.h)
endfunction()
function(kernelift_clang_headers name)
  target_precompile_headers(${name} PRIVATE ${CMAKE_SOURCE_DIR}/cmake/llvm_headers.h
    ${CMAKE_SOURCE_DIR}/cmake/clang_headers.h)
endfunction()

# The installed layout, made in the build tree by links: bin/ beside lib/kernelift/{headers,clang,templates,prompts,runtime}.
set(KERNELIFT_DATA_DIR ${CMAKE_BINARY_DIR}/lib/kernelift)
file(MAKE_DIRECTORY ${KERNELIFT_DATA_DIR}/runtime)
file(CREATE_LINK ${CMAKE_SOURCE_DIR}/sandbox/headers ${KERNELIFT_DATA_DIR}/headers SYMBOLIC)
file(CREATE_LINK ${KERNELIFT_CLANG_RESOURCE_DIR} ${KERNELIFT_DATA_DIR}/clang SYMBOLIC)
file(CREATE_LINK ${CMAKE_SOURCE_DIR}/mep-templates ${KERNELIFT_DATA_DIR}/templates SYMBOLIC)
file(CREATE_LINK ${CMAKE_SOURCE_DIR}/tuner/source/prompts ${KERNELIFT_DATA_DIR}/prompts SYMBOLIC)
