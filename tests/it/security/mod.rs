//! Attacks of the threat model (`docs/security.md`), carried out: each succeeds on a dbdyno without
//! the defence that it names.

mod search_path;
