// What kernels of one list are called in tables: each by the shortest name that tells it from all others of the list.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace kernelift {

class DistinctNames {
 public:
  /// Keys as canonical_key() makes them; one that occurs several times counts once.
  explicit DistinctNames(const std::vector<std::string>& keys);
  /// The shown name, else the qualified one, else the key: the first that no other key of the list has.
  std::string of(std::string_view key) const;

 private:
  /// By name, its key; empty: of several keys.
  using Owners = std::map<std::string, std::string, std::less<>>;
  Owners shown_, qualified_;
};

}  // namespace kernelift
