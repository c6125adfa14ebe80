//! Tests of both forms of the protocol in a simulated network.

mod durable;
mod network;
mod paper;
