// A friend function for the host that a class brings in.
//! kind host-code
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@struct Hidden { friend int cudaGetLastError(Hidden) { return 0; } };
