// What servers' models cost: a file that the user keeps, since prices change and depend on contracts.
//     {"currency": "USD", "tokens": 1000000, "models": {"NAME": {"input": 1.25, "output": 10}}}
#pragma once
#include <filesystem>
#include <map>
#include <string>

#include "core/base/result.h"
#include "tuner/source/llm/model_spec.h"

namespace kernelift::tuner {

struct ModelPrice {
  double input = 0, output = 0;  ///< Of one token.
  double of(int64_t input_tokens, int64_t output_tokens) const {
    return input * static_cast<double>(input_tokens) + output * static_cast<double>(output_tokens);
  }
};

class PriceTable {
 public:
  /// A usage Error names the file and what is wrong with it.
  static Result<PriceTable> read(const std::filesystem::path& file);
  /// By the model's name. A server's model that is not in the table is a usage Error, which lists those that are; a
  /// program, a folder and recorded answers cost nothing.
  Result<ModelPrice> price(const ModelSpec& spec) const;
  const std::string& currency() const { return currency_; }

 private:
  std::filesystem::path file_;
  std::string currency_;
  std::map<std::string, ModelPrice> prices_;
};

}  // namespace kernelift::tuner
