# Finds NVIDIA's headers. No CUDA library is linked: libcuda, CUPTI, NVML and nvJitLink are opened at run time, so one binary
# works on machines with and without them. Code that needs their declarations is built only if(KERNELIFT_CUDA); without the
# headers everything else is built, and `doctor` reports what is missing.
find_path(KERNELIFT_CUDA_INCLUDE cuda.h HINTS $ENV{CUDA_PATH}/include $ENV{CUDA_HOME}/include /usr/local/cuda/include)
find_path(KERNELIFT_CUPTI_INCLUDE cupti.h HINTS ${KERNELIFT_CUDA_INCLUDE}
  ${KERNELIFT_CUDA_INCLUDE}/../extras/CUPTI/include)
set(KERNELIFT_CUDA FALSE)
if(KERNELIFT_CUDA_INCLUDE AND KERNELIFT_CUPTI_INCLUDE)
  file(STRINGS ${KERNELIFT_CUDA_INCLUDE}/cuda.h KERNELIFT_CUDA_VERSION_LINE REGEX "^#define CUDA_VERSION [0-9]+")
  string(REGEX MATCH "[0-9]+" KERNELIFT_CUDA_VERSION "${KERNELIFT_CUDA_VERSION_LINE}")
  if(KERNELIFT_CUDA_VERSION VERSION_GREATER_EQUAL 13000)
    set(KERNELIFT_CUDA TRUE)
    add_library(kernelift_cuda_headers INTERFACE)
    target_include_directories(kernelift_cuda_headers SYSTEM INTERFACE
      ${KERNELIFT_CUDA_INCLUDE} ${KERNELIFT_CUPTI_INCLUDE})
    target_compile_definitions(kernelift_cuda_headers INTERFACE KERNELIFT_CUDA=1)
  endif()
endif()
if(NOT KERNELIFT_CUDA)
  message(STATUS "No CUDA 13 headers with CUPTI: building without the NVIDIA recorder and the CUDA device")
endif()
