//! Tests of agents: of four over a simulated network, and of two over real connections.

mod connections;
mod simulation;
