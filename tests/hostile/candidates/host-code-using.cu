// A using-directive at file scope that changes what the host's names mean.
//! kind host-code
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@namespace evil { struct dim3 {}; }
using namespace evil;
