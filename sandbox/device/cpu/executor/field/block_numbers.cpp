// See block_numbers.h. A float is a number if it was written as one, or never; bits that were written as an integer are
// read as what they say. Whatever else is read as a float that it was not written as, or as an integer though it is a
// float, has been decided by recorded values.
#include "sandbox/device/cpu/executor/field/block_numbers.h"

#include <algorithm>
#include <cstring>

namespace kernelift::cpu {

namespace {

using Kind = FieldState::Kind;

constexpr uint64_t kWord = FieldObject::kWord;

template <class T>
T read(uint64_t address) {
  T value;
  std::memcpy(&value, reinterpret_cast<const void*>(address), sizeof value);
  return value;
}

uint64_t address_of(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

}  // namespace

BlockNumbers::BlockNumbers(FieldMemory& memory, const LaunchState& launch)
    : memory_(memory),
      shared_bytes_((launch.kernel.static_shared_bytes + KL_SHARED_ALIGN - 1) / KL_SHARED_ALIGN * KL_SHARED_ALIGN +
                    launch.launch.dynamic_shared_bytes),
      shared_(shared_bytes_ / kWord + 2) {}

void BlockNumbers::begin(const kl_block& block) {
  shared_begin_ = address_of(block.shared);
  std::ranges::fill(shared_, 0);
}

uint64_t BlockNumbers::by_bits(uint64_t address, uint32_t bytes) const {
  return memory_.number_of(bytes == kWord ? read<float>(address) : read<double>(address));
}

uint64_t BlockNumbers::load(const void* pointer, uint32_t bytes, kl_field_site& site) {
  memory_.note_float();
  const uint64_t address = address_of(pointer);
  if (address % kWord != 0) return memory_.decide(site), by_bits(address, bytes);
  const FieldWord first = word(address, site);
  const FieldState state = FieldState::from(first.state);
  const Kind as_number = bytes == kWord ? Kind::Float : Kind::Double;
  if (bytes == kWord && state.kind() == Kind::Float) return state.number();  // Most are that.
  const bool wide = bytes > kWord;
  const FieldWord second = wide ? word(address + kWord, site) : first;
  const FieldState half = FieldState::from(second.state);
  auto is_bits = [](const FieldWord& word) {
    const Kind kind = FieldState::from(word.state).kind();
    return kind == Kind::Bits || (kind == Kind::Untouched && (word.integers || word.key == 0));
  };
  switch (state.kind()) {
    case Kind::Float:
    case Kind::Double:
      if (state.kind() == as_number && (!wide || half.kind() == Kind::End)) return state.number();
      break;
    case Kind::Either:
      if (!wide || half.kind() == Kind::Either) return state.number();
      break;
    case Kind::Untouched:
      if (is_bits(first) || (wide && half.kind() != Kind::Untouched)) break;
      // From now on as if that number had been written.
      first.state.set(FieldState(as_number, memory_.drawn(first)).word());
      if (wide) second.state.set(FieldState(Kind::End, 0).word());
      return FieldState::from(first.state).number();
    default: break;
  }
  if (!is_bits(first) || !is_bits(second)) memory_.decide(site);
  return by_bits(address, bytes);
}

void BlockNumbers::store(const void* pointer, uint32_t bytes, uint64_t number, kl_field_site& site) {
  memory_.note_float();
  const uint64_t address = address_of(pointer);
  if (address % kWord != 0) return touch(pointer, bytes, true, site), memory_.decide(site);
  word(address, site).state.set(FieldState(bytes == kWord ? Kind::Float : Kind::Double, number).word());
  if (bytes > kWord) word(address + kWord, site).state.set(FieldState(Kind::End, 0).word());
}

uint64_t BlockNumbers::load_word(const void* pointer, kl_field_site& site) {
  const uint64_t address = address_of(pointer);
  if (address % kWord != 0) return memory_.decide(site), FieldState(Kind::Bits, read<uint32_t>(address)).word();
  const FieldWord from = word(address, site);
  const FieldState state = FieldState::from(from.state);
  switch (state.kind()) {
    case Kind::Untouched:
      if (from.integers || from.key == 0) return FieldState(Kind::Bits, read<uint32_t>(address)).word();
      return FieldState(Kind::Either, memory_.drawn(from)).word();
    case Kind::ReadAsBits: return FieldState(Kind::Bits, read<uint32_t>(address)).word();
    default: return state.word();
  }
}

void BlockNumbers::store_word(const void* pointer, uint64_t state, kl_field_site& site) {
  const uint64_t address = address_of(pointer);
  if (address % kWord != 0) return touch(pointer, kWord, true, site), memory_.decide(site);
  const Kind kind = FieldState::from(state).kind();
  if (kind == Kind::Float || kind == Kind::Double) memory_.note_float();
  word(address, site).state.set(state);
}

void BlockNumbers::touch(const void* pointer, uint64_t bytes, bool wrote, kl_field_site& site) {
  if (bytes == 0) return;
  const uint64_t begin = address_of(pointer), end = begin + bytes;
  for (uint64_t at = begin / kWord * kWord; at < end; at += kWord) {
    const FieldWord touched = word(at, site);
    const Kind kind = FieldState::from(touched.state).kind();
    const bool whole = at >= begin && at + kWord <= end;
    const bool is_float = kind != Kind::Untouched && kind != Kind::Bits && kind != Kind::ReadAsBits;
    if (is_float && !(wrote && whole)) memory_.decide(site);
    if (wrote) touched.state.set(FieldState(Kind::Bits, read<uint32_t>(at)).word());
    else if (kind == Kind::Untouched && !touched.integers && touched.key != 0)
      touched.state.set(FieldState(Kind::ReadAsBits, 0).word());
  }
}

void BlockNumbers::copy(const void* to, const void* from, uint64_t bytes, kl_field_site& site) {
  const auto *source = static_cast<const char*>(from), *target = static_cast<const char*>(to);
  const uint64_t words = bytes / kWord;
  const bool backwards = target > source;
  for (uint64_t i = 0; i < words; ++i) {
    const uint64_t at = (backwards ? words - 1 - i : i) * kWord;
    store_word(target + at, load_word(source + at, site), site);
  }
}

}  // namespace kernelift::cpu
