// See compile_message.h. Fields are written and read in the same order.
#include "sandbox/compile/compile_message.h"

#include "core/base/wire.h"

namespace kernelift::sandbox {

std::string CompileRequest::encode() const {
  return WireWriter()
      .text(source)
      .text(to_json(recipe).dump())
      .number(static_cast<uint64_t>(target))
      .text(bitcode)
      .number(static_cast<uint64_t>(fusing))
      .number(static_cast<uint64_t>(partial_sums))
      .number(blocks_reversed)
      .number(side_by_side)
      .number(checked)
      .number(field)
      .number(static_cast<uint64_t>(numbers))
      .number(random_sums)
      .text(kernel)
      .number(block.x)
      .number(block.y)
      .number(block.z)
      .number(admit)
      .texts(own)
      .take();
}

std::optional<CompileRequest> CompileRequest::decode(std::string_view bytes) {
  WireReader reader(bytes);
  CompileRequest request;
  request.source = reader.text();
  auto json = parse_json(reader.text(), "recipe");
  uint64_t target = reader.number();
  request.target =
      target <= static_cast<uint64_t>(CompileTarget::Model) ? static_cast<CompileTarget>(target) : CompileTarget::Cpu;
  request.bitcode = reader.text();
  uint64_t fusing = reader.number();
  request.fusing = fusing <= static_cast<uint64_t>(Fusing::Second) ? static_cast<Fusing>(fusing) : Fusing::AsCompiled;
  uint64_t partial_sums = reader.number();
  request.partial_sums = partial_sums == 1   ? PartialSums::Innermost
                         : partial_sums == 2 ? PartialSums::Outermost
                                             : PartialSums::None;
  request.blocks_reversed = reader.number();
  request.side_by_side = reader.number();
  request.checked = reader.number();
  request.field = reader.number();
  const uint64_t numbers = reader.number();
  request.numbers = numbers <= static_cast<uint64_t>(NumberKind::ErrorBounds) ? static_cast<NumberKind>(numbers)
                                                                              : NumberKind::Residues;
  request.random_sums = reader.number();
  request.kernel = reader.text();
  for (int axis = 0; axis < 3; ++axis) along(request.block, axis) = static_cast<uint32_t>(reader.number());
  request.admit = reader.number();
  request.own = reader.texts();
  if (!reader.ok() || !json.ok()) return std::nullopt;
  auto recipe = recipe_from_json(*json, "recipe");
  if (!recipe.ok()) return std::nullopt;
  request.recipe = std::move(*recipe);
  return request;
}

std::string encode(const CompileReply& reply) {
  WireWriter writer;
  writer.text(name(reply.outcome))
      .text(name(reply.stage))
      .text(reply.detail)
      .text(reply.image)
      .text(reply.bitcode)
      .texts(reply.findings)
      .texts(reply.files)
      .number(reply.kernels.size());
  for (auto& kernel : reply.kernels)
    writer.text(kernel.name)
        .text(kernel.mode)
        .text(kernel.mode_reason)
        .number(kernel.code_bytes)
        .number(kernel.registers)
        .number(kernel.spill_bytes)
        .number(kernel.stack_bytes)
        .number(kernel.shared_bytes);
  return writer.real(reply.frontend_seconds).real(reply.passes_seconds).real(reply.backend_seconds).take();
}

std::optional<CompileReply> decode_reply(std::string_view bytes) {
  WireReader reader(bytes);
  CompileReply reply;
  auto outcome = outcome_from_name(reader.text());
  auto stage = stage_from_name(reader.text());
  reply.detail = reader.text();
  reply.image = reader.text();
  reply.bitcode = reader.text();
  reply.findings = reader.texts();
  reply.files = reader.texts();
  uint64_t count = reader.number();
  for (uint64_t i = 0; i < count && !reader.failed(); ++i) {
    CompiledKernel kernel;
    kernel.name = reader.text(), kernel.mode = reader.text(), kernel.mode_reason = reader.text();
    kernel.code_bytes = reader.number();
    kernel.registers = static_cast<uint32_t>(reader.number()),
    kernel.spill_bytes = static_cast<uint32_t>(reader.number());
    kernel.stack_bytes = static_cast<uint32_t>(reader.number()),
    kernel.shared_bytes = static_cast<uint32_t>(reader.number());
    reply.kernels.push_back(std::move(kernel));
  }
  reply.frontend_seconds = reader.real(), reply.passes_seconds = reader.real(), reply.backend_seconds = reader.real();
  if (!reader.ok() || !outcome.ok() || !stage.ok()) return std::nullopt;
  reply.outcome = *outcome, reply.stage = *stage;
  return reply;
}

}  // namespace kernelift::sandbox
