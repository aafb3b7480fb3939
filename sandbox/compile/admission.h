// Admission of candidates: a candidate's source may contain device code, and other code only if the kernel's own slice
// contains the same. The text is judged first, as tokens, before anything of it is preprocessed or compiled
// (core/compiler/written/written_text.h: directives, macros, pragmas, attributes, odd spellings). Then an observer of
// the front end's parse records a finding, with the name of its rule and its text, for each declaration that would run
// on the host, change what host code means, or affect the compiler. A candidate is admitted if each of its findings
// equals one of the slice's, letter by letter, so that a slice with a host helper function can still be tuned, or
// declares a name that the slice does not (seen_declarations.h).
//
// The application is built by other compilers than the one that parses here. So a declaration counts as harmless for
// the host only where every compiler must either agree or fail: a function for the device alone, a constant expression.
//
// Rules of the parse: host-function host-variable host-initialiser host-call (a function of the host is named, in
//        whatever branch) using namespace specialization hidden-name macro attribute asm-label inline-asm
//        file-scope-asm launch pragma promise (what the compiler is told to take for granted) value (a macro of a
//        header or compiler) declaration (one of the slice's is another) variable-type reserved (a reserved name that
//        no header declares for the device) absent-name and detection (what asks whether the application has a
//        function) inactive-code (skipped by the device pass, but perhaps not by another compiler)
#pragma once
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace clang {
class ASTConsumer;
class CompilerInstance;
}  // namespace clang

namespace kernelift::sandbox {

struct AdmissionFinding {
  std::string rule;
  std::string text;      ///< The construct as written; with the rule it is the finding's identity.
  std::string place;     ///< "kernel.cu:12", for messages.
  std::string why = {};  ///< Why it may not be added, where that is more than that it is not device code.

  std::string identity() const { return rule + "\n" + text; }
};

/// The observer, which runs beside code generation and appends to `findings`, which must outlive the parse.
std::unique_ptr<clang::ASTConsumer> watch_admission(clang::CompilerInstance& compiler,
                                                    std::vector<AdmissionFinding>& findings);

/// The first finding that is not one of the slice's own, as "host-function: … (kernel.cu:12)"; empty if the candidate
/// is admitted.
std::string first_refusal(const std::vector<AdmissionFinding>& findings, const std::set<std::string>& own);

}  // namespace kernelift::sandbox
