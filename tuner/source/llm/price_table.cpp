// See price_table.h.
#include "tuner/source/llm/price_table.h"

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/shown/outside_text.h"

namespace kernelift::tuner {
namespace {

constexpr size_t kShownName = 60, kShownNames = 400;

/// The price that a member of a model's entry gives.
Result<double> price_of(const Json& entry, const char* key, const std::string& where) {
  auto found = entry.find(key);
  if (found == entry.end() || !found->is_number() || found->get<double>() < 0)
    return usage_error(where + " lacks '" + key + "', a number that is not negative");
  return found->get<double>();
}

}  // namespace

Result<PriceTable> PriceTable::read(const std::filesystem::path& file) {
  auto text = read_text(file);
  if (!text.ok()) return usage_error("the price table cannot be read: " + text.error().message);
  auto json = parse_json(*text, "the price table " + file.string());
  if (!json.ok()) return usage_error(json.error().message);
  const std::string where = "the price table " + file.string();
  PriceTable table;
  table.file_ = file;
  for (auto* key : {"currency", "tokens", "models"})
    if (!json->is_object() || !json->contains(key))
      return usage_error(where + " lacks '" + key +
                         R"('; it looks like {"currency": "USD", "tokens": 1000000, "models": {"NAME": {"input": 1, )" +
                         R"("output": 4}}})");
  if (!(*json)["currency"].is_string()) return usage_error(where + ": 'currency' is a text");
  table.currency_ = shown_line((*json)["currency"].get<std::string>(), kShownName);
  if (table.currency_.empty()) return usage_error(where + ": 'currency' is empty");
  const Json& per = (*json)["tokens"];
  if (!per.is_number() || per.get<double>() <= 0)
    return usage_error(where + ": 'tokens', for how many a price is, is a number above 0");
  if (!(*json)["models"].is_object()) return usage_error(where + ": 'models' is an object of prices by model");
  for (auto& [name, entry] : (*json)["models"].items()) {
    const std::string place = where + ": the model '" + shown_line(name, kShownName) + "'";
    if (!entry.is_object()) return usage_error(place + R"( needs {"input": ..., "output": ...})");
    ModelPrice price;
    KERNELIFT_ASSIGN(price.input, price_of(entry, "input", place));
    KERNELIFT_ASSIGN(price.output, price_of(entry, "output", place));
    price.input /= per.get<double>(), price.output /= per.get<double>();
    table.prices_[name] = price;
  }
  return table;
}

Result<ModelPrice> PriceTable::price(const ModelSpec& spec) const {
  if (auto found = prices_.find(spec.model); found != prices_.end()) return found->second;
  if (!spec.is_server()) return ModelPrice();
  std::string names;
  for (auto& [name, price] : prices_) names += (names.empty() ? "" : ", ") + name;
  return usage_error("the price table " + file_.string() + " has no model '" + spec.model +
                     (names.empty() ? "'; it has none" : "'; it has " + shown_line(names, kShownNames)));
}

}  // namespace kernelift::tuner
