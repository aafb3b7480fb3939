# kernelift_library(NAME SOURCES... DEPS... [HEADERS common|llvm|clang|none] [SINGLY]): a static library of one room.
# kernelift_test(NAME SOURCES... DEPS... [LABELS...] [SINGLY]): a GoogleTest binary and its CTest tests.
# kernelift_bench(NAME SOURCES... DEPS...): a Google Benchmark binary, which is not a test.
# kernelift_on_request(NAMES...): programs that print figures. No test runs them, so that only the target `figures` builds
# them all.
include(GoogleTest)

# Reading headers is most of what compiling costs. They are precompiled once for each kind of source, and all targets of
# that kind share them: kernelift_precompiled(KIND HEADERS... DEPS...), used by kernelift_reuse(TARGET KIND). With
# KERNELIFT_PRECOMPILE off every source compiles from its own includes alone.
option(KERNELIFT_PRECOMPILE "Precompile the headers that most sources read" ON)
function(kernelift_precompiled kind)
  cmake_parse_arguments(A "" "" "HEADERS;DEPS;OPTIONS" ${ARGN})
  file(CONFIGURE OUTPUT precompiled_${kind}.cpp CONTENT "// Exists only for the precompiled headers of its target.\n")
  add_library(kernelift_precompiled_${kind} OBJECT ${CMAKE_CURRENT_BINARY_DIR}/precompiled_${kind}.cpp)
  target_link_libraries(kernelift_precompiled_${kind} PRIVATE kernelift_options ${A_DEPS})
  target_compile_options(kernelift_precompiled_${kind} PRIVATE ${A_OPTIONS})
  list(TRANSFORM A_HEADERS PREPEND ${KERNELIFT_ROOT}/cmake/headers/)
  target_precompile_headers(kernelift_precompiled_${kind} PRIVATE ${A_HEADERS})
endfunction()
function(kernelift_reuse name kind)
  if(KERNELIFT_PRECOMPILE)
    target_precompile_headers(${name} REUSE_FROM kernelift_precompiled_${kind})
  endif()
endfunction()
# Half of what compiling costs is optimising, which tests themselves do not need, but for those that compute much
# themselves (COMPUTES).
if(NOT KERNELIFT_SANITIZE)
  set(KERNELIFT_TEST_FLAGS $<$<CONFIG:RelWithDebInfo>:-O0>)
endif()
if(KERNELIFT_PRECOMPILE)
  kernelift_precompiled(common HEADERS common.h DEPS nlohmann_json::nlohmann_json)
  kernelift_precompiled(llvm HEADERS common.h llvm.h DEPS nlohmann_json::nlohmann_json kernelift_llvm)
  kernelift_precompiled(clang HEADERS common.h llvm.h clang.h DEPS nlohmann_json::nlohmann_json kernelift_clang)
  # Executables are compiled with other flags than libraries are, and so are their headers.
  kernelift_precompiled(test HEADERS common.h test.h DEPS nlohmann_json::nlohmann_json GTest::gmock OPTIONS -fPIE ${KERNELIFT_TEST_FLAGS})
  kernelift_precompiled(computing_test HEADERS common.h test.h DEPS nlohmann_json::nlohmann_json GTest::gmock OPTIONS -fPIE)
endif()

# Sources of one target are compiled several at once, since most of what compiling costs is repeated in each: names in
# their anonymous namespaces differ. SINGLY: not those of this target. With KERNELIFT_JOIN off every source is compiled by
# itself, as clangd and clang-tidy want it.
option(KERNELIFT_JOIN "Compile several sources of a target at once" ON)
function(kernelift_join name)
  if(KERNELIFT_JOIN)
    set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 6)
  endif()
endfunction()

function(kernelift_library name)
  cmake_parse_arguments(A "SINGLY" "HEADERS" "SOURCES;DEPS;PRIVATE_DEPS" ${ARGN})
  add_library(${name} STATIC ${A_SOURCES})
  if(NOT A_SINGLY)
    kernelift_join(${name})
  endif()
  target_link_libraries(${name} PUBLIC $<BUILD_INTERFACE:kernelift_options> ${A_DEPS} PRIVATE ${A_PRIVATE_DEPS})
  if(NOT A_HEADERS)
    kernelift_reuse(${name} common)
  elseif(NOT A_HEADERS STREQUAL none)
    kernelift_reuse(${name} ${A_HEADERS})
  endif()
endfunction()

