// A compiler option that writes a file.
//! kind recipes
//! kernel map
//! devices cpu
//! must refused compile_failed compile_crashed no-gain timed_out launch_failed
//! recipe {"options": ["-stats", "-info-output-file=@FILE@"]}
@KERNEL@