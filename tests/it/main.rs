//! The one integration binary.

mod architecture;
mod catalogue;
