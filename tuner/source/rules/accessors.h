// Methods that only say where an element is, as `m[i][j]` of a tensor's accessor: many are not declared const, and
// leave their object as it is all the same.
#pragma once

namespace clang {
class CXXMethodDecl;
}

namespace kernelift::tuner {

/// True if the method is const, or its body is seen and does nothing with its object but to read members of it. What a
/// member points at may be written through what it returns.
bool leaves_object(const clang::CXXMethodDecl* method);

}  // namespace kernelift::tuner
