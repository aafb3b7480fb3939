# What makes the binaries of a build run on another machine, and the target that packs them.
#   - Libraries a bare node lacks are linked from their static archives (SQLite, zstd, zlib, seccomp, xxHash), opened at run
#     time (libcurl, wanted by --llm alone), never reached (Z3, see portable.cpp) or, where Debian has no archive (oneTBB),
#     carried in lib/kernelift/runtime, where the run paths below look first.
#   - `ninja bundle` makes kernelift-<version>-linux-x86_64.tar.xz by scripts/bundle and refuses one above its limit.
# The recorders' own, older, C library is their rooms' concern and is tested there and in tests/gpu.
set(KERNELIFT_BUNDLE_LIMIT_MIB 40)  # What a user fetches over a cluster's login node without thinking about it.

function(kernelift_take_archive target archive)
  find_library(${archive}_PATH ${archive} NO_CACHE)
  if(NOT TARGET ${target} OR NOT ${archive}_PATH)
    return()
  endif()
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "INTERFACE_LIBRARY")
    # pkg-config's targets name the shared library in their interface.
    set_target_properties(${target} PROPERTIES INTERFACE_LINK_LIBRARIES "${${archive}_PATH}")
  else()
    set_target_properties(${target} PROPERTIES IMPORTED_LOCATION "${${archive}_PATH}")
    foreach(configuration NOCONFIG NONE RELEASE RELWITHDEBINFO)
      set_target_properties(${target} PROPERTIES IMPORTED_LOCATION_${configuration} "${${archive}_PATH}")
    endforeach()
  endif()
endfunction()
kernelift_take_archive(ZLIB::ZLIB libz.a)
kernelift_take_archive(zstd::libzstd_shared libzstd.a)
kernelift_take_archive(SQLite::SQLite3 libsqlite3.a)
kernelift_take_archive(PkgConfig::ZSTD libzstd.a)
kernelift_take_archive(PkgConfig::XXHASH libxxhash.a)
kernelift_take_archive(PkgConfig::SECCOMP libseccomp.a)

# Ahead of LLVM's archives on every link line, so that its definitions win.
add_library(kernelift_portable STATIC ${CMAKE_SOURCE_DIR}/cmake/portable.cpp)
target_include_directories(kernelift_portable SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS})
target_link_libraries(kernelift_portable PRIVATE kernelift_options)
get_target_property(libraries kernelift_llvm INTERFACE_LINK_LIBRARIES)
set_property(TARGET kernelift_llvm PROPERTY INTERFACE_LINK_LIBRARIES kernelift_portable ${libraries})

# When every room has defined its targets: the run paths, and the archive itself.
function(kernelift_define_bundle)
  # These run paths and no others: nothing names the machine that built them.
  set_target_properties(kernelift PROPERTIES BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN/../lib/kernelift/runtime")
  set_target_properties(kernelift_cudart PROPERTIES BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN")
  set(archive ${CMAKE_BINARY_DIR}/kernelift-${PROJECT_VERSION}-linux-x86_64.tar.xz)
  get_property(tests GLOBAL PROPERTY KERNELIFT_GPU_TESTS)
  list(TRANSFORM tests PREPEND "--gpu-test;" OUTPUT_VARIABLE options)
  add_custom_target(bundle
    COMMAND ${CMAKE_SOURCE_DIR}/scripts/bundle --limit-mib ${KERNELIFT_BUNDLE_LIMIT_MIB} ${options} ${CMAKE_BINARY_DIR} ${archive}
    DEPENDS kernelift ${tests} USES_TERMINAL VERBATIM
    COMMENT "Packing ${archive}")
endfunction()
cmake_language(DEFER CALL kernelift_define_bundle)
