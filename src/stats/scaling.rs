//! The Universal Scalability Law (being written).
