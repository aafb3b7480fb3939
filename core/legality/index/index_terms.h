// Indices that are divided by parameters (i / C % T of a linear index i) are not affine. Each becomes a term of the
// model, known by its form and its arguments: two such indices are equal where these are. So a candidate is compared by
// the arguments that the form is given, which are affine, and what two threads of the original write by one form at
// different arguments is no conflict of the candidate that the original does not have.
#pragma once
#include <optional>

#include "core/legality/legality.h"

namespace kernelift::legality {

/// The model with such indices, and such arguments of its terms, as terms; nullopt: it has none that can be one.
std::optional<KernelModel> with_index_terms(const KernelModel& model);

}  // namespace kernelift::legality
