//! The campus world, from outside.

mod oracle;
mod order;
mod records;
mod small;
