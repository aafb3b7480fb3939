// A compiler option that prints a table at the end.
//! kind recipes
//! kernel map
//! devices cpu
//! must refused compile_failed compile_crashed no-gain timed_out launch_failed
//! recipe {"options": ["-time-passes"]}
@KERNEL@