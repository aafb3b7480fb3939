// Damaged versions of a JSON artefact for tests: each value replaced by each of a list of values that a reader may fail
// on, and each member left out.
#pragma once
#include <functional>
#include <string>

#include "core/base/json.h"

namespace kernelift {

/// Calls `look` with each changed document and a text that names the changed path and the new value.
inline void for_each_leaf(const Json& sound, const std::function<void(const Json&, const std::string&)>& look) {
  const Json values = {nullptr, true,         -1,    0,  1,   255,    4294967295u,   1ull << 52,
                       ~0ull,   ~0ull - 4095, 1e300, "", "0", "\xff", Json::array(), Json::object()};
  Json changed = sound;
  std::function<void(Json&, const std::string&)> walk = [&](Json& node, const std::string& where) {
    Json was = node;
    for (auto& value : values)
      if (value != was) node = value, look(changed, where + " = " + compact(value));
    node = was;
    if (node.is_object())
      for (auto& [key, unused] : was.items()) {
        node.erase(key), look(changed, where + " without " + key);
        node = was;
        walk(node[key], where + "/" + key);
      }
    if (node.is_array())
      for (size_t i = 0; i < node.size(); ++i) walk(node[i], where + "/" + std::to_string(i));
  };
  walk(changed, "");
}

}  // namespace kernelift
