//! (being written)
pub struct Null;
