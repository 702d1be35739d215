//! SQL text as the catalog holds it: named blocks, `{{name}}` substitution, `:name` binds.
//!
//! Text is never split at `;`: a block is one statement (or one body), however many semicolons
//! stand in it.

mod binds;
mod blocks;
mod late;
mod scan;
mod template;

pub use binds::{Bound, bind, bind_names};
pub use blocks::{Block, BlockSet, parse_blocks, statement};
pub use late::{LATE, LATE_WITH_VECTORS, sends_vectors, with_vectors};
pub use template::{Values, bind_late, fill, placeholders, substitute};
