// A compiler option that prints the whole program after every pass.
//! kind recipes
//! kernel map
//! devices cpu
//! must refused compile_failed compile_crashed no-gain timed_out launch_failed
//! recipe {"options": ["-print-after-all", "-print-module-scope"]}
@KERNEL@