// Control characters of bidirectional text make code look like a comment.
//! kind unicode
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@/*‮ } ⁦if (false)⁩ ⁦ begin admins only */ int hidden();
