// What a candidate may hold: device code, and of everything else only what the kernel's own slice holds
// already. The front end's parse is watched: whatever would run on the host, read a file, or reach past the compiler
// becomes a finding with the name of its rule and its text. A candidate is admitted when each of its findings is one of
// the slice's own, letter by letter, so that a slice with a host helper in it can still be tuned.
//
// Rules: host-function host-variable host-initialiser attribute asm-label inline-asm file-scope-asm launch include
// embed
//        probe (of files, by __has_include) pragma inactive-code (what the device pass skips, another compiler may not)
#pragma once
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace clang {
class ASTConsumer;
class CompilerInstance;
}  // namespace clang

namespace kernelift {

struct AdmissionFinding {
  std::string rule;
  std::string text;   ///< The construct as written; with the rule, its identity.
  std::string place;  ///< "kernel.cu:12", for people.

  std::string identity() const { return rule + "\n" + text; }
};

/// To be run beside code generation; appends to `findings`, which must outlive the parse.
std::unique_ptr<clang::ASTConsumer> watch_admission(clang::CompilerInstance& compiler,
                                                    std::vector<AdmissionFinding>& findings);

/// The first finding that is not among the slice's own, as "host-function: … (kernel.cu:12)"; empty when admitted.
std::string first_refusal(const std::vector<AdmissionFinding>& findings, const std::set<std::string>& own);

}  // namespace kernelift
