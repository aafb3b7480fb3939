// A compiler option that writes remarks to a file.
//! kind recipes
//! kernel map
//! devices cpu
//! must refused compile_failed compile_crashed no-gain timed_out launch_failed
//! recipe {"options": ["-pass-remarks-output=@FILE@", "-pass-remarks=.*"]}
@KERNEL@