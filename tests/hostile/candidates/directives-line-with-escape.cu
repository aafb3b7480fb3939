// A line directive with a control sequence and Markdown in the file's name.
//! kind directives
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@#line 1 "@ESC@[31m@MARK@ | <script> `x`"
#error "@MARK@"
