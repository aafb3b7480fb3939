# kernelift_link_llvm_statically(TARGETS...): imported clang and lld libraries depend on LLVM's archives. Debian's exports
# name the shared libLLVM as their dependency, and two LLVMs in one process corrupt each other's globals. Installed with
# the CPU device's package, whose users import lld too.
function(kernelift_link_llvm_statically)
  foreach(target IN LISTS ARGN)
    if(NOT TARGET ${target})
      continue()
    endif()
    get_target_property(libraries ${target} INTERFACE_LINK_LIBRARIES)
    if(libraries)
      list(TRANSFORM libraries REPLACE "^(\\\\\\$<LINK_ONLY:)?LLVM>?$" "")
      list(REMOVE_ITEM libraries LLVM "")
      set_target_properties(${target} PROPERTIES INTERFACE_LINK_LIBRARIES "${libraries}")
    endif()
  endforeach()
endfunction()
