// See field_functions.h. Names are read as libdevice and NVVM build them: __nv_ or __nvvm_, fast_, the operation, how
// it is approximated and rounded, and its type.
#include "sandbox/device/cpu/lower/field/field_functions.h"

#include <map>
#include <set>

namespace kernelift::cpu {

using namespace llvm;

namespace {

using Kind = FieldMeaning::Kind;

bool consume_any_back(StringRef& name, ArrayRef<StringRef> endings) {
  return any_of(endings, [&](StringRef ending) { return name.consume_back(ending); });
}

bool touches_floats(const Function& function) {
  return function.getReturnType()->isFPOrFPVectorTy() ||
         any_of(function.args(), [](const Argument& argument) { return argument.getType()->isFPOrFPVectorTy(); });
}

/// "exp" of __nv_fast_expf, "div" of __nvvm_div_approx_f.
std::string operation(const Function& function) {
  StringRef name = function.getName();
  const bool nvvm = name.consume_front("__nvvm_");
  if (!nvvm) name.consume_front("__nv_");
  name.consume_front("fast_");
  if (nvvm) consume_any_back(name, {"_f32", "_f", "_d"});
  consume_any_back(name, {"_rn", "_rz", "_rm", "_rp", "_rd", "_ru"});
  consume_any_back(name, {"_approx", "_full"});
  auto is_single = [](const Argument& argument) { return argument.getType()->isFloatTy(); };
  if (!nvvm && (function.getReturnType()->isFloatTy() || any_of(function.args(), is_single))) name.consume_back("f");
  if (nvvm && name == "round") return "rint";
  if (name == "ex2") return "exp2";
  if (name == "lg2") return "log2";
  return name.str();
}

}  // namespace

FieldMeaning field_meaning(const Function& function) {
  if (!touches_floats(function) && !function.getReturnType()->isVoidTy()) return {};
  const std::string name = operation(function);
  static const std::map<std::string, Kind> kKinds = {
      {"fadd", Kind::Add},
      {"dadd", Kind::Add},
      {"add", Kind::Add},
      {"fsub", Kind::Subtract},
      {"dsub", Kind::Subtract},
      {"fmul", Kind::Multiply},
      {"dmul", Kind::Multiply},
      {"mul", Kind::Multiply},
      {"fdiv", Kind::Divide},
      {"ddiv", Kind::Divide},
      {"div", Kind::Divide},
      {"fdivide", Kind::Divide},
      {"frcp", Kind::Reciprocal},
      {"drcp", Kind::Reciprocal},
      {"rcp", Kind::Reciprocal},
      {"fma", Kind::Fma},
      {"fmaf", Kind::Fma},
      {"fmaf_ieee", Kind::Fma},
      {"frsqrt", Kind::ReciprocalRoot},
      {"rsqrt", Kind::ReciprocalRoot},
      {"double2float", Kind::Same},
      {"d2f", Kind::Same},
      {"sincos", Kind::SineAndCosine},
  };
  static const std::set<std::string> kBodies = {"fabs",
                                                "fmin",
                                                "fmax",
                                                "copysign",
                                                "saturate",
                                                "signbitd",
                                                "isfinited",
                                                "isinfd",
                                                "isnand",
                                                "signbit",
                                                "finite",
                                                "isinf",
                                                "isnan",
                                                "nan",
                                                "hiloint2double",
                                                "double2loint",
                                                "double2hiint",
                                                "int_as_float",
                                                "float_as_int",
                                                "uint_as_float",
                                                "float_as_uint",
                                                "longlong_as_double",
                                                "double_as_longlong",
                                                "float2half",
                                                "half2float",
                                                "d2i_hi",
                                                "d2i_lo",
                                                "lohi_i2d",
                                                "f2h"};
  static const std::set<std::string> kOpaque = {"remquo", "frexp", "modf", "norm", "rnorm", "sincospi", "rcp64h"};
  if (kBodies.contains(name)) return {};
  if (auto known = kKinds.find(name); known != kKinds.end()) return {known->second};
  if (kOpaque.contains(name)) return {Kind::Opaque};
  const StringRef words = name;
  const bool from_integer = function.arg_size() == 1 && function.getArg(0)->getType()->isIntegerTy();
  if (from_integer && function.getReturnType()->isFloatingPointTy() &&
      (words.contains("2float") || words.contains("2double") || words.ends_with("2f") || words.ends_with("2d")))
    return {Kind::OfInteger, !words.starts_with("u")};
  if (!function.getReturnType()->isFloatingPointTy()) return {Kind::ToInteger};
  const bool plain = all_of(function.args(), [](const Argument& argument) {
    return argument.getType()->isIntegerTy() || argument.getType()->isFloatTy() || argument.getType()->isDoubleTy();
  });
  if (!plain || function.arg_size() > 2) return {Kind::Opaque};
  FieldMeaning meaning{Kind::Unknown};
  meaning.function = name == "fsqrt" || name == "dsqrt" ? "sqrt" : name;
  return meaning;
}

bool is_field_function(const Function& function) {
  const StringRef name = function.getName();
  return (name.starts_with("__nv_") || name.starts_with("__nvvm_")) && field_meaning(function).kind != Kind::Body;
}

}  // namespace kernelift::cpu
