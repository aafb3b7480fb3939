// A macro named main.
//! kind macros
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@#define main theirs(); int main() { __builtin_system("id"); return theirs(); } int theirs
