// The key of a model's server, as the environment gives it: OPENAI_API_KEY, or a file that OPENAI_API_KEY_FILE names.
#pragma once
#include <string>

#include "core/base/result.h"
#include "tuner/source/llm/model_spec.h"

namespace kernelift::tuner {

struct ModelKey {
  std::string value;     ///< Empty: none is needed, and none is set. From now on it is shown nowhere.
  std::string variable;  ///< Where it came from, for messages.
};

/// The file is looked at if the variable itself is not set. It must be the user's or root's, nobody else's to read or
/// to write, and hold the key alone. An Error says which of that does not hold, or that a key is needed and missing. It
/// does not repeat the file's name, which may be a key that was put into the wrong variable.
Result<ModelKey> model_key(const ModelSpec& spec);

}  // namespace kernelift::tuner
