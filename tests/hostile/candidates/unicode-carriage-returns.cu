// Lines that end in carriage returns hide a directive in what looks like a comment.
//! kind unicode
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@// harmless@CR@#define cudaGetLastError() 0@CR@