// What the device library's functions mean for field runs. Those that are not plain arithmetic stay calls of declared
// functions until field code has been inserted.
#pragma once
#include <string>

#include "cmake/headers/llvm.h"

namespace kernelift::cpu {

struct FieldMeaning {
  enum class Kind {
    Body,  ///< What it computes is read from its body.
    Add,   ///< With any rounding, as the next ones.
    Subtract,
    Multiply,
    Divide,
    Reciprocal,
    Fma,
    ReciprocalRoot,  ///< 1 / sqrt.
    Same,            ///< A conversion between float and double.
    OfInteger,
    ToInteger,
    SineAndCosine,  ///< To where its second and third argument point.
    Unknown,        ///< A function of its arguments of which nothing is known.
    Opaque,         ///< What it answers or writes is taken from what it computes.
  };
  Kind kind = Kind::Body;
  bool is_signed = false;     ///< OfInteger.
  std::string function = {};  ///< Unknown: "exp" of every kind of exp, to be told from others.
};

/// Of a function that the device library has.
FieldMeaning field_meaning(const llvm::Function& function);
/// Whether its calls stay calls until field code has been inserted.
bool is_field_function(const llvm::Function& function);

}  // namespace kernelift::cpu
