// What a proposer keeps in the run's database, so that a resumed run goes on as the sitting before would have.
#pragma once
#include <functional>
#include <map>
#include <string>

namespace kernelift::tuner {

struct KeptState {
  std::map<std::string, std::string> known = {};  ///< By key, as an earlier sitting left it.
  std::function<void(const std::string& key, const std::string& value)> keep = {};  ///< Empty: nothing is kept.

  void put(const std::string& key, const std::string& value) const {
    if (keep) keep(key, value);
  }
};

}  // namespace kernelift::tuner
