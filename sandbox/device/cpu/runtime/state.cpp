// The singleton, and the one helper that everybody who explains an error needs.
#include "sandbox/device/cpu/runtime/state.h"

#include <cxxabi.h>

#include <cstdlib>

namespace kernelift::cudart {

State& state() {
  static State& only = *new State;
  return only;
}

std::string demangled(const std::string& name) {
  int status = 0;
  char* text = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
  std::string result = status == 0 && text ? text : name;
  std::free(text);
  return result;
}

}  // namespace kernelift::cudart