function(kernelift_test name)
  cmake_parse_arguments(A "APART;COMPUTES;SINGLY" "TIMEOUT;PROCESSES;COST" "SOURCES;DEPS;LABELS;SUITES;INTEGRATION" ${ARGN})
  if(NOT A_TIMEOUT)
    set(A_TIMEOUT 900)  # Allows for a busy machine: no test needs a fifth of it.
  endif()
  if(NOT A_LABELS)
    set(A_LABELS unit)
  endif()
  if(NOT A_COST)
    set(A_COST 0)  # CTest then uses the duration that it measured in the last run.
  endif()
  add_executable(${name} ${A_SOURCES})
  if(NOT A_SINGLY)
    kernelift_join(${name})
  endif()
  target_link_libraries(${name} PRIVATE kernelift_options ${A_DEPS} GTest::gmock GTest::gtest_main)
  if(A_COMPUTES)
    kernelift_reuse(${name} computing_test)
  else()
    target_compile_options(${name} PRIVATE ${KERNELIFT_TEST_FLAGS})
    kernelift_reuse(${name} test)
  endif()
  # The cases of a program run in one process, so that they share what is expensive to create: precompiled headers, warm
  # workers. APART: one process per case. PROCESSES n: the cases are divided among n processes. SUITES: suites whose cases stay
  # together, because they share what SetUpTestSuite creates. INTEGRATION: suites that run a whole compiler, with that label.
  # COST: approximate seconds of a long test; the longest are started first.
  set(apart "")
  foreach(suite ${A_SUITES} ${A_INTEGRATION})
    add_test(NAME ${name}.${suite} COMMAND ${name} --gtest_filter=${suite}.*)
    list(APPEND tests ${name}.${suite})
    string(APPEND apart ":${suite}.*")
  endforeach()
  if(apart)
    string(REGEX REPLACE "^:" "-" apart "${apart}")
  else()
    set(apart "*")
  endif()
  if("gpu" IN_LIST A_LABELS)
    set_property(GLOBAL APPEND PROPERTY KERNELIFT_GPU_TESTS ${name})  # These are shipped in the bundle.
    set(A_APART TRUE)  # A fault on the GPU makes the rest of the process unusable.
  endif()
  if(A_APART)
    gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST TEST_FILTER "${apart}"
      PROPERTIES LABELS "${A_LABELS}" TIMEOUT ${A_TIMEOUT} COST ${A_COST})
  elseif(A_PROCESSES)
    math(EXPR last "${A_PROCESSES} - 1")
    foreach(index RANGE ${last})
      add_test(NAME ${name}.${index} COMMAND ${name} --gtest_filter=${apart})
      set_tests_properties(${name}.${index} PROPERTIES
        ENVIRONMENT "GTEST_TOTAL_SHARDS=${A_PROCESSES};GTEST_SHARD_INDEX=${index}")
      list(APPEND tests ${name}.${index})
    endforeach()
  else()
    add_test(NAME ${name} COMMAND ${name} --gtest_filter=${apart})
    list(APPEND tests ${name})
  endif()
  if(tests)
    set_tests_properties(${tests} PROPERTIES LABELS "${A_LABELS}" TIMEOUT ${A_TIMEOUT} COST ${A_COST})
  endif()
  foreach(suite ${A_INTEGRATION})
    set_tests_properties(${name}.${suite} PROPERTIES LABELS integration)
  endforeach()
endfunction()

add_custom_target(figures)
function(kernelift_on_request)
  set_target_properties(${ARGN} PROPERTIES EXCLUDE_FROM_ALL ON)
  add_dependencies(figures ${ARGN})
endfunction()

function(kernelift_bench name)
  cmake_parse_arguments(A "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${A_SOURCES})
  target_link_libraries(${name} PRIVATE kernelift_options ${A_DEPS} benchmark::benchmark)
  kernelift_on_request(${name})
endfunction()

# Links in the build tree reproduce the installed layout: bin/ beside lib/kernelift/{headers,clang,templates,prompts,patterns,skills,hostile,runtime}.
set(KERNELIFT_DATA_DIR ${CMAKE_BINARY_DIR}/lib/kernelift)
file(MAKE_DIRECTORY ${KERNELIFT_DATA_DIR}/runtime)
file(CREATE_LINK ${KERNELIFT_ROOT}/core/compiler/headers ${KERNELIFT_DATA_DIR}/headers SYMBOLIC)
file(CREATE_LINK ${KERNELIFT_CLANG_RESOURCE_DIR} ${KERNELIFT_DATA_DIR}/clang SYMBOLIC)
file(CREATE_LINK ${KERNELIFT_ROOT}/mep-templates ${KERNELIFT_DATA_DIR}/templates SYMBOLIC)
file(CREATE_LINK ${KERNELIFT_ROOT}/tuner/source/prompts ${KERNELIFT_DATA_DIR}/prompts SYMBOLIC)
file(CREATE_LINK ${KERNELIFT_ROOT}/tuner/inherit/shipped ${KERNELIFT_DATA_DIR}/patterns SYMBOLIC)
file(CREATE_LINK ${KERNELIFT_ROOT}/skills ${KERNELIFT_DATA_DIR}/skills SYMBOLIC)
file(CREATE_LINK ${KERNELIFT_ROOT}/tests/hostile ${KERNELIFT_DATA_DIR}/hostile SYMBOLIC)
