// See pass_pipeline.h.
#include "tuner/compiler/pass_pipeline.h"

#include <algorithm>

namespace kernelift::tuner {
namespace {

/// Without the option the pass aborts the compiler if it does not reach a fixpoint, as after an unrolled loop; clang's
/// own pipelines disable that check, too.
constexpr const char* kInstCombine = "instcombine<no-verify-fixpoint>";
constexpr size_t kLongest = 60;  ///< Passes; longer pipelines only cost compile time.

const char* adaptor(PassLevel level) {
  switch (level) {
    case PassLevel::Module: return "";
    case PassLevel::Cgscc: return "cgscc";
    case PassLevel::Function: return "function";
    case PassLevel::Loop: return "loop";
    case PassLevel::LoopMemory: return "loop-mssa";
  }
  return "";
}

PassPipeline functions(std::initializer_list<const char*> names) {
  PassPipeline passes;
  for (auto* name : names) passes.push_back({name, PassLevel::Function});
  return passes;
}

}  // namespace

const std::vector<Pass>& curated_passes() {
  static const std::vector<Pass> all = [] {
    std::vector<Pass> passes;
    auto add = [&](PassLevel level, std::initializer_list<const char*> names) {
      for (auto* name : names) passes.push_back({name, level});
    };
    add(PassLevel::Module, {"globalopt", "globaldce", "ipsccp", "deadargelim", "called-value-propagation",
                            "always-inline", "constmerge", "inferattrs"});
    add(PassLevel::Cgscc, {"inline", "function-attrs", "argpromotion"});
    add(PassLevel::Function, {"sroa",
                              "mem2reg",
                              "early-cse<memssa>",
                              kInstCombine,
                              "simplifycfg",
                              "reassociate",
                              "nary-reassociate",
                              "gvn",
                              "newgvn",
                              "dse",
                              "adce",
                              "bdce",
                              "sccp",
                              "jump-threading",
                              "correlated-propagation",
                              "tailcallelim",
                              "aggressive-instcombine",
                              "separate-const-offset-from-gep",
                              "slsr",
                              "speculative-execution",
                              "sink",
                              "load-store-vectorizer",
                              "slp-vectorizer",
                              "loop-vectorize",
                              "vector-combine",
                              "loop-distribute",
                              "loop-load-elim",
                              "loop-unroll<O2>",
                              "loop-unroll<O3>",
                              "gvn-hoist",
                              "mldst-motion",
                              "float2int",
                              "div-rem-pairs",
                              "infer-alignment",
                              "constraint-elimination",
                              "flatten-cfg",
                              "loop-simplify",
                              "lcssa",
                              "mergeicmps",
                              "infer-address-spaces",
                              "memcpyopt",
                              "instsimplify"});
    add(PassLevel::Loop, {"loop-rotate", "indvars", "loop-idiom", "loop-deletion", "loop-unroll-full", "loop-reduce",
                          "loop-instsimplify", "loop-simplifycfg", "loop-flatten", "loop-interchange"});
    add(PassLevel::LoopMemory, {"licm", "simple-loop-unswitch<nontrivial>", "loop-rotate"});
    return passes;
  }();
  return all;
}

std::vector<PassPipeline> seed_pipelines() {
  std::vector<PassPipeline> seeds;
  for (auto* level : {"default<O3>", "default<O2>", "default<O1>", "default<Os>"})
    seeds.push_back({{level, PassLevel::Module}});
  // What NVPTX's own code generator runs late, offered to the scalar optimiser once more.
  PassPipeline addresses = seeds[0];
  for (auto& pass : functions({"separate-const-offset-from-gep", "slsr", "early-cse<memssa>", "nary-reassociate", "gvn",
                               "load-store-vectorizer", kInstCombine}))
    addresses.push_back(pass);
  seeds.push_back(addresses);
  PassPipeline lean = functions({"sroa", "early-cse<memssa>", kInstCombine, "simplifycfg"});
  lean.insert(lean.begin(), {"inline", PassLevel::Cgscc});
  for (auto& pass : std::vector<Pass>{{"loop-rotate", PassLevel::LoopMemory},
                                      {"licm", PassLevel::LoopMemory},
                                      {"indvars", PassLevel::Loop},
                                      {"loop-unroll-full", PassLevel::Loop},
                                      {"gvn", PassLevel::Function},
                                      {"loop-unroll<O3>", PassLevel::Function},
                                      {kInstCombine, PassLevel::Function},
                                      {"simplifycfg", PassLevel::Function},
                                      {"dse", PassLevel::Function},
                                      {"adce", PassLevel::Function}})
    lean.push_back(pass);
  seeds.push_back(lean);
  return seeds;
}

std::string text(const PassPipeline& pipeline) {
  std::string line;
  for (size_t at = 0; at < pipeline.size();) {
    PassLevel level = pipeline[at].level;
    std::string inner;
    size_t end = at;
    for (; end < pipeline.size() && pipeline[end].level == level; ++end)
      inner += (inner.empty() ? "" : ",") + pipeline[end].name;
    std::string wrapped = level == PassLevel::Module ? inner : std::string(adaptor(level)) + "(" + inner + ")";
    if (level == PassLevel::Loop || level == PassLevel::LoopMemory) wrapped = "function(" + wrapped + ")";
    line += (line.empty() ? "" : ",") + wrapped;
    at = end;
  }
  return line;
}

PassPipeline mutate(PassPipeline pipeline, Random& random) {
  auto& passes = curated_passes();
  auto any = [&] { return passes[random() % passes.size()]; };
  size_t edits = 1 + random() % 3;
  for (size_t edit = 0; edit < edits; ++edit) {
    size_t at = pipeline.empty() ? 0 : random() % pipeline.size();
    switch (random() % 5) {
      case 0:
      case 1:
        if (pipeline.size() < kLongest)
          pipeline.insert(pipeline.begin() + static_cast<long>(random() % (pipeline.size() + 1)), any());
        break;
      case 2:
        if (pipeline.size() > 1) pipeline.erase(pipeline.begin() + static_cast<long>(at));
        break;
      case 3:
        if (!pipeline.empty()) pipeline[at] = any();
        break;
      case 4:
        if (pipeline.size() > 1) std::swap(pipeline[at], pipeline[random() % pipeline.size()]);
        break;
    }
  }
  return pipeline;
}

PassPipeline cross(const PassPipeline& head, const PassPipeline& tail, Random& random) {
  PassPipeline child(head.begin(), head.begin() + static_cast<long>(random() % (head.size() + 1)));
  child.insert(child.end(), tail.begin() + static_cast<long>(random() % (tail.size() + 1)), tail.end());
  if (child.size() > kLongest) child.resize(kLongest);
  return child.empty() ? head : child;
}

}  // namespace kernelift::tuner
