# Static LLVM and Clang 22. Targets that need them link kernelift_llvm (IR, code generation, lld) or
# kernelift_clang (front end and tooling as well).
find_package(LLVM 22.1 REQUIRED CONFIG HINTS /usr/lib/llvm-22)
find_package(Clang 22.1 REQUIRED CONFIG HINTS /usr/lib/llvm-22)
find_package(LLD 22.1 REQUIRED CONFIG HINTS /usr/lib/llvm-22)

llvm_map_components_to_libnames(KERNELIFT_LLVM_LIBS
  Core Support IRReader BitReader BitWriter Linker Passes ipo Vectorize TransformUtils Analysis Target
  TargetParser CodeGen AsmParser Demangle Object MC Option LTO DebugInfoDWARF ProfileData Coverage
  FrontendDriver FrontendOpenMP FrontendHLSL FrontendOffloading WindowsDriver
  X86CodeGen X86AsmParser X86Desc X86Info NVPTXCodeGen NVPTXDesc NVPTXInfo
  AMDGPUCodeGen AMDGPUAsmParser AMDGPUDesc AMDGPUInfo OrcJIT)

include(KerneliftStaticLLVM)
kernelift_link_llvm_statically(${CLANG_EXPORTED_TARGETS} ${LLD_EXPORTED_TARGETS})

add_library(kernelift_llvm INTERFACE)
target_include_directories(kernelift_llvm SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS})
target_link_libraries(kernelift_llvm INTERFACE lldELF lldCommon ${KERNELIFT_LLVM_LIBS})
target_link_directories(kernelift_llvm INTERFACE ${LLVM_LIBRARY_DIR})
# Libraries that LLVM's exported targets list but Kernelift never uses (Z3, libedit) must not be required on other machines.
target_link_options(kernelift_llvm INTERFACE -Wl,--as-needed)

add_library(kernelift_clang INTERFACE)
target_link_libraries(kernelift_clang INTERFACE
  clangTooling clangToolingCore clangASTMatchers clangRewrite clangFrontend clangFrontendTool clangCodeGen clangDriver
  clangSerialization clangSema clangParse clangAST clangLex clangBasic kernelift_llvm)

set(KERNELIFT_CLANG_RESOURCE_DIR ${LLVM_LIBRARY_DIR}/clang/22)

# isl comes with Polly, as an archive without its C headers; Debian's libisl-dev has those.
find_path(KERNELIFT_ISL_HEADERS isl/set.h REQUIRED)
add_library(kernelift_isl INTERFACE)
target_include_directories(kernelift_isl SYSTEM INTERFACE ${KERNELIFT_ISL_HEADERS} ${LLVM_INCLUDE_DIRS})
target_link_libraries(kernelift_isl INTERFACE ${LLVM_LIBRARY_DIR}/libPollyISL.a)
