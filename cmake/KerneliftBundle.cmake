# Makes the binaries of a build run on other machines, and defines how they are installed and the target that packs them.
#   - Libraries that a bare node lacks are linked from static archives (SQLite, zstd, zlib, seccomp, xxHash), opened at run
#     time (libcurl, needed only for --llm), replaced by stubs (Z3, see portable.cpp) or, if Debian has no static archive
#     (oneTBB), shipped in lib/kernelift/runtime, which the run paths below search first.
#   - `cmake --install` copies what scripts/stage does, and the documents.
#   - `ninja bundle` creates kernelift-<version>-linux-x86_64.tar.xz by scripts/bundle, which fails above the size limit.
# The recorders require an older C library; their rooms take care of that, and tests/gpu/old_enough checks it.
set(KERNELIFT_BUNDLE_LIMIT_MIB 40)  # Small enough to download through a cluster's login node without a second thought.

function(kernelift_take_archive target archive)
  find_library(${archive}_PATH ${archive} NO_CACHE)
  if(NOT TARGET ${target} OR NOT ${archive}_PATH)
    return()
  endif()
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "INTERFACE_LIBRARY")
    # Targets made by pkg-config name the shared library in their interface.
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

# Comes before LLVM's archives on every link line, so that its definitions take precedence.
add_library(kernelift_portable STATIC ${CMAKE_SOURCE_DIR}/cmake/portable.cpp)
target_include_directories(kernelift_portable SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS})
target_link_libraries(kernelift_portable PRIVATE kernelift_options)
get_target_property(libraries kernelift_llvm INTERFACE_LINK_LIBRARIES)
set_property(TARGET kernelift_llvm PROPERTY INTERFACE_LINK_LIBRARIES kernelift_portable ${libraries})

# Called after every room has defined its targets: sets the run paths and defines the target bundle.
function(kernelift_define_bundle)
  # Only these run paths: no path of the machine that built the binaries.
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

include(GNUInstallDirs)
install(CODE "execute_process(COMMAND \"${CMAKE_SOURCE_DIR}/scripts/stage\" \"${CMAKE_BINARY_DIR}\" \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}\" COMMAND_ERROR_IS_FATAL ANY)")
install(FILES README.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs examples DESTINATION ${CMAKE_INSTALL_DOCDIR})
