//! Tests of the campus world through its public interface.

mod oracle;
mod order;
mod records;
mod small;
