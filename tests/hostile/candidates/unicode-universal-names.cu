// A directive and a name spelled by universal character names.
//! kind unicode
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@#d\u0065fine cudaGetLastError() 0
int \u0068idden() { return 0; }
