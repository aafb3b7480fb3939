// Flags of the application's own compiler for the kernel's file (core/model/unit_flags.h), on the fastest texts: each
// alone, then those together that helped alone. `apply` writes them into the application's build as one line.
#pragma once
#include <deque>
#include <map>
#include <set>

#include "tuner/bound.h"
#include "tuner/proposer.h"

namespace kernelift::tuner {

class UnitFlagProposer : public Proposer {
 public:
  struct Options {
    Bound bound = Bound::Unknown;  ///< Flags that suit it come first.
    bool on_cpu = false;           ///< Registers and caches of a GPU mean nothing there.
    bool keep_precision = false;   ///< None that lowers the precision of results.
  };
  explicit UnitFlagProposer(Options options) : options_(options) {}
  std::string name() const override { return "unit flags"; }
  std::string tier() const override { return "compiler"; }
  std::vector<Proposal> propose(const History& history, size_t count) override;
  void learn(const RunTrial& trial) override;

  /// The flags that are tried alone, those that suit the bound first.
  static std::vector<UnitFlags> single(const Options& options);

 private:
  /// One text, with the flags that are still to be tried on it.
  struct Base {
    std::deque<UnitFlags> waiting;
    std::map<Hash, UnitFlags> asked;
    std::vector<UnitFlags> helped;  ///< That were right and faster than the text without them.
    double speedup = 1;             ///< Of the text without flags.
  };
  void together(Base& base, const UnitFlags& found);

  Options options_;
  std::map<int64_t, Base> bases_;
};

}  // namespace kernelift::tuner
