# The installed package: find_package(kernelift-cpu-device) gives the targets
#   kernelift-cpu-device::lower      lower(): device IR to an image; links LLVM
#   kernelift-cpu-device::executor   LoadedImage, launch(): runs images; no LLVM
#   kernelift-cpu-device::runtime    libcudart.so.13
# and the one public header, sandbox/device/cpu/cpu_device.h, with the headers of core that it includes.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(headers ${CMAKE_INSTALL_INCLUDEDIR}/kernelift-cpu-device)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/kernelift-cpu-device)

foreach(header sandbox/device/cpu/cpu_device.h core/base/result.h core/model/launch/access_finding.h core/model/launch/field_run.h
               core/model/launch/geometry.h core/toolchain/image_abi.h)
  get_filename_component(folder ${header} DIRECTORY)
  install(FILES ${KERNELIFT_ROOT}/${header} DESTINATION ${headers}/${folder})
endforeach()
target_include_directories(kernelift_core INTERFACE $<INSTALL_INTERFACE:${headers}>)
target_compile_features(kernelift_core INTERFACE cxx_std_20)

# The runtime library's folder holds the names that build systems look for (runtime/CMakeLists.txt).
install(TARGETS kernelift_core kernelift_lower kernelift_executor kernelift_llvm kernelift_cudart
  EXPORT kernelift-cpu-device-targets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/kernelift/runtime)
install(FILES ${KERNELIFT_DATA_DIR}/runtime/libcudart.so.12 ${KERNELIFT_DATA_DIR}/runtime/libcudart_static.a
              ${KERNELIFT_DATA_DIR}/runtime/libcudadevrt.a
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/kernelift/runtime)
set_target_properties(kernelift_llvm PROPERTIES EXPORT_NAME llvm)
install(EXPORT kernelift-cpu-device-targets NAMESPACE kernelift-cpu-device:: DESTINATION ${package})

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/kernelift-cpu-device-config.cmake.in
  kernelift-cpu-device-config.cmake INSTALL_DESTINATION ${package})
write_basic_package_version_file(kernelift-cpu-device-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/kernelift-cpu-device-config.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/kernelift-cpu-device-config-version.cmake
              ${KERNELIFT_ROOT}/cmake/KerneliftStaticLLVM.cmake
  DESTINATION ${package})
