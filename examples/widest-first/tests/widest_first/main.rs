//! Tests of a program with one more policy.
//!
//! | module | behaviour |
//! |---|---|
//! | [`replay`] | the program replays and lists the policy |
//! | [`commands`] | `study` and `serve` take the policy as well |

mod commands;
mod replay;
