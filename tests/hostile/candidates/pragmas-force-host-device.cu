// Makes all functions behind it host and device functions.
//! kind pragmas
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@#pragma clang force_cuda_host_device begin
int hidden() { return __builtin_printf("hidden"); }
