// Members of JSON that other programs wrote: a missing member, or one of another type, reads as "" or 0. Our own
// artefacts are read with at(), which reports what they lack.
#pragma once
#include <string>

#include "core/base/json.h"

namespace kernelift {

inline std::string text_member(const Json& object, const char* key) {
  auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

inline double number_member(const Json& object, const char* key) {
  auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<double>() : 0.0;
}

}  // namespace kernelift
