// The certificate that `apply` leaves beside a patch: what was judged, on what, by what, and what each judge said, so
// that it can be judged again on another machine that has the MEP (`kernelift evaluate MEP --certificate FILE`). It is
// no signature: it says what to check, and is believed only as far as the check agrees.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "core/base/hash.h"
#include "core/model/candidate/candidate.h"
#include "core/model/mep.h"
#include "core/model/verdict/verdict.h"

namespace kernelift {

inline constexpr const char* kCertificateFormat = "kernelift-certificate";
inline constexpr int kCertificateVersion = 1;

struct Certificate {
  std::string kernel;    ///< Canonical key.
  Hash original;         ///< Of the text of the MEP's kernel file.
  Hash inputs;           ///< inputs_hash().
  Candidate candidate;   ///< All of it: text, launches, values, recipe, and the steps with their premises.
  std::string compiler;  ///< That built what was judged: "clang", or the application's own command line.
  Verdict verdict;       ///< Device and driver, image, samples, sizes, and what the judges said.
  std::string patch;     ///< Hash of the diff, in hex; empty: none was made.
  std::string at;        ///< UTC, when it was made; empty: not known.

  static Certificate of(const Mep& mep, const std::string& original, const Candidate& candidate,
                        const Verdict& verdict);
  static Result<Certificate> read(const std::filesystem::path& file);
  Status write(const std::filesystem::path& file) const;
};

/// Of all recorded launches: geometry, arguments and memory, before and after.
Hash inputs_hash(const Mep& mep);

/// A statement of a certificate beside what is found here.
struct CertifiedItem {
  enum class Kind {
    Agrees,
    Differs,
    Elsewhere,  ///< It differs, as it may on another machine, and says nothing against the candidate.
  };
  Kind kind = Kind::Agrees;
  std::string what, certified, here;  ///< "sizes run", and both texts.
  std::string text() const;           ///< "agrees: …", "differs: …"
};

/// Each statement of `certified` that a check can confirm, beside `here`, which was made now.
std::vector<CertifiedItem> compare(const Certificate& certified, const Certificate& here);

}  // namespace kernelift
