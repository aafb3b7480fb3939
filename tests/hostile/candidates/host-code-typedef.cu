// An alias at file scope under a name of the library.
//! kind host-code
//! kernel map
//! devices both
//! must refused compile_failed no-gain
@KERNEL@using size_type = float;
typedef int cudaStream_t_;
