// See field_equality.h.
#include "core/model/verdict/field_equality.h"

#include <algorithm>
#include <cmath>

#include "core/base/json.h"

namespace kernelift {
namespace {

using Found = FieldEquality::Found;

constexpr const char* kFoundNames[] = {"equal", "differs", "not known", "not run"};

}  // namespace

std::string FieldEquality::text() const {
  switch (found) {
    case Found::Equal: {
      std::string text = "the same formula as the original's";
      if (constants_rounded) text += ", but for the rounding of constants";
      if (!decided.empty()) text += ", wherever floats decide as the recorded ones do (" + decided + ")";
      if (!function.empty()) text += ", whatever function " + function + " is";
      const int power = static_cast<int>(std::floor(-std::log2(error_probability)));
      return text + "; probability of error at most 2^-" + std::to_string(power);
    }
    case Found::Differs: return "another formula than the original's: " + why;
    case Found::NotKnown: return "not known: " + why;
    default: return "not asked: " + why;
  }
}

Json to_json(const FieldEquality& field) {
  return {{"found", kFoundNames[static_cast<size_t>(field.found)]},
          {"why", field.why},
          {"decided", field.decided},
          {"function", field.function},
          {"constants_rounded", field.constants_rounded},
          {"samples", field.samples},
          {"error_probability", field.error_probability},
          {"instance", field.instance},
          {"seconds", field.seconds}};
}

FieldEquality field_equality_from_json(const Json& from) {
  FieldEquality field;
  const auto found = std::ranges::find(kFoundNames, from.at("found").get<std::string>());
  if (found == std::end(kFoundNames)) malformed("not what field runs may find");
  field.found = static_cast<Found>(found - std::begin(kFoundNames));
  field.why = from.at("why"), field.decided = from.at("decided"), field.function = from.at("function");
  field.constants_rounded = from.at("constants_rounded"), field.samples = from.at("samples");
  field.error_probability = from.at("error_probability");
  if (!(field.error_probability > 0 && field.error_probability <= 1)) malformed("no probability");
  field.instance = from.at("instance"), field.seconds = from.at("seconds");
  return field;
}

}  // namespace kernelift
