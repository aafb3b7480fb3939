// Any text as a model's answer: a candidate that differs from its parent, or a complaint in words for the model.
#include "tuner/source/llm/answer_edits.h"

#include "tests/fuzz/fuzz.h"

using namespace kernelift;

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Candidate parent = [] {
    Candidate made;
    made.source =
        "#define BLOCK 128\n"
        "__global__ void scale(const float* x, float* y, int n) {\n"
        "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "  if (i < n) y[i] = 2.0f * x[i];\n"
        "}\n";
    made.launches = {CandidateLaunch::as_recorded("scale")};
    return made;
  }();
  static const Mep mep = [] {
    Mep made;
    made.kernel_name = "scale";
    return made;
  }();
  if (size == 0) return 0;
  const std::string answer(reinterpret_cast<const char*>(data + 1), size - 1);
  auto edits = tuner::apply_answer(mep, parent, answer, data[0] & 1);
  if (edits.candidate) fuzz::require(edits.candidate->key() != parent.key(), "an applied answer changes the candidate");
  else fuzz::require(!edits.complaint.empty(), "an answer that cannot be applied has a complaint");
  return 0;
}
