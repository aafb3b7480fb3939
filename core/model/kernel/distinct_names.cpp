// See distinct_names.h.
#include "core/model/kernel/distinct_names.h"

#include "core/model/kernel_key.h"

namespace kernelift {
namespace {

void own(std::map<std::string, std::string, std::less<>>& owners, std::string name, const std::string& key) {
  auto [owner, is_new] = owners.try_emplace(std::move(name), key);
  if (!is_new && owner->second != key) owner->second.clear();
}

}  // namespace

DistinctNames::DistinctNames(const std::vector<std::string>& keys) {
  for (auto& key : keys) own(shown_, shown_name(key), key), own(qualified_, qualified_name(key), key);
}

std::string DistinctNames::of(std::string_view key) const {
  auto is_free = [&](const Owners& owners, const std::string& name) {
    auto owner = owners.find(name);
    return owner == owners.end() || owner->second == key;
  };
  if (std::string shown = shown_name(key); is_free(shown_, shown)) return shown;
  if (std::string qualified = qualified_name(key); is_free(qualified_, qualified)) return qualified;
  return std::string(key);
}

}  // namespace kernelift
