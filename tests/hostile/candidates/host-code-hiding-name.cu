// A type that hides one of CUDA in the namespace of the application.
//! kind host-code
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@namespace application { struct dim3 { int z, y, x; }; }
