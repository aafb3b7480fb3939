// Device and constant variables, named by the address of their host shadow.
#include <cstring>

#include "sandbox/device/cpu/runtime/api/alias.h"
#include "sandbox/device/cpu/runtime/errors.h"
#include "sandbox/device/cpu/runtime/memory/ranges.h"
#include "sandbox/device/cpu/runtime/order/stream.h"
#include "sandbox/device/cpu/runtime/state.h"

using namespace kernelift::cudart;

namespace {

cudaError_t find_symbol(const void* symbol, void** address, size_t* size) {
  StateLock lock;
  Variable* variable = state().registry.variable(symbol);
  if (!variable) return cudaErrorInvalidSymbol;
  if (address) *address = variable->address;
  if (size) *size = variable->size;
  return cudaSuccess;
}

/// The bytes of a symbol that a copy means.
cudaError_t slice(const void* symbol, size_t count, size_t offset, char** begin) {
  void* address = nullptr;
  size_t size = 0;
  if (cudaError_t error = find_symbol(symbol, &address, &size)) return error;
  if (offset > size || count > size - offset) return cudaErrorInvalidValue;
  *begin = static_cast<char*>(address) + offset;
  return cudaSuccess;
}

cudaError_t run_copy(void* to, const void* from, size_t count, cudaMemcpyKind kind, cudaStream_t stream) {
  if (cudaError_t error = check_copy(to, count, from, count, kind)) return error;
  return in_stream(stream, NodeType::Memcpy, [=] {
    if (count > 0) std::memmove(to, from, count);
    return cudaSuccess;
  });
}

}  // namespace

KL_API cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* from, size_t count, size_t offset,
                                           cudaMemcpyKind kind, cudaStream_t stream) {
  KL_ENTER();
  char* to = nullptr;
  if (kind != cudaMemcpyHostToDevice && kind != cudaMemcpyDeviceToDevice && kind != cudaMemcpyDefault)
    return leave(cudaErrorInvalidMemcpyDirection);
  if (cudaError_t error = slice(symbol, count, offset, &to)) return leave(error);
  return leave(run_copy(to, from, count, kind, stream));
}
KL_PTSZ(cudaMemcpyToSymbolAsync);
KL_API cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* from, size_t count, size_t offset,
                                      cudaMemcpyKind kind) {
  return cudaMemcpyToSymbolAsync(symbol, from, count, offset, kind, kLegacyStream);
}
KL_PTDS(cudaMemcpyToSymbol);

KL_API cudaError_t cudaMemcpyFromSymbolAsync(void* to, const void* symbol, size_t count, size_t offset,
                                             cudaMemcpyKind kind, cudaStream_t stream) {
  KL_ENTER();
  char* from = nullptr;
  if (kind != cudaMemcpyDeviceToHost && kind != cudaMemcpyDeviceToDevice && kind != cudaMemcpyDefault)
    return leave(cudaErrorInvalidMemcpyDirection);
  if (cudaError_t error = slice(symbol, count, offset, &from)) return leave(error);
  return leave(run_copy(to, from, count, kind, stream));
}
KL_PTSZ(cudaMemcpyFromSymbolAsync);
KL_API cudaError_t cudaMemcpyFromSymbol(void* to, const void* symbol, size_t count, size_t offset,
                                        cudaMemcpyKind kind) {
  return cudaMemcpyFromSymbolAsync(to, symbol, count, offset, kind, kLegacyStream);
}
KL_PTDS(cudaMemcpyFromSymbol);

KL_API cudaError_t cudaGetSymbolAddress(void** address, const void* symbol) {
  KL_ENTER();
  return leave(address ? find_symbol(symbol, address, nullptr) : cudaErrorInvalidValue);
}
KL_API cudaError_t cudaGetSymbolSize(size_t* size, const void* symbol) {
  KL_ENTER();
  return leave(size ? find_symbol(symbol, nullptr, size) : cudaErrorInvalidValue);
}
